-- oldest: 4
-- Older programs are refused: they would let paused keys in, and do not know the events of keys.

alter table client_key add column paused integer not null default 0;

-- Who read which item through which tool: how often, and when last.
create table item_read (
    tenant text collate "C" not null,
    item text collate "C" not null,
    reader text collate "C" not null,
    tool text collate "C" not null,
    times bigint not null,
    last text collate "C" not null,
    primary key (tenant, item, reader, tool)
);
create index item_read_last on item_read (tenant, last);

-- Which programs have called with which key: how often, how often in vain, and when.
create table client_call (
    tenant text collate "C" not null,
    key text collate "C" not null,
    program text collate "C" not null,
    caller text collate "C" not null,
    calls bigint not null,
    errors bigint not null,
    first text collate "C" not null,
    last text collate "C" not null,
    last_error text not null,
    primary key (tenant, key, program, caller)
);

grant select, insert, update, delete on item_read, client_call to memolith_run;
alter table item_read enable row level security;
alter table client_call enable row level security;
create policy fence on item_read using (
    tenant = (select current_setting('memolith.tenant', true))
    or (select current_setting('memolith.all', true)) = 'on'
);
create policy fence on client_call using (
    tenant = (select current_setting('memolith.tenant', true))
    or (select current_setting('memolith.all', true)) = 'on'
);

-- Items that say the same as an older one, until a person decides which of them stays. Derived from texts.
create table duplicate (
    tenant text collate "C" not null,
    item text collate "C" not null,
    original text collate "C" not null,
    similarity double precision not null,
    primary key (tenant, item, original)
);
create index duplicate_original on duplicate (tenant, original);

grant select, insert, update, delete on duplicate to memolith_run;
alter table duplicate enable row level security;
create policy fence on duplicate using (
    tenant = (select current_setting('memolith.tenant', true))
    or (select current_setting('memolith.all', true)) = 'on'
);

-- How alike an item and its successor are by meaning, and what differs in words. Empty in marks of older programs.
alter table superseded add column similarity double precision;
alter table superseded add column reason text;

-- Lists and counts of items of every kind, the newest first.
create index item_newest on item (tenant, seq) include (forgotten, kind, owner, audience, project, created_at);

-- Tickets of browsers that were used up or signed out, until they would end by themselves (seconds since 1970).
create table ended_ticket (
    tenant text collate "C" not null,
    nonce text collate "C" not null,
    ends bigint not null,
    primary key (tenant, nonce)
);

grant select, insert, update, delete on ended_ticket to memolith_run;
alter table ended_ticket enable row level security;
create policy fence on ended_ticket using (
    tenant = (select current_setting('memolith.tenant', true))
    or (select current_setting('memolith.all', true)) = 'on'
);
