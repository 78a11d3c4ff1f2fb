-- The log: the truth. Everything up to `link` is a fold of it.
create table event (
    tenant text not null, seq integer not null, stream text not null, version integer not null,
    type text not null, data text not null, actor text not null, at text not null, key text,
    primary key (tenant, seq)
) without rowid;
create unique index event_stream on event (tenant, stream, version);
create unique index event_key on event (tenant, actor, key) where key is not null;
create index event_source on event (tenant, data ->> 'source') where type = 'linked';
create index event_target on event (tenant, data ->> 'target') where type = 'linked';

-- One row per tenant: the last sequence number, and the sums that ranking needs.
create table head (
    tenant text primary key, number integer not null unique, seq integer not null,
    passages integer not null default 0, terms integer not null default 0, at text not null default ''
) without rowid;

create table item (
    row integer primary key, tenant text not null, id text not null, kind text not null, title text not null,
    status text not null, owner text not null, audience text not null, project text, namespace text,
    tags text not null, attributes text not null, version integer not null, seq integer not null,
    created_at text not null, updated_at text not null, blocks integer not null, passages integer not null,
    forgotten integer not null, reads integer not null default 0, last_read text not null default ''
);
create unique index item_id on item (tenant, id);
-- The columns after the sort key are what filters ask for, so that a far page is counted off in the index alone.
create index item_kind on item (tenant, kind, seq, forgotten, owner, audience, project, namespace, status);
create index item_updated on item (tenant, kind, updated_at, seq, forgotten, owner, audience, project, namespace,
    status);
create index item_sorted on item (tenant, kind, title collate nocase, seq, forgotten, owner, audience, project,
    namespace, status);
-- How often and when last an item was read is told by `access`; it stands here too, so that a list can be in that order.
create index item_reads on item (tenant, kind, reads, seq, forgotten, owner, audience, project, namespace, status);
create index item_last_read on item (tenant, kind, last_read, seq, forgotten, owner, audience, project, namespace,
    status);
create index item_owner on item (tenant, owner);
create index item_project on item (tenant, project) where project is not null;
create index item_namespace on item (tenant, namespace, kind, forgotten, owner, audience, project);
create index item_topic on item (tenant, attributes ->> 'topic_id') where attributes ->> 'topic_id' is not null;
create index item_name on item (tenant, kind, title) where title <> '';
-- Covers the count of concepts by area, topic and subtopic, so that the hierarchy reads no row.
create index item_tree on item (tenant, json_extract(attributes, '$.area'), json_extract(attributes, '$.topic'),
    json_extract(attributes, '$.subtopic'), audience, owner, project, forgotten, version) where kind = 'concept';

create table tag (
    tenant text not null, tag text not null, item integer not null,
    primary key (tenant, tag, item)
) without rowid;
create index tag_item on tag (item);

-- The id is the item's row times 2^20 plus the ordinal, so a hit tells its item and its neighbours without a look-up.
create table passage (
    id integer primary key, tenant text not null, item integer not null, ordinal integer not null,
    block integer not null, text text not null, at text not null, speaker text, locator text, attributes text,
    digest integer not null
);
create index passage_digest on passage (tenant, digest);
create index passage_speaker on passage (tenant, speaker) where speaker is not null;

-- Terms are stemmed and hashed together with the tenant's number: tenants share no posting list, and no word of an
-- erased text can be left in the pages of the index.
create virtual table passage_fts using fts5 (body, extra, scope, content='', tokenize='ascii');
insert into passage_fts (passage_fts, rank) values ('secure-delete', 1);
insert into passage_fts (passage_fts, rank) values ('rank', 'bm25(1.0, 1.0, 0.0)');
create virtual table passage_terms using fts5vocab (passage_fts, row);

-- A few marks of the first passage of each item; near-identical texts share at least one.
create table sketch (
    tenant text not null, mark integer not null, item integer not null,
    primary key (tenant, mark, item)
) without rowid;

create table link (
    tenant text not null, id text not null, source text not null, target text not null, type text not null,
    strength real not null, attributes text not null, version integer not null, seq integer not null,
    created_at text not null, updated_at text not null,
    primary key (tenant, id)
) without rowid;
create unique index link_out on link (tenant, source, type, target);
create index link_in on link (tenant, target, type, source);

create table vector (
    id integer primary key autoincrement, tenant text not null, passage integer not null, model text not null,
    digest blob not null, row blob not null
);
create unique index vector_passage on vector (passage, model);
create index vector_digest on vector (digest);
-- What a process must mend in the snapshot it has mapped: vectors that are no more, items whose columns changed.
create table slot_change (seq integer primary key autoincrement, vector integer, item integer);

create table outbox (
    tenant text not null, seq integer not null, consumer text not null, stream text not null,
    status text not null, attempts integer not null default 0, due text not null, error text,
    primary key (tenant, seq, consumer)
) without rowid;
create index outbox_order on outbox (consumer, tenant, status, seq);
create table outbox_done (
    tenant text not null, consumer text not null, count integer not null,
    primary key (tenant, consumer)
) without rowid;

create table access (
    tenant text not null, item text not null, count integer not null, last text not null,
    primary key (tenant, item)
) without rowid;

create table client_key (
    id text primary key, digest text not null unique, name text not null, tenant text not null, user text not null,
    scopes text not null, created_at text not null, expires_at text, last_used text, revoked integer not null
) without rowid;

create table setting (
    tenant text not null, name text not null, value text not null,
    primary key (tenant, name)
) without rowid;
-- Tells a snapshot of this database from one of another.
insert into setting values ('', 'database', lower(hex(randomblob(16))));
