-- oldest: 1
-- The tables that are the same in every database; the file of this name in its folder has the others.
-- The log: the truth. Items, passages, tags, sketches and links are a fold of it. The tenant comes first in every key.
create table event (tenant text collate "C", seq bigint, stream text collate "C" not null, version integer not null,
    type text not null, data text not null, actor text not null, at text collate "C" not null, key text,
    primary key (tenant, seq)) without rowid;
create unique index event_stream on event (tenant, stream, version);
create unique index event_key on event (tenant, actor, key) where key is not null;
create index event_source on event (tenant, (data::jsonb ->> 'source')) where type = 'linked';
create index event_target on event (tenant, (data::jsonb ->> 'target')) where type = 'linked';

-- A `bigint primary key` is one in SQLite alone. One row per tenant: the last sequence number, the sums that ranking
-- needs, and whether writes are refused because the tenant moves to another database.
create table head (number bigint primary key, tenant text collate "C", seq bigint not null,
    passages bigint not null default 0, terms bigint not null default 0, at text collate "C" not null default '',
    frozen boolean not null default false);

create table item (row bigint primary key, tenant text collate "C" not null, id text collate "C" not null,
    kind text not null, title text not null, status text not null, owner text not null, audience text not null,
    project text, namespace text, tags text not null, attributes text not null, version integer not null,
    seq bigint not null, created_at text collate "C" not null, updated_at text collate "C" not null,
    blocks integer not null, passages integer not null, forgotten smallint not null, reads bigint not null default 0,
    last_read text collate "C" not null default '');
create index item_owner on item (tenant, owner);
create index item_project on item (tenant, project) where project is not null;
create index item_topic on item (tenant, kind, (attributes::jsonb ->> 'topic_id'), seq)
    where attributes::jsonb ->> 'topic_id' is not null;
create index item_expiring on item (tenant) where attributes::jsonb ->> 'expires_at' is not null;
create index item_cut on item (tenant) where passages <> blocks;
create index item_name on item (tenant, kind, title) where title <> '';

-- The id is the item's row times 2^20 plus the ordinal, so a hit tells its item and its neighbours without a look-up.
create table passage (id bigint primary key, tenant text collate "C" not null, item bigint not null,
    ordinal integer not null, block integer not null, text text not null, at text collate "C" not null,
    speaker text collate "C", locator text, attributes text);
create index passage_speaker on passage (tenant, speaker) where speaker is not null;

create table tag (tenant text collate "C", tag text collate "C", item bigint,
    primary key (tenant, tag, item)) without rowid;
-- Marks of the first passage of each item: the same text has the same first one, near-identical ones share another.
create table sketch (tenant text collate "C", mark bigint, item bigint, primary key (tenant, mark, item)) without rowid;

create table link (tenant text collate "C", id text collate "C", source text collate "C" not null,
    target text collate "C" not null, type text collate "C" not null, strength double precision not null,
    attributes text not null, version integer not null, seq bigint not null, created_at text collate "C" not null,
    updated_at text collate "C" not null, primary key (tenant, id)) without rowid;
create unique index link_source on link (tenant, source, type, target);
create index link_target on link (tenant, target, type, source);

create table outbox (tenant text collate "C", seq bigint, consumer text collate "C", stream text collate "C" not null,
    status text not null, attempts integer not null default 0, due text collate "C" not null, error text,
    primary key (tenant, consumer, seq)) without rowid;
create table outbox_done (tenant text collate "C", consumer text collate "C", count bigint not null,
    primary key (tenant, consumer)) without rowid;
create table access (tenant text collate "C", item text collate "C", count bigint not null,
    last text collate "C" not null, primary key (tenant, item)) without rowid;
create table client_key (id text collate "C" primary key, digest text not null unique, name text not null,
    tenant text not null, "user" text not null, scopes text not null, created_at text collate "C" not null,
    expires_at text, last_used text, revoked integer not null) without rowid;
create table setting (tenant text collate "C", name text collate "C", value text not null,
    primary key (tenant, name)) without rowid;
