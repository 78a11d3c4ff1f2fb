create extension if not exists vector;

alter table head add primary key (tenant), alter number add generated always as identity;
-- The row of an item is the number of its first event.
alter table item add primary key (tenant, id);
create unique index item_row on item (tenant, row);
create index item_forgotten on item (tenant, row) where forgotten <> 0;
create index item_kind on item (tenant, kind, seq);
create index item_updated on item (tenant, kind, updated_at, seq);
create index item_sorted on item (tenant, kind, lower(title collate "C"), seq);
create index item_namespace on item (tenant, namespace) where namespace is not null;
alter table passage add primary key (tenant, id);
create index passage_at on passage (tenant, at) include (id, item);

-- Terms are stemmed and hashed together with the tenant's number, so tenants share no posting list.
create table posting (tenant text collate "C", id bigint, length integer not null, terms tsvector not null,
    primary key (tenant, id));
create index posting_terms on posting using gin (terms) with (fastupdate = off);
create table term (tenant text collate "C", term text collate "C", passages bigint not null,
    primary key (tenant, term));

-- Narrow, so that an exact scan of a tenant reads little else than vectors.
create table embedding (tenant text collate "C", model text collate "C", passage bigint, digest bytea not null,
    v halfvec not null, primary key (tenant, model, passage)) partition by hash (tenant);
create index embedding_digest on embedding (tenant, digest);
insert into setting values ('', 'database', replace(gen_random_uuid()::text, '-', ''));

-- Which database a tenant lives in, if not in this one.
create table home (tenant text collate "C" primary key, url text not null);
-- Calls of a key in a minute, over all servers; nothing is lost if this is.
create unlogged table allowance (tenant text collate "C", key text collate "C", minute bigint, used integer,
    primary key (tenant, key, minute));

-- The attribute as a filter sees it: a missing one is null, true is 1.
create function attribute(attributes text, name text) returns jsonb language sql immutable parallel safe as $$
    select case when jsonb_typeof(a.value) = 'boolean' then to_jsonb(cast(cast(a.value as boolean) as integer))
                else coalesce(a.value, 'null') end
    from (select cast(attributes as jsonb) -> name as value) a
$$;

-- How sure a concept is today: as it was said, or as it was computed and has faded since its last review.
create function certainty(attributes text, created_at text) returns numeric language sql stable parallel safe as $$
    select case when a ->> 'certainty_source' = 'given' then (a ->> 'certainty_score')::numeric
           else round(((a ->> 'certainty_score')::float8 * power(0.5, greatest(0, (now() at time zone 'UTC')::date
                - left(coalesce(a ->> 'reviewed_at', created_at), 10)::date) / 365.0))::numeric, 2) end
    from (select attributes::jsonb) one (a)
$$;

-- Row-level security would keep the text index from being used, since a tsvector match could leak; so this runs with
-- the owner's rights and holds the fence itself. A passage has one of the words, how often is read back from ts_rank,
-- which for one word is 6/pi^2 times the sum of 1/n^2 up to that frequency. The score is the BM25 of SQLite's FTS5.
-- `is true` keeps the planner from walking the tenant's whole index beside each word, which is the tenant's own anyway;
-- `offset 0` from sorting rows with their tsvectors.
create function matching(wanted tsquery, words text[]) returns table (id bigint, score double precision)
language sql stable security definer as $$
    with word as materialized (
        select cast(t.term as tsquery) as term, cast(h.terms as double precision) / h.passages as mean,
               case when wanted is null then cast(t.term as tsquery) else cast(t.term as tsquery) && wanted end as both,
               greatest(1e-6, ln(cast((h.passages - t.passages + 0.5) / (t.passages + 0.5) as double precision))) as weight
        from term t join head h on h.tenant = t.tenant
        where t.tenant = current_setting('memolith.tenant', true) and t.term = any(words) and t.passages > 0)
    select f.id, sum(f.weight * f.tf * 2.2 / (f.tf + 1.2 * (0.25 + 0.75 * f.length / f.mean))) from (
        select p.id, p.length, w.weight, w.mean,
               round(1 / (1.6449340668482264 * (1 - ts_rank('{1,1,1,1}', p.terms, w.term))) - 0.5) as tf
        from word w join posting p on p.terms @@ w.both
        where (p.tenant = (select current_setting('memolith.tenant', true))) is true offset 0) f group by f.id
    union all
    select id, 0 from posting
    where cardinality(words) = 0 and tenant = current_setting('memolith.tenant', true) and terms @@ wanted
$$;

-- The role of running servers owns nothing and sees the rows of one tenant, or of all where upkeep says so.
do $$
declare name text;
begin
    for n in 0..15 loop
        execute format('create table embedding_%s partition of embedding for values with (modulus 16, remainder %s)', n, n);
        execute format('alter table embedding_%s alter column v set storage plain', n);
    end loop;
    if not exists (select 1 from pg_roles where rolname = 'memolith_run') then
        begin create role memolith_run nologin; exception when duplicate_object or unique_violation then null; end;
    end if;
    -- Whoever makes a role may give it, but does not have it yet.
    if not pg_has_role(current_user, 'memolith_run', 'usage') then
        execute format('grant memolith_run to %I', current_user);
    end if;
    execute format('grant usage on schema %I to memolith_run', current_schema());
    -- Temporary objects come last: a caller's own must not be read in the place of ours, with the owner's rights.
    execute format('alter function matching set search_path = %I, pg_temp', current_schema());
    foreach name in array array['event', 'head', 'item', 'tag', 'passage', 'posting', 'term', 'sketch', 'link',
            'embedding', 'outbox', 'outbox_done', 'access', 'client_key', 'setting', 'home', 'allowance'] loop
        execute format('grant select, insert, update, delete on %I to memolith_run', name);
        execute format('alter table %I enable row level security', name);
        -- As a subquery the setting is read once for a statement, else once for a row.
        execute format($policy$create policy fence on %I using (tenant = (select current_setting('memolith.tenant',
            true)) or (select current_setting('memolith.all', true)) = 'on')$policy$, name);
    end loop;
    grant select on migration to memolith_run;
end $$;
