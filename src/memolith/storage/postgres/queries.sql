-- The statements of the PostgreSQL store that are its own, by name.
-- Row-level security keeps a computed bound such as `i.row << 20` from the index; so it is computed in a part before.

-- statements: database
begin: begin isolation level {level};
    select set_config('role', 'memolith_run', true), set_config('statement_timeout', {timeout}, true),
    set_config('lock_timeout', {wait}, true), set_config('synchronous_commit', 'on', true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '400', true),
    set_config('work_mem', '64MB', true), set_config('memolith.tenant', {tenant}, true),
    set_config('memolith.all', {all}, true)
versions: select current_setting('server_version_num')::integer, current_setting('server_version'),
    coalesce((select extversion from pg_extension where extname = 'vector'), (select default_version
    from pg_available_extensions where name = 'vector')), to_regclass('migration') is not null, pg_is_in_recovery()
migration_lock: select pg_advisory_xact_lock(7236548190273645)
clean: vacuum (index_cleanup on, truncate off) event, item, tag, passage, posting, term, sketch, link,
    embedding, outbox, access
size: select pg_database_size(current_database())
tenants: select tenant from head where seq > 0 order by number

-- statements: text_index
posting_add: insert into posting (tenant, id, length, terms) values (:tenant, :id, :length, cast(:terms as tsvector))
posting_drop: delete from posting where tenant = :tenant and id = :id
postings: select id from posting where tenant = :tenant
stale: select w.ref from jsonb_to_recordset(cast(:wanted as jsonb)) as w (ref bigint, terms text, length integer)
    left join posting p on p.tenant = :tenant and p.id = w.ref
    where p.id is null or p.terms <> cast(w.terms as tsvector) or p.length <> w.length
empty_index: delete from posting; delete from term
terms_count: insert into term (tenant, term, passages)
    select :tenant, key, cast(value as bigint) from jsonb_each_text(cast(:counts as jsonb)) order by key
    on conflict (tenant, term) do update set passages = term.passages + excluded.passages
terms_gone: delete from term where tenant = :tenant and passages <= 0
    and term = any(array(select jsonb_object_keys(cast(:counts as jsonb))))
terms_wrong: select coalesce(t.term, c.term) from (select term, passages from term where tenant = :tenant) t
    full join (select lexeme as term, count(*) as passages from posting p, unnest(p.terms) u
               where p.tenant = :tenant and u.weights[1] <> 'C' group by 1) c on c.term = t.term
    where t.passages is distinct from c.passages limit 5
frequencies: select term, passages from term where tenant = :tenant and term in each(:terms)

-- statements: search
search_text: select m.id, m.score from matching(cast(nullif(:match, '') as tsquery), array(
    select jsonb_array_elements_text(:words::jsonb))) m where ({kept}) is true order by m.score desc, m.id limit :limit
nearest: select id, 1 - distance from (select m.id, {v} <=> cast(:query as halfvec({dimension})) as distance
        from (select passage as id, tenant, model, v from embedding) m
        where m.tenant = :tenant and m.model = :model and ({kept}) is true order by distance limit :limit) nearest
cosines: select passage, 1 - (v <=> cast(:query as halfvec)) from embedding
    where tenant = :tenant and model = :model and passage in numbers(:ids)
unsorted: set local enable_sort = off
certainty: certainty(i.attributes, i.created_at)

-- Inside `is true` these are a look into a hash table, if it fits work_mem; a join would be planned for too few rows.
-- fragments: best
item: m.id >> 20 in (select i.row from item i where i.tenant = :tenant {filters})
passage: m.id in (select p.id from passage p join item i on i.tenant = p.tenant and i.row = p.item
    where p.tenant = :tenant {filters})
all: m.id >> 20 not in (select i.row from item i where i.tenant = :tenant and i.forgotten <> 0)
indexed: cast(m.v as halfvec({dimension}))
exact: m.v

-- statements: server
large: select h.tenant, v.tableoid::regclass::text from head h cross join lateral (
        select tableoid from embedding where tenant = h.tenant and model = :model limit 1) v where h.passages >= :least
own_index_state: select indisvalid from pg_index where indexrelid = to_regclass(cast(:name as text))
own_index_drop: drop index concurrently if exists {name}
own_index_make: create index concurrently {name} on {table}
    using hnsw ((cast(v as halfvec({dimension}))) halfvec_cosine_ops) where tenant = {tenant} and model = {model}
allowance_take: with old as (delete from allowance where minute < :minute - 1)
    insert into allowance (tenant, key, minute, used) values ('', :key, :minute, :amount)
    on conflict (tenant, key, minute) do update set used = allowance.used + excluded.used returning used
listen: listen memolith
notify: select pg_notify('memolith', '')
move_lock: select pg_try_advisory_xact_lock(723654819, hashtext(:tenant))

-- fragments: filter
tags_any: i.row in (select t.item from tag t where t.tenant = :tenant and t.tag in each(:tags_any))
tags_none: i.row not in (select t.item from tag t where t.tenant = :tenant and t.tag in each(:tags_none))
title: strpos(lower(i.title), lower(:title)) > 0

-- fragments: where
ordered: jsonb_typeof(attribute(i.attributes, :name{n})) = jsonb_typeof(:value{n}::jsonb)
    and case jsonb_typeof(:value{n}::jsonb) when 'number' then attribute(i.attributes, :name{n}) {op} :value{n}::jsonb
    when 'string' then (attribute(i.attributes, :name{n}) #>> '{}') collate "C" {op} (:value{n}::jsonb #>> '{}') end
glob: (attribute(i.attributes, :name{n}) #>> '{}') ~ (:value{n}::jsonb #>> '{}')
in: attribute(i.attributes, :name{n}) <> 'null'
    and attribute(i.attributes, :name{n}) in (select jsonb_array_elements(:value{n}::jsonb))
under: ((attribute(i.attributes, :name{n}) #>> '{}') = rtrim(:value{n}::jsonb #>> '{}', '/')
    or starts_with(attribute(i.attributes, :name{n}) #>> '{}', rtrim(:value{n}::jsonb #>> '{}', '/') || '/'))
has: jsonb_typeof(attribute(i.attributes, :name{n})) = 'array' and exists (
    select 1 from jsonb_array_elements(attribute(i.attributes, :name{n})) e where :value{n}::jsonb
    = case when jsonb_typeof(e) = 'boolean' then to_jsonb(cast(cast(e as boolean) as integer)) else e end)
is_or_lacks: attribute(i.attributes, :name{n}) in ('null', :value{n}::jsonb)
