-- oldest: 1
-- The line above names the oldest schema number that a program must know to work on what this leaves.

create extension if not exists vector;

-- The event log is the source of truth. Items, passages, tags, sketches and links are derived from it.
-- The tenant comes first in every key.
create table event (
    tenant text collate "C",
    seq bigint,
    stream text collate "C" not null,
    version integer not null,
    type text not null,
    data text not null,
    actor text not null,
    at text collate "C" not null,
    key text,
    primary key (tenant, seq)
);
create unique index event_stream on event (tenant, stream, version);
create unique index event_key on event (tenant, actor, key) where key is not null;
create index event_source on event (tenant, (data::jsonb ->> 'source')) where type = 'linked';
create index event_target on event (tenant, (data::jsonb ->> 'target')) where type = 'linked';

-- One row per tenant: the last sequence number, the totals that ranking needs, and whether writes are refused because
-- the tenant moves to another database.
create table head (
    number bigint not null generated always as identity,
    tenant text collate "C" primary key,
    seq bigint not null,
    passages bigint not null default 0,
    terms bigint not null default 0,
    at text collate "C" not null default '',
    frozen boolean not null default false
);

-- The row of an item is the sequence number of its first event.
create table item (
    row bigint not null,
    tenant text collate "C" not null,
    id text collate "C" not null,
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
    created_at text collate "C" not null,
    updated_at text collate "C" not null,
    blocks integer not null,
    passages integer not null,
    forgotten smallint not null,
    -- A copy of what `access` holds, so that a list can be in that order.
    reads bigint not null default 0,
    last_read text collate "C" not null default '',
    primary key (tenant, id)
);
create unique index item_row on item (tenant, row);
create index item_owner on item (tenant, owner);
create index item_project on item (tenant, project) where project is not null;
create index item_topic on item (tenant, kind, (attributes::jsonb ->> 'topic_id'), seq)
    where attributes::jsonb ->> 'topic_id' is not null;
create index item_expiring on item (tenant) where attributes::jsonb ->> 'expires_at' is not null;
create index item_cut on item (tenant) where passages <> blocks;
create index item_name on item (tenant, kind, title) where title <> '';
create index item_forgotten on item (tenant, row) where forgotten <> 0;
create index item_kind on item (tenant, kind, seq);
create index item_updated on item (tenant, kind, updated_at, seq);
create index item_sorted on item (tenant, kind, lower(title collate "C"), seq);
create index item_namespace on item (tenant, namespace) where namespace is not null;

-- The id is a passage reference: the item's row times 2^20 plus the ordinal. So a hit tells its item and its
-- neighbours without a look-up.
create table passage (
    id bigint not null,
    tenant text collate "C" not null,
    item bigint not null,
    ordinal integer not null,
    block integer not null,
    text text not null,
    at text collate "C" not null,
    speaker text collate "C",
    locator text,
    attributes text,
    primary key (tenant, id)
);
create index passage_speaker on passage (tenant, speaker) where speaker is not null;
create index passage_at on passage (tenant, at) include (id, item);

create table tag (
    tenant text collate "C",
    tag text collate "C",
    item bigint,
    primary key (tenant, tag, item)
);

-- Marks of the first passage of each item: equal texts have an equal first mark, similar texts share another.
create table sketch (
    tenant text collate "C",
    mark bigint,
    item bigint,
    primary key (tenant, mark, item)
);

create table link (
    tenant text collate "C",
    id text collate "C",
    source text collate "C" not null,
    target text collate "C" not null,
    type text collate "C" not null,
    strength double precision not null,
    attributes text not null,
    version integer not null,
    seq bigint not null,
    created_at text collate "C" not null,
    updated_at text collate "C" not null,
    primary key (tenant, id)
);
create unique index link_source on link (tenant, source, type, target);
create index link_target on link (tenant, target, type, source);

-- Work that follows from events and is done later, and how much of it was done.
create table outbox (
    tenant text collate "C",
    seq bigint,
    consumer text collate "C",
    stream text collate "C" not null,
    status text not null,
    attempts integer not null default 0,
    due text collate "C" not null,
    error text,
    primary key (tenant, consumer, seq)
);
create table outbox_done (
    tenant text collate "C",
    consumer text collate "C",
    count bigint not null,
    primary key (tenant, consumer)
);

-- How often and when last items were read.
create table access (
    tenant text collate "C",
    item text collate "C",
    count bigint not null,
    last text collate "C" not null,
    primary key (tenant, item)
);

create table client_key (
    id text collate "C" primary key,
    digest text not null unique,
    name text not null,
    tenant text not null,
    "user" text not null,
    scopes text not null,
    created_at text collate "C" not null,
    expires_at text,
    last_used text,
    revoked integer not null
);

create table setting (
    tenant text collate "C",
    name text collate "C",
    value text not null,
    primary key (tenant, name)
);

-- Terms are stemmed and hashed together with the tenant's number, so tenants share no posting list.
create table posting (
    tenant text collate "C",
    id bigint,
    length integer not null,
    terms tsvector not null,
    primary key (tenant, id)
);
create index posting_terms on posting using gin (terms) with (fastupdate = off);
create table term (
    tenant text collate "C",
    term text collate "C",
    passages bigint not null,
    primary key (tenant, term)
);

-- Narrow, so that an exact scan of a tenant reads little else than vectors.
create table embedding (
    tenant text collate "C",
    model text collate "C",
    passage bigint,
    digest bytea not null,
    v halfvec not null,
    primary key (tenant, model, passage)
) partition by hash (tenant);
create index embedding_digest on embedding (tenant, digest);

-- Tells this database from another.
insert into setting values ('', 'database', replace(gen_random_uuid()::text, '-', ''));

-- Which database a tenant lives in, if not in this one.
create table home (
    tenant text collate "C" primary key,
    url text not null
);

-- Calls of a key in a minute, over all servers. Nothing is lost if a crash empties it.
create unlogged table allowance (
    tenant text collate "C",
    key text collate "C",
    minute bigint,
    used integer,
    primary key (tenant, key, minute)
);

-- An attribute as a filter sees it: a missing one is null, true is 1.
create function attribute(attributes text, name text) returns jsonb
language sql immutable parallel safe as $$
    select case
        when jsonb_typeof(a.value) = 'boolean' then to_jsonb(a.value::boolean::integer)
        else coalesce(a.value, 'null')
    end
    from (select attributes::jsonb -> name as value) a
$$;

-- How certain a concept is today: as the user set it, or as it was computed and has faded since its last review.
create function certainty(attributes text, created_at text) returns numeric
language sql stable parallel safe as $$
    select case
        when a ->> 'certainty_source' = 'given' then (a ->> 'certainty_score')::numeric
        else round(
            (
                (a ->> 'certainty_score')::float8
                * power(
                    0.5,
                    greatest(
                        0,
                        (now() at time zone 'UTC')::date
                            - left(coalesce(a ->> 'reviewed_at', created_at), 10)::date
                    ) / 365.0
                )
            )::numeric,
            2
        )
    end
    from (select attributes::jsonb) one (a)
$$;

-- The passages that contain one of the words and match the query, with their BM25 score (that of SQLite's FTS5).
-- Row-level security would keep the text index from being used, since a tsvector match could leak. So this runs with
-- the owner's rights and restricts the tenant itself. The frequency of a word is read back from ts_rank, which for one
-- word is 6/pi^2 times the sum of 1/n^2 up to that frequency. `is true` keeps the planner from walking the tenant's
-- whole index beside each word, which is the tenant's own anyway; `offset 0` from sorting rows with their tsvectors.
create function matching(wanted tsquery, words text[]) returns table (id bigint, score double precision)
language sql stable security definer as $$
    with word as materialized (
        select t.term::tsquery as term,
            h.terms::double precision / h.passages as mean,
            case when wanted is null then t.term::tsquery else t.term::tsquery && wanted end as both,
            greatest(1e-6, ln(((h.passages - t.passages + 0.5) / (t.passages + 0.5))::double precision)) as weight
        from term t
        join head h on h.tenant = t.tenant
        where t.tenant = current_setting('memolith.tenant', true) and t.term = any(words) and t.passages > 0
    )
    select f.id, sum(f.weight * f.tf * 2.2 / (f.tf + 1.2 * (0.25 + 0.75 * f.length / f.mean)))
    from (
        select p.id, p.length, w.weight, w.mean,
            round(1 / (1.6449340668482264 * (1 - ts_rank('{1,1,1,1}', p.terms, w.term))) - 0.5) as tf
        from word w
        join posting p on p.terms @@ w.both
        where (p.tenant = (select current_setting('memolith.tenant', true))) is true
        offset 0
    ) f
    group by f.id
    union all
    select id, 0
    from posting
    where cardinality(words) = 0 and tenant = current_setting('memolith.tenant', true) and terms @@ wanted
$$;

-- The role of running servers owns nothing. It sees the rows of one tenant, or of all where maintenance says so.
do $$
declare
    name text;
begin
    for n in 0..15 loop
        execute format(
            'create table embedding_%s partition of embedding for values with (modulus 16, remainder %s)', n, n
        );
        execute format('alter table embedding_%s alter column v set storage plain', n);
    end loop;
    if not exists (select 1 from pg_roles where rolname = 'memolith_run') then
        begin
            create role memolith_run nologin;
        exception when duplicate_object or unique_violation then
            null;
        end;
    end if;
    -- Who creates a role may grant it, but does not have it yet.
    if not pg_has_role(current_user, 'memolith_run', 'usage') then
        execute format('grant memolith_run to %I', current_user);
    end if;
    execute format('grant usage on schema %I to memolith_run', current_schema());
    -- Temporary objects come last: a caller's own must not be read in the place of ours, with the owner's rights.
    execute format('alter function matching set search_path = %I, pg_temp', current_schema());
    foreach name in array array[
        'event', 'head', 'item', 'tag', 'passage', 'posting', 'term', 'sketch', 'link', 'embedding', 'outbox',
        'outbox_done', 'access', 'client_key', 'setting', 'home', 'allowance'
    ] loop
        execute format('grant select, insert, update, delete on %I to memolith_run', name);
        execute format('alter table %I enable row level security', name);
        -- As a subquery the setting is read once per statement, else once per row.
        execute format(
            $policy$create policy fence on %I using (
                tenant = (select current_setting('memolith.tenant', true))
                or (select current_setting('memolith.all', true)) = 'on'
            )$policy$,
            name
        );
    end loop;
    grant select on migration to memolith_run;
end $$;
