-- Run once by an administrator of the server, with psql: the passwords come from the environment.
\set ON_ERROR_STOP on
\getenv owner_password OWNER_PASSWORD
\getenv server_password SERVER_PASSWORD

-- What a server may do. This role owns nothing, and row-level security shows it one tenant at a time.
create role memolith_run nologin;
-- Owns the tables. Used by `memolith migrate` and `memolith worker`.
create role memolith_owner login password :'owner_password';
-- Used by `memolith serve`.
create role memolith_server login password :'server_password';
grant memolith_run to memolith_owner, memolith_server;

create database memolith owner memolith_owner;
revoke connect on database memolith from public;
grant connect on database memolith to memolith_run;
\connect memolith
create extension vector;
