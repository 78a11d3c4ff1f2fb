-- Statements that read the same in every database, by name; the files beside this one have the others.
-- They stand together by subject and go on where a line is indented; `{filters}` is filled with fragments of the groups
-- `filter` and `where`. `in each(:x)` and `in numbers(:x)` take a JSON array.
-- Casts (`::bigint`) and locks (`for update`) are for PostgreSQL, index hints and `cross join` for SQLite.

-- statements: any_table
find: select * from {table} where {known}
add: insert into {table} ({columns}) values ({values})
change: update {table} set {changed} where {known}
put: insert into {table} ({columns}) values ({values}) on conflict ({key}) do update set {changed}
drop: delete from {table} where {known}
migration: create table if not exists migration (number integer primary key, name text not null, checksum text not null,
    oldest integer not null)

-- statements: log
head: select number, seq, passages, terms, at from head where tenant = :tenant
head_locked: select number, seq, passages, terms, at from head where tenant = :tenant and not frozen for update
head_new: insert into head (tenant, seq) values (:tenant, 0) on conflict (tenant) do nothing
events_of: select * from event indexed by event_stream where tenant = :tenant and stream = :stream order by version
events_after: select * from event where tenant = :tenant and seq > :seq order by seq limit :limit
streams: select distinct stream from event where tenant = :tenant and at > :after
log_state: select count(*), coalesce(min(seq), 0), coalesce(max(seq), 0) from event where tenant = :tenant
scrub: update event set data = '{}', key = null where tenant = :tenant and stream = :stream and type <> 'erased'
link_streams: select stream from event indexed by event_source where tenant = :tenant and type = 'linked'
    and data::jsonb ->> 'source' = :item union select stream from event indexed by event_target
    where tenant = :tenant and type = 'linked' and data::jsonb ->> 'target' = :item

-- statements: item
items: select * from item where tenant = :tenant and id in each(:ids)
all_items: select * from item where tenant = :tenant order by id
namesakes: select * from item where tenant = :tenant and kind = :kind and title = :title and title <> ''
    and forgotten = 0
cut_items: select row from item where tenant = :tenant and passages <> blocks
blocks_at: select count(distinct item << 20 | block) from passage not indexed
    where tenant = :tenant and id in numbers(:ids) and not (item << 20 | block) in numbers(:known)
passages_of_items: with i as materialized (select id, row, row << 20 as low, (row + 1) << 20 as high from item
        where tenant = :tenant and id in each(:ids)) select p.*, i.id as item_id from i
    cross join passage p not indexed on p.tenant = :tenant and p.id >= i.low and p.id < i.high order by i.row, p.id
passages_at: select p.id, p.tenant, p.item, p.ordinal, p.block, p.text, p.at, p.speaker, p.locator, p.attributes, i.row,
        i.tenant, i.id, i.kind, i.title, i.status, i.owner, i.audience, i.project, i.namespace, i.tags, i.attributes,
        i.version, i.seq, i.created_at, i.updated_at, i.blocks, i.passages, i.forgotten from passage p not indexed
    join item i on i.tenant = p.tenant and i.row = p.item where p.tenant = :tenant and p.id in numbers(:ids)
text_sizes: with i as materialized (select id, row << 20 as low, (row + 1) << 20 as high from item
        where tenant = :tenant and id in each(:ids)) select i.id, i.low, sum(length(p.text)), sum(octet_length(p.text))
    from i cross join passage p not indexed on p.tenant = :tenant and p.id >= i.low and p.id < i.high group by 1, 2
passages_all: select * from passage where tenant = :tenant
alike: select i.id from sketch s cross join item i on i.tenant = s.tenant and i.row = s.item where s.tenant = :tenant
    and s.mark in numbers(:marks) and (i.passages = :passages or :passages = 0) {filters} limit 20
empty_models: delete from item; delete from tag; delete from sketch; delete from passage; delete from link;
    delete from outbox where consumer = 'embed';
    insert into head (tenant, seq, at) select tenant, max(seq), max(at) from event where true
    group by tenant order by min(at) on conflict (tenant) do update
    set seq = excluded.seq, at = excluded.at, passages = 0, terms = 0

-- statements: link
all_links: select * from link where tenant = :tenant order by id
links: select * from link indexed by link_{here} where tenant = :tenant and {here} in each(:ids)
steps: select l.{here}, l.{there}, l.type, i.title from link l indexed by link_{here}
    cross join item i on i.tenant = l.tenant and i.id = l.{there}
    where l.tenant = :tenant and l.{here} in each(:frontier) and (:types = '[]' or l.type in each(:types)) {filters}

-- statements: listing
listing: select i.* from item i where i.tenant = :tenant {filters} order by {order} limit :limit offset :offset
listing_count: select count(*) from item i where i.tenant = :tenant {filters}
counts: select i.{column}, count(*) from item i where i.tenant = :tenant {filters} group by 1 order by 2 desc, 1
tag_counts: select t.tag, count(*) from tag t join item i on i.tenant = t.tenant and i.row = t.item
    where t.tenant = :tenant {filters} group by 1 order by 2 desc, 1
concept_tree: select i.attributes::jsonb ->> 'area', i.attributes::jsonb ->> 'topic',
    i.attributes::jsonb ->> 'subtopic', sum(1 - i.forgotten), sum(i.version)
    from item i where i.tenant = :tenant and i.kind = 'concept' {filters} group by 1, 2, 3
folders: select i.attributes::jsonb ->> 'folder', i.attributes::jsonb ->> 'importance_score', count(*)
    from item i where i.tenant = :tenant {filters} group by 1, 2
wide: select 1 from {table} where tenant = :tenant and {column} = :value limit 1 offset :most
owners: select (select min(owner) from item where tenant = :tenant),
    (select max(owner) from item where tenant = :tenant)
expiring: select 1 from item i where i.tenant = :tenant and i.attributes::jsonb ->> 'expires_at' is not null limit 1
speakers: with recursive s (name) as (select min(speaker) from passage where tenant = :tenant and speaker is not null
        union all select (select min(p.speaker) from passage p where p.tenant = :tenant and p.speaker > s.name)
        from s where s.name is not null) select name from s where name is not null limit 200

-- statements: derived
access_of: select item, count, last from access where tenant = :tenant and item in each(:ids)
access_again: update item set reads = a.count, last_read = a.last from access a
    where a.tenant = item.tenant and a.item = item.id
access_put: insert into access (tenant, item, count, last)
    select :tenant, :item, :count, :last where exists (select 1 from item where tenant = :tenant and id = :item)
    on conflict (tenant, item) do update set count = access.count + excluded.count,
    last = case when excluded.last > access.last then excluded.last else access.last end;
    update item set (reads, last_read) = (select count, last from access where tenant = :tenant and item = :item)
    where tenant = :tenant and id = :item
models: select model, count(*) from embedding where passage > 0 group by 1
vector_digests: select passage, digest from embedding where tenant = :tenant and model = :model
    and passage >= :item::bigint << 20 and passage < (:item::bigint + 1) << 20
vector_same: select v::text from embedding where tenant = :tenant and digest = :digest and model = :model limit 1
vector_put: insert into embedding (tenant, passage, model, digest, v) select :tenant, :passage, :model, :digest,
    :v::halfvec where exists (select 1 from passage where tenant = :tenant and id = :passage)
beginnings: select v.passage, v.v from item i join embedding v on v.tenant = i.tenant and v.passage = i.row << 20
    and v.model = :model where i.tenant = :tenant {filters}
vectors_of_others: delete from embedding where model <> :model
queue_missing: insert into outbox (tenant, seq, consumer, stream, status, due)
    select tenant, (select max(seq) from event e indexed by event_stream where e.tenant = i.tenant and e.stream = i.id),
    'embed', id, 'pending', :now from item i
    where (tenant, row) not in (select tenant, passage >> 20 from embedding where model = :model) on conflict do nothing
outbox_tenants: with recursive w (tenant) as (select min(tenant) from outbox where consumer = :consumer
        union all select (select min(o.tenant) from outbox o where o.consumer = :consumer and o.tenant > w.tenant)
        from w where w.tenant is not null) select tenant from w where tenant is not null order by random()
outbox_due: select seq, stream, attempts from outbox where tenant = :tenant and consumer = :consumer
    and status <> 'failed' and due <= :now and not exists (select 1 from head where tenant = :tenant and frozen)
    order by seq desc limit :limit for update skip locked
outbox_retry: update outbox set status = 'pending', attempts = 0, due = :now
    where consumer = :consumer and status = 'failed'
waiting: select count(*) from (select 1 from outbox where tenant = :tenant and consumer = :consumer limit :limit) w
waiting_any: select count(*) from (select 1 from outbox where consumer = :consumer limit :limit) w
outbox_errors: select tenant, stream, consumer, attempts, error from outbox
    where status = 'failed' order by due desc limit 20
outbox_counts: select consumer, case status when 'failed' then 'failed' else 'pending' end, count(*) from outbox
    where :tenant::text is null or tenant = :tenant group by 1, 2 union all
    select consumer, 'processed', sum(count) from outbox_done where :tenant::text is null or tenant = :tenant group by 1
outbox_count_done: insert into outbox_done (tenant, consumer, count) values (:tenant, :consumer, 1)
    on conflict (tenant, consumer) do update set count = outbox_done.count + 1

-- fragments: filter
visible: (i.owner = :caller_user or i.audience = 'org'
    or (i.audience = 'project' and i.project = cast(:caller_project as text)))
kind: i.kind = :kinds::jsonb ->> 0
kinds: i.kind in each(:kinds)
statuses: i.status in each(:statuses)
forgotten: i.forgotten = :forgotten::integer
since: i.created_at >= :since
since_passage: p.at >= :since
until: i.created_at <= :until
until_passage: p.at <= :until
projects: i.project in each(:projects)
namespaces: i.namespace in each(:namespaces)
topics: i.attributes::jsonb ->> 'topic_id' in each(:topics)
owner: i.owner = :owner
ids: i.id in each(:ids)
titles: i.title in each(:titles)
speakers_passage: p.speaker in each(:speakers)
speakers: i.row in (select s.item from passage s where s.tenant = :tenant and s.speaker in each(:speakers))
tags_all: i.row in (select t.item from tag t where t.tenant = :tenant and t.tag in each(:tags_all)
    group by t.item having count(*) = json_array_length(:tags_all::json))
unexpired: coalesce(i.attributes::jsonb ->> 'expires_at', '~') collate "C" > :now

-- fragments: where
eq: attribute(i.attributes, :name{n}) is not distinct from :value{n}::jsonb
ne: attribute(i.attributes, :name{n}) is distinct from :value{n}::jsonb
tagged: exists (select 1 from tag t where t.tenant = :tenant and t.item = i.row and t.tag in each(:value{n}))
linked: i.id in (with s as materialized (select s.id from item s
        where s.tenant = :tenant and s.kind = 'entity' and s.forgotten = 0 {seen}
        and (s.title in each(:value{n}) or lower(s.title) in each(:value{n}) or exists (select 1
            from jsonb_array_elements_text(s.attributes::jsonb -> 'aliases') where lower(value) in each(:value{n}))))
    select l.target from s join link l on l.source = s.id where l.tenant = :tenant and l.type = :name{n})
sure: {certainty} between (:value{n}::jsonb ->> 0)::numeric and (:value{n}::jsonb ->> 1)::numeric

-- fragments: sort
created_at: i.seq
updated_at: i.updated_at
access_count: i.reads
last_accessed: i.last_read
title: lower(i.title collate "C")
certainty: {certainty} {way}, lower(i.title collate "C")
