-- Every statement of the PostgreSQL store, by name. `{filters}` is filled with the fragments named filter_*.
-- `:mine` is the tenant that the reader belongs to.

-- name: begin_reading
begin isolation level repeatable read read only; set local role memolith_run; set local statement_timeout = {timeout};
set local hnsw.iterative_scan = relaxed_order; set local hnsw.ef_search = 400;
select set_config('memolith.tenant', {tenant}, true), set_config('memolith.all', {all}, true)

-- name: begin_writing
begin isolation level read committed; set local role memolith_run; set local statement_timeout = {timeout};
set local lock_timeout = {wait}; set local synchronous_commit = on;
select set_config('memolith.tenant', {tenant}, true), set_config('memolith.all', {all}, true)

-- name: versions
select current_setting('server_version_num')::integer, current_setting('server_version'),
       (select extversion from pg_extension where extname = 'vector'), to_regclass('migration') is not null,
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

-- name: head
select number, seq, passages, terms, at from head where tenant = :tenant

-- name: head_locked
select number, seq, passages, terms, at from head where tenant = :tenant and not frozen for update

-- name: head_new
insert into head (tenant, seq) values (:tenant, 0) on conflict (tenant) do nothing

-- name: head_set
update head set seq = :seq, passages = :passages, terms = :terms, at = :at where tenant = :tenant

-- name: head_freeze
update head set frozen = :frozen where tenant = :tenant

-- name: tenants
select tenant from head where seq > 0 order by number

-- name: event_add
insert into event (tenant, seq, stream, version, type, data, actor, at, key)
values (:tenant, :seq, :stream, :version, :type, :data, :actor, :at, :key)

-- name: events_of
select * from event where tenant = :tenant and stream = :stream order by version

-- name: event_at
select * from event where tenant = :tenant and seq = :seq

-- name: event_by_key
select * from event where tenant = :tenant and actor = :actor and key = :key

-- name: events_after
select * from event where tenant = :tenant and seq > :seq order by seq limit nullif(cast(:limit as bigint), -1)

-- name: streams
select distinct stream from event where tenant = :tenant order by stream

-- name: log_state
select count(*), coalesce(min(seq), 0), coalesce(max(seq), 0) from event where tenant = :tenant

-- name: orphans
select 'passage ' || id from passage p where tenant = :tenant
and not exists (select 1 from item i where i.tenant = p.tenant and i.row = p.item)
union all
select 'tag ' || tag from tag t where tenant = :tenant
and not exists (select 1 from item i where i.tenant = t.tenant and i.row = t.item)

-- name: streams_since
select distinct stream from event where tenant = :tenant and at > :at

-- name: link_streams
select stream from event where tenant = :tenant and type = 'linked' and cast(data as jsonb) ->> 'source' = :item
union
select stream from event where tenant = :tenant and type = 'linked' and cast(data as jsonb) ->> 'target' = :item

-- name: scrub
update event set data = '{}', key = null where tenant = :tenant and stream = :stream and type <> 'erased'

-- name: item
select * from item where tenant = :tenant and id = :id

-- name: items
select * from item where tenant = :tenant and id = any(array(select jsonb_array_elements_text(cast(:ids as jsonb))))

-- name: items_by_row
select * from item where tenant = :mine
and row = any(array(select cast(value as bigint) from jsonb_array_elements_text(cast(:rows as jsonb))))

-- name: all_items
select * from item where tenant = :tenant order by id

-- name: item_new
insert into item (row, tenant, id, kind, title, status, owner, audience, project, namespace, tags, attributes, version,
    seq, created_at, updated_at, blocks, passages, forgotten)
values (:seq, :tenant, :id, :kind, :title, :status, :owner, :audience, :project, :namespace, :tags, :attributes,
    :version, :seq, :created_at, :updated_at, :blocks, :passages, :forgotten)

-- name: item_set
update item set title = :title, status = :status, audience = :audience, project = :project, namespace = :namespace,
    tags = :tags, attributes = :attributes, version = :version, updated_at = :updated_at, blocks = :blocks,
    passages = :passages, forgotten = :forgotten
where tenant = :tenant and id = :id

-- name: item_drop
delete from item where tenant = :tenant and id = :id

-- name: item_row
select row from item where tenant = :tenant and id = :id

-- name: item_moved
select 1 where false

-- name: tags_add
insert into tag (tenant, tag, item) select :tenant, value, :item from jsonb_array_elements_text(cast(:tags as jsonb))

-- name: tags_drop
delete from tag where tenant = :tenant and item = :item

-- name: tags_of
select t.tag from tag t join item i on i.tenant = t.tenant and i.row = t.item
where t.tenant = :tenant and i.id = :id order by t.tag

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

-- name: passages_all
select p.*, i.id as item_id from passage p join item i on i.tenant = p.tenant and i.row = p.item
where p.tenant = :tenant order by p.item

-- name: passages
select p.*, i.id as item_id from item i
join passage p on p.tenant = i.tenant and p.id >= i.row << 20 and p.id < (i.row + 1) << 20
where i.tenant = :tenant and i.id = :id order by p.id

-- name: passages_of_items
select p.*, i.id as item_id from item i
join passage p on p.tenant = i.tenant and p.id >= i.row << 20 and p.id < (i.row + 1) << 20
where i.tenant = :tenant and i.id = any(array(select jsonb_array_elements_text(cast(:ids as jsonb))))
order by i.row, p.id

-- name: passages_from
select * from passage where tenant = :tenant and id >= (cast(:item as bigint) << 20) + :ordinal
and id < (cast(:item as bigint) + 1) << 20 order by id

-- name: passages_at
select p.*, i.id as item_id from passage p join item i on i.tenant = p.tenant and i.row = p.item
where p.tenant = :mine
and p.id = any(array(select cast(value as bigint) from jsonb_array_elements_text(cast(:ids as jsonb))))

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

-- name: text_bytes
select coalesce(sum(octet_length(p.text)), 0) from item i
join passage p on p.tenant = i.tenant and p.id >= i.row << 20 and p.id < (i.row + 1) << 20
where i.tenant = :tenant and i.id = :id

-- name: passage_same
select i.id from passage p join item i on i.tenant = p.tenant and i.row = p.item
where p.tenant = :tenant and p.digest = :digest and p.ordinal = 0 and i.passages = :passages {filters}
order by i.seq limit 20

-- name: sketch_add
insert into sketch (tenant, mark, item)
select :tenant, cast(value as bigint), :item from jsonb_array_elements_text(cast(:marks as jsonb))
on conflict do nothing

-- name: sketch_drop
delete from sketch where tenant = :tenant and item = :item
and mark = any(array(select cast(value as bigint) from jsonb_array_elements_text(cast(:marks as jsonb))))

-- name: sketches
select item, mark from sketch where tenant = :tenant

-- name: alike
select distinct i.id from sketch s join item i on i.tenant = s.tenant and i.row = s.item
where s.tenant = :tenant
and s.mark = any(array(select cast(value as bigint) from jsonb_array_elements_text(cast(:marks as jsonb)))) {filters}
limit 5

-- name: frequencies
select term, passages from term where tenant = :tenant
and term = any(array(select jsonb_array_elements_text(cast(:terms as jsonb))))

-- name: link
select * from link where tenant = :tenant and id = :id

-- name: link_between
select * from link where tenant = :tenant and source = :source and target = :target and type = :type

-- name: links_of
select * from link where tenant = :tenant and source = :item
union
select * from link where tenant = :tenant and target = :item
order by seq

-- name: links_out
select * from link where tenant = :tenant
and source = any(array(select jsonb_array_elements_text(cast(:ids as jsonb)))) order by seq

-- name: links_in
select * from link where tenant = :tenant
and target = any(array(select jsonb_array_elements_text(cast(:ids as jsonb)))) order by seq

-- name: all_links
select * from link where tenant = :tenant order by id

-- name: link_put
insert into link (tenant, id, source, target, type, strength, attributes, version, seq, created_at, updated_at)
values (:tenant, :id, :source, :target, :type, :strength, :attributes, :version, :seq, :created_at, :updated_at)
on conflict (tenant, id) do update set strength = excluded.strength, attributes = excluded.attributes,
    version = excluded.version, updated_at = excluded.updated_at

-- name: link_drop
delete from link where tenant = :tenant and id = :id

-- name: listing
select i.* from item i where i.tenant = :tenant {filters} order by {order} limit :limit offset :offset

-- name: listing_count
select count(*) from item i where i.tenant = :tenant {filters}

-- name: counts
select i.{column}, count(*) from item i where i.tenant = :tenant {filters} group by 1 order by 2 desc, 1

-- name: tag_counts
select t.tag, count(*) from tag t join item i on i.tenant = t.tenant and i.row = t.item
where t.tenant = :tenant {filters} group by 1 order by 2 desc, 1

-- name: search_text
select m.id, m.score
from matching(cast(:match as tsquery), array(select jsonb_array_elements_text(cast(:words as jsonb)))) m
join item i on i.tenant = :tenant and i.row = m.id >> 20
where true {filters} order by m.score desc, m.id limit :limit

-- name: search_text_passage
select m.id, m.score
from matching(cast(:match as tsquery), array(select jsonb_array_elements_text(cast(:words as jsonb)))) m
join passage p on p.tenant = :tenant and p.id = m.id join item i on i.tenant = :tenant and i.row = p.item
where true {filters} order by m.score desc, m.id limit :limit

-- name: nearest
select v.passage, 1 - (cast(v.v as halfvec({dimension})) <=> cast(:query as halfvec({dimension}))) from embedding v
join item i on i.tenant = v.tenant and i.row = v.passage >> 20
where v.tenant = :tenant and v.model = :model {filters}
order by cast(v.v as halfvec({dimension})) <=> cast(:query as halfvec({dimension})) limit :limit

-- name: nearest_passage
select v.passage, 1 - (cast(v.v as halfvec({dimension})) <=> cast(:query as halfvec({dimension}))) from embedding v
join passage p on p.tenant = v.tenant and p.id = v.passage join item i on i.tenant = v.tenant and i.row = p.item
where v.tenant = :tenant and v.model = :model {filters}
order by cast(v.v as halfvec({dimension})) <=> cast(:query as halfvec({dimension})) limit :limit

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
and passage = any(array(select cast(value as bigint) from jsonb_array_elements_text(cast(:ids as jsonb))))

-- name: wide
select 1 from item where tenant = :tenant and {column} = :value limit 1 offset :most

-- name: wide_tag
select 1 from tag where tenant = :tenant and tag = :value limit 1 offset :most

-- name: owners
select (select min(owner) from item where tenant = :tenant), (select max(owner) from item where tenant = :tenant)

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
from item i where not exists (select 1 from embedding v where v.tenant = i.tenant and v.model = :model
    and v.passage >= i.row << 20 and v.passage < (i.row + 1) << 20)
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

-- name: access_of
select item, count, last from access where tenant = :tenant
and item = any(array(select jsonb_array_elements_text(cast(:ids as jsonb))))

-- name: access_drop
delete from access where tenant = :tenant and item = :stream

-- name: outbox_add
insert into outbox (tenant, seq, consumer, stream, status, due)
values (:tenant, :seq, :consumer, :stream, 'pending', :due)
on conflict (tenant, seq, consumer) do update set status = 'pending', attempts = 0, due = excluded.due, error = null

-- name: outbox_tenants
with recursive waiting (tenant) as (
    select min(tenant) from outbox where consumer = :consumer
    union all
    select (select min(o.tenant) from outbox o where o.consumer = :consumer and o.tenant > waiting.tenant) from waiting
    where waiting.tenant is not null
)
select tenant from waiting where tenant is not null order by random()

-- name: outbox_due
select seq, stream, attempts from outbox
where tenant = :tenant and consumer = :consumer and status in ('pending', 'leased') and due <= :now
order by status desc, seq desc limit :limit for update skip locked

-- name: outbox_waiting
select count(*) from (select 1 from outbox where tenant = :tenant and consumer = :consumer limit :limit) w

-- name: outbox_waiting_any
select count(*) from (select 1 from outbox where consumer = :consumer limit :limit) w

-- name: outbox_lease
update outbox set status = 'leased', due = :until, attempts = attempts + 1
where tenant = :tenant and seq = :seq and consumer = :consumer

-- name: outbox_done
delete from outbox where tenant = :tenant and seq = :seq and consumer = :consumer

-- name: outbox_count_done
insert into outbox_done (tenant, consumer, count) values (:tenant, :consumer, 1)
on conflict (tenant, consumer) do update set count = outbox_done.count + 1

-- name: outbox_later
update outbox set status = :status, due = :due, error = :error
where tenant = :tenant and seq = :seq and consumer = :consumer

-- name: outbox_retry
update outbox set status = 'pending', attempts = 0, due = :now where consumer = :consumer and status = 'failed'

-- name: outbox_counts
select consumer, case status when 'failed' then 'failed' else 'pending' end, count(*) from outbox
where cast(:tenant as text) is null or tenant = :tenant group by 1, 2

-- name: outbox_counts_done
select consumer, 'processed', sum(count) from outbox_done
where cast(:tenant as text) is null or tenant = :tenant group by 1

-- name: outbox_drop
delete from outbox where tenant = :tenant and stream = :stream

-- name: outbox_errors
select tenant, stream, consumer, attempts, error from outbox where status = 'failed' order by due desc limit 20

-- name: key_add
insert into client_key (id, digest, name, tenant, "user", scopes, created_at, expires_at, last_used, revoked)
values (:id, :digest, :name, :tenant, :user, :scopes, :created_at, :expires_at, :last_used, :revoked)

-- name: key_by_digest
select * from client_key where digest = :digest

-- name: keys
select * from client_key order by created_at, id

-- name: key_revoke
update client_key set revoked = 1 where id = :id returning id

-- name: key_used
update client_key set last_used = :at where id = :id

-- name: setting
select value from setting where tenant = :tenant and name = :name

-- name: filter_visible
and (i.owner = :caller_user or i.audience = 'org'
     or (i.audience = 'project' and i.project = cast(:caller_project as text)))

-- name: filter_kinds
and i.kind = any(array(select jsonb_array_elements_text(cast(:kinds as jsonb))))

-- name: filter_statuses
and i.status = any(array(select jsonb_array_elements_text(cast(:statuses as jsonb))))

-- name: filter_forgotten
and i.forgotten = :forgotten

-- name: filter_projects
and i.project = any(array(select jsonb_array_elements_text(cast(:projects as jsonb))))

-- name: filter_namespaces
and i.namespace = any(array(select jsonb_array_elements_text(cast(:namespaces as jsonb))))

-- name: filter_owner
and i.owner = :owner

-- name: filter_ids
and i.id = any(array(select jsonb_array_elements_text(cast(:ids_only as jsonb))))

-- name: filter_tags_all
and i.row in (select t.item from tag t where t.tenant = :tenant
              and t.tag = any(array(select jsonb_array_elements_text(cast(:tags_all as jsonb))))
              group by t.item having count(*) = jsonb_array_length(cast(:tags_all as jsonb)))

-- name: filter_tags_any
and i.row in (select t.item from tag t where t.tenant = :tenant
              and t.tag = any(array(select jsonb_array_elements_text(cast(:tags_any as jsonb)))))

-- name: filter_tags_none
and i.row not in (select t.item from tag t where t.tenant = :tenant
                  and t.tag = any(array(select jsonb_array_elements_text(cast(:tags_none as jsonb)))))

-- name: filter_since_item
and i.created_at >= :since

-- name: filter_until_item
and i.created_at <= :until

-- name: filter_since_passage
and p.at >= :since

-- name: filter_until_passage
and p.at <= :until

-- name: filter_speakers_passage
and p.speaker = any(array(select jsonb_array_elements_text(cast(:speakers as jsonb))))

-- name: filter_speakers_item
and exists (select 1 from passage s where s.tenant = :tenant and s.id >= i.row << 20 and s.id < (i.row + 1) << 20
            and s.speaker = any(array(select jsonb_array_elements_text(cast(:speakers as jsonb)))))

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

-- name: sort_created_at
i.seq

-- name: sort_updated_at
i.updated_at

-- name: sort_title
lower(i.title collate "C")

-- name: sort_access_count
coalesce((select a.count from access a where a.tenant = i.tenant and a.item = i.id), 0)

-- name: sort_last_accessed
coalesce((select a.last from access a where a.tenant = i.tenant and a.item = i.id), '')
