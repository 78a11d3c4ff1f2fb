-- oldest: 4
-- Older programs are refused: they would let paused keys in, and do not know the events of keys.

alter table client_key add column paused integer not null default 0;

-- Who read which item through which tool: how often, and when last.
create table item_read (
    tenant text not null,
    item text not null,
    reader text not null,
    tool text not null,
    times bigint not null,
    last text not null,
    primary key (tenant, item, reader, tool)
) without rowid;
create index item_read_last on item_read (tenant, last);

-- Which programs have called with which key: how often, how often in vain, and when.
create table client_call (
    tenant text not null,
    key text not null,
    program text not null,
    caller text not null,
    calls bigint not null,
    errors bigint not null,
    first text not null,
    last text not null,
    last_error text not null,
    primary key (tenant, key, program, caller)
) without rowid;

-- Items that say the same as an older one, until a person decides which of them stays. Derived from texts.
create table duplicate (
    tenant text not null,
    item text not null,
    original text not null,
    similarity double precision not null,
    primary key (tenant, item, original)
) without rowid;
create index duplicate_original on duplicate (tenant, original);

-- How alike an item and its successor are by meaning, and what differs in words. Empty in marks of older programs.
alter table superseded add column similarity double precision;
alter table superseded add column reason text;

-- Lists and counts of items of every kind, the newest first. As with the other orders, the columns after the sort key
-- are what filters ask for.
create index item_newest on item (
    tenant, seq, forgotten, kind, owner, audience, project, namespace, status, created_at
);

-- Tickets of browsers that were used up or signed out, until they would end by themselves (seconds since 1970).
create table ended_ticket (
    tenant text not null,
    nonce text not null,
    ends bigint not null,
    primary key (tenant, nonce)
) without rowid;
