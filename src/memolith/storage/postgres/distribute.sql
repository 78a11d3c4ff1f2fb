-- Distributes the tables of tenants over the servers of a Citus cluster, by tenant. `memolith database distribute` runs
-- this file as it stands, as a superuser, in one transaction. What is distributed already stays as it is,
-- so it can be run again: after a migration that adds tables, and after a server was added.

do $$
declare
    name text;
    owner text;
begin
    if not exists (select 1 from pg_dist_node where noderole = 'primary' and shouldhaveshards) then
        raise exception 'Citus knows no server that may hold tables; add one with citus_add_node.'
            using errcode = 'object_not_in_prerequisite_state';
    end if;
    perform set_config('citus.multi_shard_modify_mode', 'sequential', true);

    -- The other servers are reached as the role of the transaction, so this role must be allowed to log in there. It
    -- has no password; pg_hba.conf says who may.
    if exists (select 1 from pg_roles where rolname = 'memolith_run' and not rolcanlogin) then
        alter role memolith_run login;
    end if;

    -- Citus distributes no table that is partitioned by hash, and divides this one itself.
    if exists (select 1 from pg_class where oid = 'embedding'::regclass and relkind = 'p') then
        create table embedding_whole (like embedding including all);
        alter table embedding_whole alter column v set storage plain;
        insert into embedding_whole select * from embedding;
        select pg_get_userbyid(relowner) into owner from pg_class where oid = 'embedding'::regclass;
        drop table embedding;
        alter table embedding_whole rename to embedding;
        alter index embedding_whole_pkey rename to embedding_pkey;
        alter index embedding_whole_tenant_digest_idx rename to embedding_digest;
        grant select, insert, update, delete on embedding to memolith_run;
        alter table embedding enable row level security;
        create policy fence on embedding using (false);
        execute format('alter table embedding owner to %I', owner);
    end if;

    -- It would read a table from within a statement, which Citus refuses. Without it, memolith knows that the tables
    -- are distributed, and searches in another way.
    drop function if exists matching(tsquery, text[]);

    foreach name in array array[
        'head', 'event', 'item', 'tag', 'passage', 'posting', 'term', 'sketch', 'link', 'embedding', 'outbox',
        'outbox_done', 'access', 'setting', 'answer', 'superseded', 'item_read', 'client_call', 'duplicate'
    ] loop
        continue when exists (select 1 from pg_dist_partition where logicalrelid = name::regclass);
        -- Citus takes no policy with a subquery.
        execute format(
            $policy$alter policy fence on %I using (
                tenant = current_setting('memolith.tenant', true)
                or current_setting('memolith.all', true) = 'on'
            )$policy$,
            name
        );
        if name = 'head' then
            perform create_distributed_table('head', 'tenant', colocate_with => 'none');
        else
            perform create_distributed_table(name::regclass, 'tenant', colocate_with => 'head');
        end if;
        -- The rows were copied; these are what is left of them here.
        perform truncate_local_data_after_distributing_table(name::regclass);
    end loop;
end $$;

-- The settings of a transaction were set by `set_config`, which Citus keeps to this server. The other servers get what
-- is set here with `set local`, at the beginning of their part of the transaction.
create or replace function share_settings() returns void
language plpgsql as $$
declare
    name text;
begin
    set local citus.propagate_set_commands = 'local';
    foreach name in array array[
        'statement_timeout', 'lock_timeout', 'synchronous_commit', 'hnsw.iterative_scan', 'hnsw.ef_search', 'work_mem'
    ] loop
        execute format('set local %s = %L', name, current_setting(name));
    end loop;
    execute format('set local memolith."all" = %L', current_setting('memolith.all'));
    execute format('set local memolith.tenant = %L', current_setting('memolith.tenant'));
end $$;
