-- Every statement of the SQLite store, by name. `{filters}` is filled with the fragments named filter_*.

-- name: head
select number, seq, passages, terms, at from head where tenant = :tenant

-- name: head_new
insert into head (tenant, number, seq) select :tenant, coalesce(max(number), 0) + 1, 0 from head

-- name: head_set
update head set seq = :seq, passages = :passages, terms = :terms, at = :at where tenant = :tenant

-- name: tenants
select tenant from (select tenant, number from head union select distinct tenant, null from event)
group by tenant order by coalesce(max(number), 1e9), tenant

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
select * from event where tenant = :tenant and seq > :seq order by seq limit :limit

-- name: streams
select distinct stream from event where tenant = :tenant order by stream

-- name: log_state
select count(*), coalesce(min(seq), 0), coalesce(max(seq), 0) from event where tenant = :tenant

-- name: orphans
select 'passage ' || id from passage where item not in (select row from item)
union all
select 'tag ' || tag from tag where item not in (select row from item)

-- name: streams_since
select distinct stream from event where tenant = :tenant and at > :at

-- name: link_streams
select distinct stream from event where tenant = :tenant and type = 'linked'
and (data ->> 'source' = :item or data ->> 'target' = :item)

-- name: scrub
update event set data = '{}', key = null where tenant = :tenant and stream = :stream and type <> 'erased'

-- name: item
select * from item where tenant = :tenant and id = :id

-- name: items
select * from item where tenant = :tenant and id in (select value from json_each(:ids))

-- name: items_by_row
select * from item where row in (select value from json_each(:rows))

-- name: all_items
select * from item where tenant = :tenant order by id

-- name: item_new
insert into item (tenant, id, kind, title, status, owner, audience, project, namespace, tags, attributes, version, seq,
    created_at, updated_at, blocks, passages, forgotten)
values (:tenant, :id, :kind, :title, :status, :owner, :audience, :project, :namespace, :tags, :attributes, :version,
    :seq, :created_at, :updated_at, :blocks, :passages, :forgotten)

-- name: item_set
update item set title = :title, status = :status, audience = :audience, project = :project, namespace = :namespace,
    tags = :tags, attributes = :attributes, version = :version, updated_at = :updated_at, blocks = :blocks,
    passages = :passages, forgotten = :forgotten
where tenant = :tenant and id = :id

-- name: item_drop
delete from item where tenant = :tenant and id = :id

-- name: item_row
select row from item where tenant = :tenant and id = :id

-- name: tag_add
insert into tag (tenant, tag, item) values (:tenant, :tag, :item)

-- name: tags_drop
delete from tag where item = :item

-- name: tags_of
select t.tag from tag t join item i on i.row = t.item
where t.tenant = :tenant and i.tenant = :tenant and i.id = :id order by t.tag

-- name: empty_models
delete from item;
delete from tag;
delete from sketch;
delete from passage;
delete from link;
update vector set passage = -id where passage > 0;
delete from outbox where consumer = 'embed';
delete from head;
insert into head (tenant, number, seq, at)
select tenant, row_number() over (order by min(at), tenant desc), max(seq), max(at) from event group by tenant;
insert into passage_fts (passage_fts) values ('delete-all')

-- name: instances
create virtual table if not exists temp.instance using fts5vocab (main, passage_fts, instance)

-- name: instances_all
select term, doc, col, offset from temp.instance

-- name: passage_ids
select id from passage

-- name: passages_all
select p.*, i.id as item_id from passage p join item i on i.row = p.item where p.tenant = :tenant order by p.item

-- name: passages
select p.*, :id as item_id from item i join passage p on p.id >= i.row << 20 and p.id < (i.row + 1) << 20
where i.tenant = :tenant and i.id = :id and p.tenant = :tenant order by p.id

-- name: passages_of_items
select p.*, i.id as item_id
from json_each(:ids) wanted cross join item i on i.tenant = :tenant and i.id = wanted.value
cross join passage p on p.id >= i.row << 20 and p.id < (i.row + 1) << 20
order by i.row, p.id

-- name: passages_from
select * from passage where id >= (:item << 20) + :ordinal and id < (:item + 1) << 20 order by id

-- name: passage_add
insert into passage (id, tenant, item, ordinal, block, text, at, speaker, locator, attributes, digest)
values (:id, :tenant, :item, :ordinal, :block, :text, :at, :speaker, :locator, :attributes, :digest)

-- name: passage_drop
delete from passage where id = :id

-- name: text_bytes
select coalesce(sum(octet_length(p.text)), 0)
from item i join passage p on p.id >= i.row << 20 and p.id < (i.row + 1) << 20
where i.tenant = :tenant and i.id = :id

-- name: passage_same
select i.id from passage p cross join item i on i.row = p.item
where p.tenant = :tenant and p.digest = :digest and p.ordinal = 0 and i.passages = :passages {filters}
order by i.seq limit 20

-- name: sketch_add
insert or ignore into sketch (tenant, mark, item) values (:tenant, :mark, :item)

-- name: sketch_drop
delete from sketch where tenant = :tenant and mark = :mark and item = :item

-- name: sketches
select item, mark from sketch where tenant = :tenant

-- name: alike
select distinct i.id from json_each(:marks) wanted
cross join sketch s on s.tenant = :tenant and s.mark = wanted.value
cross join item i on i.row = s.item
where i.tenant = :tenant {filters} limit 5

-- name: fts_add
insert into passage_fts (rowid, body, extra, scope) values (:id, :body, :extra, :scope)

-- name: fts_drop
insert into passage_fts (passage_fts, rowid, body, extra, scope) values ('delete', :id, :body, :extra, :scope)

-- name: frequency
select doc from passage_terms where term = :term

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
select * from link where tenant = :tenant and source in (select value from json_each(:ids)) order by seq

-- name: links_in
select * from link where tenant = :tenant and target in (select value from json_each(:ids)) order by seq

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
select t.tag, count(*) from tag t join item i on i.row = t.item
where t.tenant = :tenant and i.tenant = :tenant {filters} group by 1 order by 2 desc, 1

-- name: search_text
select f.rowid, -f.rank from passage_fts f join item i on i.row = f.rowid >> 20
where f.passage_fts match :match and i.tenant = :tenant {filters}
order by f.rank limit :limit

-- name: search_text_passage
select f.rowid, -f.rank from passage_fts f join passage p on p.id = f.rowid join item i on i.row = p.item
where f.passage_fts match :match and i.tenant = :tenant {filters}
order by f.rank limit :limit

-- name: passing
select v.id, v.passage from vector v cross join item i on i.row = v.passage >> 20
where v.id in (select value from json_each(:ids)) and i.tenant = :tenant and v.model = :model {filters}

-- name: passing_passage
select v.id, v.passage from vector v cross join passage p on p.id = v.passage cross join item i on i.row = p.item
where v.id in (select value from json_each(:ids)) and i.tenant = :tenant and v.model = :model {filters}

-- name: passing_all
select v.id from item i join passage p on p.id >= i.row << 20 and p.id < (i.row + 1) << 20
join vector v on v.passage = p.id and v.model = :model
where i.tenant = :tenant {filters}

-- name: wide_kind
select 1 from item where tenant = :tenant and kind = :value limit 1 offset :most

-- name: wide_tag
select 1 from tag where tenant = :tenant and tag = :value limit 1 offset :most

-- name: wide_project
select 1 from item where tenant = :tenant and project = :value limit 1 offset :most

-- name: wide_namespace
select 1 from item where tenant = :tenant and namespace = :value limit 1 offset :most

-- name: owners
select (select min(owner) from item where tenant = :tenant), (select max(owner) from item where tenant = :tenant)

-- name: passages_at
select p.*, i.id as item_id from passage p join item i on i.row = p.item
where p.id in (select value from json_each(:ids))

-- name: speakers
with recursive speaker (name) as (
    select min(speaker) from passage where tenant = :tenant and speaker is not null
    union all
    select (select min(speaker) from passage where tenant = :tenant and speaker > name) from speaker
    where name is not null
    limit :limit
)
select name from speaker where name is not null

-- name: vectors_of
select passage, row from vector where model = :model and passage in (select value from json_each(:ids))

-- name: vectors_drop
delete from vector where passage = :passage returning id

-- name: slot_change
insert into slot_change (vector, item) values (:vector, :item)

-- name: slot_marks
select coalesce((select seq from sqlite_sequence where name = 'vector'), 0),
       coalesce((select seq from sqlite_sequence where name = 'slot_change'), 0)

-- name: slot_changes
select seq, vector, item from slot_change where seq > :seq order by seq

-- name: slot_changes_prune
delete from slot_change where seq <= :seq

-- name: slots
select v.id, p.id, i.row, p.at, i.tenant, i.kind, i.status, i.owner, i.audience, i.project, i.namespace, i.forgotten,
       v.row
from vector v join passage p on p.id = v.passage join item i on i.row = p.item
where v.id > :after and v.id <= :upto and v.model = :model order by v.id

-- name: slot_items
select i.row, i.tenant, i.kind, i.status, i.owner, i.audience, i.project, i.namespace, i.forgotten from item i
where i.row in (select value from json_each(:rows))

-- name: vector_count
select count(*) from vector where model = :model

-- name: vector_put
insert into vector (tenant, passage, model, digest, row)
select :tenant, :passage, :model, :digest, :row where exists (select 1 from passage where id = :passage)

-- name: vector_same
select row from vector where digest = :digest and model = :model limit 1

-- name: vector_digests
select passage, digest from vector
where passage >= :item << 20 and passage < (:item + 1) << 20 and model = :model

-- name: vector_drop
delete from vector where passage = :passage and model = :model returning id

-- name: vectors_orphaned
delete from vector where passage < 0

-- name: queue_missing
insert or ignore into outbox (tenant, seq, consumer, stream, status, due)
select i.tenant, (select max(seq) from event e where e.tenant = i.tenant and e.stream = i.id), 'embed', i.id, 'pending',
       :now
from item i where not exists (select 1 from vector v
    where v.passage >= i.row << 20 and v.passage < (i.row + 1) << 20 and v.model = :model)

-- name: vectors_of_others
delete from vector where model <> :model

-- name: models
select model, count(*) from vector where passage > 0 group by 1

-- name: items_tagged
select item from tag where tenant = :tenant and tag in (select value from json_each(:tags))
group by item having count(*) >= :least limit :limit

-- name: access_put
insert into access (tenant, item, count, last)
select :tenant, :item, :count, :last where exists (select 1 from item where tenant = :tenant and id = :item)
on conflict (tenant, item) do update set count = count + excluded.count, last = max(last, excluded.last)

-- name: access_of
select item, count, last from access where tenant = :tenant and item in (select value from json_each(:ids))

-- name: access_most
select a.item from access a cross join item i on i.tenant = a.tenant and i.id = a.item
where a.tenant = :tenant {filters} order by a.count desc, a.last desc limit 1

-- name: access_drop
delete from access where tenant = :tenant and item = :item

-- name: outbox_add
insert or replace into outbox (tenant, seq, consumer, stream, status, due)
values (:tenant, :seq, :consumer, :stream, 'pending', :due)

-- name: outbox_due
select * from (
    select tenant, seq, stream, attempts from outbox
    where consumer = :consumer and status = 'pending' and due <= :now and (:tenant is null or tenant = :tenant)
    order by seq desc limit :limit)
union all
select * from (
    select tenant, seq, stream, attempts from outbox
    where consumer = :consumer and status = 'leased' and due <= :now and (:tenant is null or tenant = :tenant)
    order by seq desc limit :limit)
limit :limit

-- name: outbox_waiting
select count(*) from (select 1 from outbox where tenant = :tenant and consumer = :consumer limit :limit)

-- name: outbox_waiting_any
select count(*) from (select 1 from outbox where consumer = :consumer limit :limit)

-- name: outbox_lease
update outbox set status = 'leased', due = :until, attempts = attempts + 1
where tenant = :tenant and seq = :seq and consumer = :consumer

-- name: outbox_done
delete from outbox where tenant = :tenant and seq = :seq and consumer = :consumer

-- name: outbox_count_done
insert into outbox_done (tenant, consumer, count) values (:tenant, :consumer, 1)
on conflict (tenant, consumer) do update set count = count + 1

-- name: outbox_later
update outbox set status = :status, due = :due, error = :error
where tenant = :tenant and seq = :seq and consumer = :consumer

-- name: outbox_retry
update outbox set status = 'pending', attempts = 0, due = :now where consumer = :consumer and status = 'failed'

-- name: outbox_counts
select consumer, case status when 'failed' then 'failed' else 'pending' end, count(*) from outbox
where :tenant is null or tenant = :tenant group by 1, 2

-- name: outbox_counts_done
select consumer, 'processed', sum(count) from outbox_done where :tenant is null or tenant = :tenant group by 1

-- name: outbox_drop
delete from outbox where tenant = :tenant and stream = :stream

-- name: outbox_errors
select tenant, stream, consumer, attempts, error from outbox where status = 'failed' order by due desc limit 20

-- name: key_add
insert into client_key (id, digest, name, tenant, user, scopes, created_at, expires_at, last_used, revoked)
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

-- name: setting_all
select name, value from setting where tenant = :tenant order by name

-- name: setting_put
insert into setting (tenant, name, value) values (:tenant, :name, :value)
on conflict (tenant, name) do update set value = excluded.value

-- name: vault_all
select name, value from vault where tenant = :tenant order by name

-- name: vault_put
insert into vault (tenant, name, value) values (:tenant, :name, :value)
on conflict (tenant, name) do update set value = excluded.value

-- name: filter_visible
and (i.owner = :caller_user or i.audience = 'org' or (i.audience = 'project' and i.project = :caller_project))

-- name: filter_kind
and i.kind = :kind

-- name: filter_kinds
and i.kind in (select value from json_each(:kinds))

-- name: filter_statuses
and i.status in (select value from json_each(:statuses))

-- name: filter_forgotten
and i.forgotten = :forgotten

-- name: filter_projects
and i.project in (select value from json_each(:projects))

-- name: filter_namespaces
and i.namespace in (select value from json_each(:namespaces))

-- name: filter_topics
and i.attributes ->> 'topic_id' in (select value from json_each(:topics))

-- name: filter_owner
and i.owner = :owner

-- name: filter_ids
and i.id in (select value from json_each(:ids_only))

-- name: filter_tags_all
and (select count(*) from tag t where t.tenant = :tenant and t.item = i.row
     and t.tag in (select value from json_each(:tags_all))) = json_array_length(:tags_all)

-- name: filter_tags_all_item
and i.row in (select t.item from tag t where t.tenant = :tenant and t.tag in (select value from json_each(:tags_all))
              group by t.item having count(*) = json_array_length(:tags_all))

-- name: filter_tags_any
and exists (select 1 from tag t where t.tenant = :tenant and t.item = i.row
            and t.tag in (select value from json_each(:tags_any)))

-- name: filter_tags_none
and not exists (select 1 from tag t where t.tenant = :tenant and t.item = i.row
                and t.tag in (select value from json_each(:tags_none)))

-- name: filter_since_item
and i.created_at >= :since

-- name: filter_until_item
and i.created_at <= :until

-- name: filter_since_passage
and p.at >= :since

-- name: filter_until_passage
and p.at <= :until

-- name: filter_speakers_passage
and p.speaker in (select value from json_each(:speakers))

-- name: filter_speakers_item
and exists (select 1 from passage s where s.id >= i.row << 20 and s.id < (i.row + 1) << 20
            and s.speaker in (select value from json_each(:speakers)))

-- name: where_eq
and json_extract(i.attributes, :name{n}) is :value{n}

-- name: where_ne
and json_extract(i.attributes, :name{n}) is not :value{n}

-- name: where_lt
and json_extract(i.attributes, :name{n}) < :value{n}
and (typeof(json_extract(i.attributes, :name{n})) = 'text') = (typeof(:value{n}) = 'text')

-- name: where_le
and json_extract(i.attributes, :name{n}) <= :value{n}
and (typeof(json_extract(i.attributes, :name{n})) = 'text') = (typeof(:value{n}) = 'text')

-- name: where_gt
and json_extract(i.attributes, :name{n}) > :value{n}
and (typeof(json_extract(i.attributes, :name{n})) = 'text') = (typeof(:value{n}) = 'text')

-- name: where_ge
and json_extract(i.attributes, :name{n}) >= :value{n}
and (typeof(json_extract(i.attributes, :name{n})) = 'text') = (typeof(:value{n}) = 'text')

-- name: where_glob
and json_extract(i.attributes, :name{n}) glob :value{n}

-- name: where_in
and json_extract(i.attributes, :name{n}) in (select value from json_each(:value{n}))

-- name: where_under
and (json_extract(i.attributes, :name{n}) = rtrim(:value{n}, '/')
     or substr(json_extract(i.attributes, :name{n}), 1, length(rtrim(:value{n}, '/')) + 1) = rtrim(:value{n}, '/') || '/')

-- name: where_has
and json_type(i.attributes, :name{n}) = 'array' and exists (select 1 from json_each(i.attributes, :name{n}) where value = :value{n})

-- name: sort_created_at
i.seq

-- name: sort_updated_at
i.updated_at

-- name: sort_title
i.title collate nocase

-- name: sort_access_count
coalesce((select a.count from access a where a.tenant = i.tenant and a.item = i.id), 0)

-- name: sort_last_accessed
coalesce((select a.last from access a where a.tenant = i.tenant and a.item = i.id), '')
