-- oldest: 2

-- What writing calls were answered under their idempotency keys, so that a repeated call gets its first answer again.
-- Key and request are digests. An empty body was removed because it quoted an item that was erased.
create table answer (
    tenant text collate "C" not null,
    actor text collate "C" not null,
    key text collate "C" not null,
    request text not null,
    body text not null,
    sealed integer not null,
    at text collate "C" not null,
    primary key (tenant, actor, key)
);
create index answer_at on answer (at);

grant select, insert, update, delete on answer to memolith_run;
alter table answer enable row level security;
create policy fence on answer using (
    tenant = (select current_setting('memolith.tenant', true))
    or (select current_setting('memolith.all', true)) = 'on'
);
