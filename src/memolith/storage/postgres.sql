-- The statements of the PostgreSQL store that are its own, by name.
-- `:mine` is the tenant that the reader belongs to.
-- Row-level security keeps a computed bound such as `i.row << 20` from the index; so it is computed in a part before.

-- name: begin_reading
begin isolation level repeatable read read only; set local role memolith_run; set local statement_timeout = {timeout};
set local hnsw.iterative_scan = relaxed_order; set local hnsw.ef_search = 400; set local work_mem = '64MB';
select set_config('memolith.tenant', {tenant}, true), set_config('memolith.all', {all}, true)

-- name: begin_writing
begin isolation level read committed; set local role memolith_run; set local statement_timeout = {timeout};
set local lock_timeout = {wait}; set local synchronous_commit = on;
select set_config('memolith.tenant', {tenant}, true), set_config('memolith.all', {all}, true)

-- name: versions
select current_setting('server_version_num')::integer, current_setting('server_version'),
       coalesce((select extversion from pg_extension where extname = 'vector'),
                (select default_version from pg_available_extensions where name = 'vector')), to_regclass('migration') is not null,
       pg_is_in_recovery()

-- name: migration_lock
select pg_advisory_xact_lock(7236548190273645)

-- name: migration_table
create table if not exists migration (number integer primary key, name text not null, checksum text not null,
    oldest integer not null)

-- name: migrations
select number, checksum, oldest from migration order by number

-- name: migration_add
insert into migration (number, name, checksum, oldest) values (:number, :name, :checksum, :oldest)

-- name: clean
vacuum (index_cleanup on, truncate off) event, item, tag, passage, posting, term, sketch, link, embedding, outbox, access

-- name: size
select pg_database_size(current_database())

-- name: head_locked
select number, seq, passages, terms, at from head where tenant = :tenant and not frozen for update

-- name: head_new
insert into head (tenant, seq) values (:tenant, 0) on conflict (tenant) do nothing

-- name: head_freeze
update head set frozen = :frozen where tenant = :tenant

-- name: tenants
select tenant from head where seq > 0 order by number

-- name: events_after
select * from event where tenant = :tenant and seq > :seq order by seq limit nullif(cast(:limit as bigint), -1)

-- name: orphans
select 'passage ' || id from passage p where tenant = :tenant
and not exists (select 1 from item i where i.tenant = p.tenant and i.row = p.item)
union all
select 'tag ' || tag from tag t where tenant = :tenant
and not exists (select 1 from item i where i.tenant = t.tenant and i.row = t.item)

-- name: link_streams
select stream from event where tenant = :tenant and type = 'linked' and cast(data as jsonb) ->> 'source' = :item
union
select stream from event where tenant = :tenant and type = 'linked' and cast(data as jsonb) ->> 'target' = :item

-- name: items_by_row
select * from item where tenant = :mine
and row in numbers(:rows)

-- name: item_new
insert into item (row, tenant, id, kind, title, status, owner, audience, project, namespace, tags, attributes, version,
    seq, created_at, updated_at, blocks, passages, forgotten)
values (:seq, :tenant, :id, :kind, :title, :status, :owner, :audience, :project, :namespace, :tags, :attributes,
    :version, :seq, :created_at, :updated_at, :blocks, :passages, :forgotten)

-- name: item_moved
select 1 where false

-- name: tags_add
insert into tag (tenant, tag, item) select :tenant, value, :item from jsonb_array_elements_text(cast(:tags as jsonb))

-- name: tags_drop
delete from tag where tenant = :tenant and item = :item

-- name: empty_models
delete from item;
delete from tag;
delete from sketch;
delete from passage;
delete from posting;
delete from term;
delete from link;
delete from outbox where consumer = 'embed';
insert into head (tenant, seq, at) select tenant, max(seq), max(at) from event group by tenant
on conflict (tenant) do update set seq = excluded.seq, at = excluded.at, passages = 0, terms = 0

-- name: passages_of_items
with i as materialized (select id, row, row << 20 as low, (row + 1) << 20 as high from item
                        where tenant = :tenant and id in each(:ids))
select p.*, i.id as item_id from i join passage p on p.tenant = :tenant and p.id >= i.low and p.id < i.high
order by i.row, p.id

-- name: passages_from
select * from passage where tenant = :tenant and id >= (cast(:item as bigint) << 20) + :ordinal
and id < (cast(:item as bigint) + 1) << 20 order by id

-- name: passages_at
select p.*, i.id as item_id from passage p join item i on i.tenant = p.tenant and i.row = p.item
where p.tenant = :mine
and p.id in numbers(:ids)

-- name: passage_add
with posted as (
    insert into posting (tenant, id, length, terms) values (:tenant, :id, :length, cast(:terms as tsvector)))
insert into passage (id, tenant, item, ordinal, block, text, at, speaker, locator, attributes, digest)
values (:id, :tenant, :item, :ordinal, :block, :text, :at, :speaker, :locator, :attributes, :digest)

-- name: passage_drop
with gone as (delete from posting where tenant = :tenant and id = :id)
delete from passage where tenant = :tenant and id = :id

-- name: passage_index
update posting set length = :length, terms = cast(:terms as tsvector) where tenant = :tenant and id = :id

-- name: terms_count
insert into term (tenant, term, passages)
select :tenant, key, cast(value as bigint) from jsonb_each_text(cast(:counts as jsonb)) order by key
on conflict (tenant, term) do update set passages = term.passages + excluded.passages

-- name: terms_gone
delete from term where tenant = :tenant and passages <= 0
and term = any(array(select jsonb_object_keys(cast(:counts as jsonb))))

-- name: stale
select wanted.ref from jsonb_to_recordset(cast(:wanted as jsonb)) as wanted (ref bigint, terms text, length integer)
left join posting p on p.tenant = :mine and p.id = wanted.ref
where p.id is null or p.terms <> cast(wanted.terms as tsvector) or p.length <> wanted.length

-- name: postings
select id from posting where tenant = :mine

-- name: terms_wrong
select coalesce(t.term, c.term) from (select term, passages from term where tenant = :mine) t
full join (select lexeme as term, count(*) as passages from posting p, unnest(p.terms) u
           where p.tenant = :mine and u.weights[1] <> 'C' group by 1) c on c.term = t.term
where t.passages is distinct from c.passages limit 5

-- name: passage_same
select i.id from passage p join item i on i.tenant = p.tenant and i.row = p.item
where p.tenant = :tenant and p.digest = :digest and p.ordinal = 0 and i.passages = :passages {filters}
order by i.seq limit 20

-- name: sketch_add
insert into sketch (tenant, mark, item)
select :tenant, cast(value as bigint), :item from jsonb_array_elements_text(cast(:marks as jsonb))
on conflict do nothing

-- name: alike
select distinct i.id from sketch s join item i on i.tenant = s.tenant and i.row = s.item
where s.tenant = :tenant
and s.mark in numbers(:marks) {filters}
limit 5

-- name: frequencies
select term, passages from term where tenant = :tenant
and term in each(:terms)

-- name: search_text
select m.id, m.score
from matching(cast(nullif(:match, '') as tsquery), array(select jsonb_array_elements_text(cast(:words as jsonb)))) m
where ({kept}) is true order by m.score desc, m.id limit :limit

-- name: nearest
select m.id, 1 - ({v} <=> cast(:query as halfvec({dimension})))
from (select passage as id, tenant, model, v from embedding) m
where m.tenant = :tenant and m.model = :model and ({kept}) is true
order by {v} <=> cast(:query as halfvec({dimension})) limit :limit

-- Inside `is true` this is a look into a hash table, if it fits work_mem; a join would be planned for far too few rows.
-- name: kept_item
m.id >> 20 in (select i.row from item i where i.tenant = :tenant {filters})

-- name: kept_passage
m.id in (select p.id from passage p join item i on i.tenant = p.tenant and i.row = p.item
         where p.tenant = :tenant {filters})

-- name: kept_all
m.id >> 20 not in (select i.row from item i where i.tenant = :tenant and i.forgotten <> 0)

-- name: vector_indexed
cast(m.v as halfvec({dimension}))

-- name: vector_exact
m.v

-- name: index_only
set local enable_sort = off

-- name: index_or_sort
set local enable_sort = on

-- name: large
select h.tenant, cast(cast((select tableoid from embedding v where v.tenant = h.tenant and v.model = :model limit 1)
                           as regclass) as text)
from head h where h.passages >= :least
and exists (select 1 from embedding v where v.tenant = h.tenant and v.model = :model)

-- name: own_index_state
select indisvalid from pg_index where indexrelid = to_regclass(cast(:name as text))

-- name: own_index_drop
drop index concurrently if exists {name}

-- name: own_index_make
create index concurrently {name} on {table} using hnsw ((cast(v as halfvec({dimension}))) halfvec_cosine_ops)
where tenant = {tenant} and model = {model}

-- name: cosines
select passage, 1 - (v <=> cast(:query as halfvec)) from embedding where tenant = :mine and model = :model
and passage in numbers(:ids)

-- name: speakers
with recursive speaker (name) as (
    select min(speaker) from passage where tenant = :tenant and speaker is not null
    union all
    select (select min(p.speaker) from passage p where p.tenant = :tenant and p.speaker > speaker.name) from speaker
    where speaker.name is not null
)
select name from speaker where name is not null limit :limit

-- name: vectors_drop
delete from embedding where tenant = :tenant and passage = :passage

-- name: vector_drop
delete from embedding where tenant = :tenant and model = :model and passage = :passage

-- name: vector_put
insert into embedding (tenant, model, passage, digest, v)
select :tenant, :model, :passage, :digest, cast(convert_from(:row, 'UTF8') as halfvec)
where exists (select 1 from passage where tenant = :tenant and id = :passage)

-- name: vector_same
select convert_to(cast(v as text), 'UTF8') from embedding
where tenant = :tenant and digest = :digest and model = :model limit 1

-- name: vector_digests
select passage, digest from embedding where tenant = :tenant and model = :model
and passage >= cast(:item as bigint) << 20 and passage < (cast(:item as bigint) + 1) << 20

-- name: queue_missing
insert into outbox (tenant, seq, consumer, stream, status, due)
select i.tenant, (select max(seq) from event e where e.tenant = i.tenant and e.stream = i.id), 'embed', i.id, 'pending',
       :now
from item i where (i.tenant, i.row) not in (select tenant, passage >> 20 from embedding where model = :model)
on conflict do nothing

-- name: vectors_of_others
delete from embedding where model <> :model

-- name: models
select model, count(*) from embedding group by 1

-- name: access_put
insert into access (tenant, item, count, last)
select :tenant, :item, :count, :last where exists (select 1 from item where tenant = :tenant and id = :item)
on conflict (tenant, item) do update set count = access.count + excluded.count,
    last = greatest(access.last, excluded.last)

-- name: outbox_due
select seq, stream, attempts from outbox
where tenant = :tenant and consumer = :consumer and status in ('pending', 'leased') and due <= :now
and not exists (select 1 from head where tenant = :tenant and frozen)
order by status desc, seq desc limit :limit for update skip locked

-- name: filter_tags_all
and i.row in (select t.item from tag t where t.tenant = :tenant
              and t.tag in each(:tags_all)
              group by t.item having count(*) = jsonb_array_length(cast(:tags_all as jsonb)))

-- name: filter_topics
and cast(i.attributes as jsonb) ->> 'topic_id' in each(:topics)

-- name: beginnings
select v.passage, halfvec_send(v.v) from item i
join embedding v on v.tenant = i.tenant and v.passage = i.row << 20 and v.model = :model
where i.tenant = :tenant {filters}

-- name: filter_tags_any
and i.row in (select t.item from tag t where t.tenant = :tenant
              and t.tag in each(:tags_any))

-- name: filter_tags_none
and i.row not in (select t.item from tag t where t.tenant = :tenant
                  and t.tag in each(:tags_none))

-- name: where_eq
and attribute(i.attributes, :name{n}) = cast(:value{n} as jsonb)

-- name: where_ne
and attribute(i.attributes, :name{n}) <> cast(:value{n} as jsonb)

-- name: where_ordered
and case when jsonb_typeof(attribute(i.attributes, :name{n})) = 'string' and jsonb_typeof(cast(:value{n} as jsonb)) = 'string'
    then (attribute(i.attributes, :name{n}) #>> '{}') collate "C" {op} (cast(:value{n} as jsonb) #>> '{}') collate "C"
    when jsonb_typeof(attribute(i.attributes, :name{n})) = 'number' and jsonb_typeof(cast(:value{n} as jsonb)) = 'number'
    then attribute(i.attributes, :name{n}) {op} cast(:value{n} as jsonb) else false end

-- name: where_glob
and (attribute(i.attributes, :name{n}) #>> '{}') ~ (cast(:value{n} as jsonb) #>> '{}')

-- name: where_in
and attribute(i.attributes, :name{n}) <> 'null'
and attribute(i.attributes, :name{n}) in (select jsonb_array_elements(cast(:value{n} as jsonb)))

-- name: where_under
and ((attribute(i.attributes, :name{n}) #>> '{}') = rtrim(cast(:value{n} as jsonb) #>> '{}', '/')
     or starts_with(attribute(i.attributes, :name{n}) #>> '{}', rtrim(cast(:value{n} as jsonb) #>> '{}', '/') || '/'))

-- name: where_has
and jsonb_typeof(attribute(i.attributes, :name{n})) = 'array' and exists (
    select 1 from jsonb_array_elements(attribute(i.attributes, :name{n})) e
    where case when jsonb_typeof(e) = 'boolean' then to_jsonb(cast(cast(e as boolean) as integer)) else e end
          = cast(:value{n} as jsonb))

-- name: folders
select attribute(i.attributes, 'folder') #>> '{}', attribute(i.attributes, 'importance_score') #>> '{}', count(*)
from item i where i.tenant = :tenant {filters} group by 1, 2

-- name: access_most
select a.item from access a join item i on i.tenant = a.tenant and i.id = a.item
where a.tenant = :tenant {filters} order by a.count desc, a.last desc limit 1

-- name: sort_access_count
coalesce((select a.count from access a where a.tenant = i.tenant and a.item = i.id), 0)

-- name: sort_last_accessed
coalesce((select a.last from access a where a.tenant = i.tenant and a.item = i.id), '')

-- name: sort_title
lower(i.title collate "C")

-- name: homes
select tenant, url from home

-- name: home_put
insert into home (tenant, url) values (:tenant, :url) on conflict (tenant) do update set url = excluded.url

-- name: home_drop
delete from home where tenant = :tenant

-- name: frozen
select frozen from head where tenant = :tenant

-- name: move_lock
select pg_try_advisory_xact_lock(723654819, hashtext(:tenant))

-- name: tenant_gone
with a as (delete from event where tenant = :tenant), b as (delete from item where tenant = :tenant),
c as (delete from tag where tenant = :tenant), d as (delete from passage where tenant = :tenant),
e as (delete from posting where tenant = :tenant), f as (delete from term where tenant = :tenant),
g as (delete from sketch where tenant = :tenant), h as (delete from link where tenant = :tenant),
i as (delete from embedding where tenant = :tenant), j as (delete from outbox where tenant = :tenant),
k as (delete from outbox_done where tenant = :tenant), l as (delete from access where tenant = :tenant),
n as (delete from setting where tenant = :tenant),
m as (update head set seq = 0, passages = 0, terms = 0, at = '' where tenant = :tenant)
select 1

-- name: allowance_take
insert into allowance (tenant, key, minute, used) values (:tenant, :key, :minute, :amount)
on conflict (tenant, key, minute) do update set used = allowance.used + excluded.used returning used

-- name: allowance_old
delete from allowance where minute < :minute

-- name: listen
listen memolith

-- name: notify
select pg_notify('memolith', '')

-- name: links_of
select * from link where tenant = :tenant and source = :item
union
select * from link where tenant = :tenant and target = :item
order by seq

-- name: links_out
select * from link where tenant = :tenant and source in each(:ids) order by seq

-- name: links_in
select * from link where tenant = :tenant and target in each(:ids) order by seq

-- name: steps
select l.{here}, l.{there}, l.type, i.title from link l join item i on i.tenant = l.tenant and i.id = l.{there}
where l.tenant = :tenant and l.{here} in each(:frontier) and (:types = '[]' or l.type in each(:types)) {filters}

-- name: concept_tree
select a.area, a.topic, a.subtopic, sum(1 - i.forgotten), sum(i.version) from item i
cross join lateral jsonb_to_record(cast(i.attributes as jsonb)) as a (area text, topic text, subtopic text)
where i.tenant = :tenant and i.kind = 'concept' {filters} group by 1, 2, 3

-- name: filter_title
and strpos(lower(i.title), :title_part) > 0

-- name: where_is_or_lacks
and attribute(i.attributes, :name{n}) in ('null', cast(:value{n} as jsonb))

-- name: where_sure
and {certainty} between cast(cast(:value{n} as jsonb) ->> 0 as numeric) and cast(cast(:value{n} as jsonb) ->> 1 as numeric)

-- name: sort_certainty
{certainty} {way}, lower(i.title collate "C")

-- name: certainty
certainty(i.attributes, i.created_at)
