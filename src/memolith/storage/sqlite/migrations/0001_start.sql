-- oldest: 1
-- The line above names the oldest schema number that a program must know to work on what this leaves.

-- The event log is the source of truth. Items, passages, tags, sketches and links are derived from it.
-- The tenant comes first in every key.
create table event (
    tenant text,
    seq bigint,
    stream text not null,
    version integer not null,
    type text not null,
    data text not null,
    actor text not null,
    at text not null,
    key text,
    primary key (tenant, seq)
) without rowid;
create unique index event_stream on event (tenant, stream, version);
create unique index event_key on event (tenant, actor, key) where key is not null;
create index event_source on event (tenant, (data ->> 'source')) where type = 'linked';
create index event_target on event (tenant, (data ->> 'target')) where type = 'linked';

-- One row per tenant: the last sequence number, the totals that ranking needs, and whether writes are refused.
create table head (
    number integer primary key,
    tenant text,
    seq bigint not null,
    passages bigint not null default 0,
    terms bigint not null default 0,
    at text not null default '',
    frozen boolean not null default false
);
create unique index head_tenant on head (tenant);

create table item (
    row integer primary key,
    tenant text not null,
    id text not null,
    kind text not null,
    title text not null,
    status text not null,
    owner text not null,
    audience text not null,
    project text,
    namespace text,
    tags text not null,
    attributes text not null,
    version integer not null,
    seq bigint not null,
    created_at text not null,
    updated_at text not null,
    blocks integer not null,
    passages integer not null,
    forgotten smallint not null,
    -- A copy of what `access` holds, so that a list can be in that order.
    reads bigint not null default 0,
    last_read text not null default ''
);
create index item_owner on item (tenant, owner);
create index item_project on item (tenant, project) where project is not null;
create index item_topic on item (tenant, kind, (attributes ->> 'topic_id'), seq)
    where attributes ->> 'topic_id' is not null;
create index item_expiring on item (tenant) where attributes ->> 'expires_at' is not null;
create index item_cut on item (tenant) where passages <> blocks;
create index item_name on item (tenant, kind, title) where title <> '';
create unique index item_id on item (tenant, id);
-- The columns after the sort key are what filters ask for, so that a far page is counted off in the index alone.
create index item_kind on item (tenant, kind, seq, forgotten, owner, audience, project, namespace, status);
create index item_updated on item (
    tenant, kind, updated_at, seq, forgotten, owner, audience, project, namespace, status
);
create index item_sorted on item (
    tenant, kind, lower(title), seq, forgotten, owner, audience, project, namespace, status
);
create index item_reads on item (tenant, kind, reads, seq, forgotten, owner, audience, project, namespace, status);
create index item_last_read on item (
    tenant, kind, last_read, seq, forgotten, owner, audience, project, namespace, status
);
create index item_namespace on item (tenant, namespace, kind, forgotten, owner, audience, project);
-- Covers the count of concepts by area, topic and subtopic, so that the hierarchy reads no row.
create index item_tree on item (
    tenant, attributes ->> 'area', attributes ->> 'topic', attributes ->> 'subtopic',
    audience, owner, project, forgotten, version
) where kind = 'concept';

-- The id is a passage reference: the item's row times 2^20 plus the ordinal. So a hit tells its item and its
-- neighbours without a look-up.
create table passage (
    id integer primary key,
    tenant text not null,
    item bigint not null,
    ordinal integer not null,
    block integer not null,
    text text not null,
    at text not null,
    speaker text,
    locator text,
    attributes text
);
create index passage_speaker on passage (tenant, speaker) where speaker is not null;

create table tag (
    tenant text,
    tag text,
    item bigint,
    primary key (tenant, tag, item)
) without rowid;

-- Marks of the first passage of each item: equal texts have an equal first mark, similar texts share another.
create table sketch (
    tenant text,
    mark bigint,
    item bigint,
    primary key (tenant, mark, item)
) without rowid;

create table link (
    tenant text,
    id text,
    source text not null,
    target text not null,
    type text not null,
    strength double precision not null,
    attributes text not null,
    version integer not null,
    seq bigint not null,
    created_at text not null,
    updated_at text not null,
    primary key (tenant, id)
) without rowid;
create unique index link_source on link (tenant, source, type, target);
create index link_target on link (tenant, target, type, source);

-- Work that follows from events and is done later, and how much of it was done.
create table outbox (
    tenant text,
    seq bigint,
    consumer text,
    stream text not null,
    status text not null,
    attempts integer not null default 0,
    due text not null,
    error text,
    primary key (tenant, consumer, seq)
) without rowid;
create table outbox_done (
    tenant text,
    consumer text,
    count bigint not null,
    primary key (tenant, consumer)
) without rowid;

-- How often and when last items were read.
create table access (
    tenant text,
    item text,
    count bigint not null,
    last text not null,
    primary key (tenant, item)
) without rowid;

create table client_key (
    id text primary key,
    digest text not null unique,
    name text not null,
    tenant text not null,
    "user" text not null,
    scopes text not null,
    created_at text not null,
    expires_at text,
    last_used text,
    revoked integer not null
) without rowid;

create table setting (
    tenant text,
    name text,
    value text not null,
    primary key (tenant, name)
) without rowid;

-- Terms are stemmed and hashed together with the tenant's number: tenants share no posting list, and no word of an
-- erased text can be left in the pages of the index.
create virtual table passage_fts using fts5 (body, extra, scope, content='', tokenize='ascii');
insert into passage_fts (passage_fts, rank)
values ('secure-delete', 1), ('rank', 'bm25(1.0, 1.0, 0.0)');
create virtual table passage_terms using fts5vocab (passage_fts, row);

create table embedding (
    id integer primary key autoincrement,
    tenant text not null,
    passage integer not null,
    model text not null,
    digest blob not null,
    v blob not null
);
create unique index embedding_passage on embedding (passage, model);
create index embedding_digest on embedding (digest);

-- What a process must change in the vector snapshot it has mapped: vectors that are gone, items whose columns changed.
create table slot_change (
    seq integer primary key autoincrement,
    vector integer,
    item integer
);
create trigger embedding_gone after delete on embedding
begin
    insert into slot_change (vector) values (old.id);
end;
create trigger item_moved after update on item
when (old.owner, old.audience, old.project, old.namespace, old.status, old.forgotten)
    is not (new.owner, new.audience, new.project, new.namespace, new.status, new.forgotten)
begin
    insert into slot_change (item) values (new.row);
end;

-- Tells a snapshot of this database from one of another.
insert into setting values ('', 'database', lower(hex(randomblob(16))));
