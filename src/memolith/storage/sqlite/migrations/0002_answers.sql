-- oldest: 2

-- What writing calls were answered under their idempotency keys, so that a repeated call gets its first answer again.
-- Key and request are digests. An empty body was removed because it quoted an item that was erased.
create table answer (
    tenant text not null,
    actor text not null,
    key text not null,
    request text not null,
    body text not null,
    sealed integer not null,
    at text not null,
    primary key (tenant, actor, key)
);
create index answer_at on answer (at);
