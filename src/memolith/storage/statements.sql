-- Statements that read the same in every database, by name; the files beside this one have the others.
-- `{filters}` is filled with the fragments named filter_*; `in each(:x)` and `in numbers(:x)` take a JSON array.

-- name: head
select number, seq, passages, terms, at from head where tenant = :tenant

-- name: head_set
update head set seq = :seq, passages = :passages, terms = :terms, at = :at where tenant = :tenant

-- name: event_add
insert into event (tenant, seq, stream, version, type, data, actor, at, key)
values (:tenant, :seq, :stream, :version, :type, :data, :actor, :at, :key)

-- name: events_of
select * from event where tenant = :tenant and stream = :stream order by version

-- name: event_at
select * from event where tenant = :tenant and seq = :seq

-- name: event_by_key
select * from event where tenant = :tenant and actor = :actor and key = :key

-- name: streams
select distinct stream from event where tenant = :tenant order by stream

-- name: log_state
select count(*), coalesce(min(seq), 0), coalesce(max(seq), 0) from event where tenant = :tenant

-- name: streams_since
select distinct stream from event where tenant = :tenant and at > :at

-- name: scrub
update event set data = '{}', key = null where tenant = :tenant and stream = :stream and type <> 'erased'

-- name: item
select * from item where tenant = :tenant and id = :id

-- name: items
select * from item where tenant = :tenant and id in each(:ids)

-- name: all_items
select * from item where tenant = :tenant order by id

-- name: item_set
update item set title = :title, status = :status, audience = :audience, project = :project, namespace = :namespace,
    tags = :tags, attributes = :attributes, version = :version, updated_at = :updated_at, blocks = :blocks,
    passages = :passages, forgotten = :forgotten
where tenant = :tenant and id = :id

-- name: item_drop
delete from item where tenant = :tenant and id = :id

-- name: item_row
select row from item where tenant = :tenant and id = :id

-- name: tags_of
select t.tag from tag t join item i on i.tenant = t.tenant and i.row = t.item
where t.tenant = :tenant and i.id = :id order by t.tag

-- name: passages_all
select p.*, i.id as item_id from passage p join item i on i.tenant = p.tenant and i.row = p.item
where p.tenant = :tenant order by p.item

-- name: passages
with i as materialized (select id, row << 20 as low, (row + 1) << 20 as high from item
                        where tenant = :tenant and id = :id)
select p.*, i.id as item_id from i join passage p on p.tenant = :tenant and p.id >= i.low and p.id < i.high
order by p.id

-- name: text_sizes
with i as materialized (select id, row << 20 as low, (row + 1) << 20 as high from item
                        where tenant = :tenant and id in each(:ids))
select i.id, i.low, sum(length(p.text)), sum(octet_length(p.text)) from i
join passage p on p.tenant = :tenant and p.id >= i.low and p.id < i.high group by 1, 2

-- name: blocks_at
select p.id >> 20, p.block from passage p where p.tenant = :tenant and p.id in numbers(:ids)

-- name: sketch_drop
delete from sketch where tenant = :tenant and item = :item
and mark in numbers(:marks)

-- name: sketches
select item, mark from sketch where tenant = :tenant

-- name: link
select * from link where tenant = :tenant and id = :id

-- name: link_between
select * from link where tenant = :tenant and source = :source and target = :target and type = :type

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

-- name: wide
select 1 from item where tenant = :tenant and {column} = :value limit 1 offset :most

-- name: wide_tag
select 1 from tag where tenant = :tenant and tag = :value limit 1 offset :most

-- name: owners
select (select min(owner) from item where tenant = :tenant), (select max(owner) from item where tenant = :tenant)

-- name: access_of
select item, count, last from access where tenant = :tenant and item in each(:ids)

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

-- name: settings
select name, value from setting where tenant = :tenant order by name

-- name: setting_put
insert into setting (tenant, name, value) values (:tenant, :name, :value)
on conflict (tenant, name) do update set value = excluded.value

-- name: filter_visible
and (i.owner = :caller_user or i.audience = 'org'
     or (i.audience = 'project' and i.project = cast(:caller_project as text)))

-- name: filter_kind
and i.kind = :kind

-- name: filter_kinds
and i.kind in each(:kinds)

-- name: filter_statuses
and i.status in each(:statuses)

-- name: filter_forgotten
and i.forgotten = :forgotten

-- name: filter_projects
and i.project in each(:projects)

-- name: filter_namespaces
and i.namespace in each(:namespaces)

-- name: filter_titles
and i.title in each(:titles)

-- name: filter_owner
and i.owner = :owner

-- name: filter_ids
and i.id in each(:ids_only)

-- name: filter_since_item
and i.created_at >= :since

-- name: filter_until_item
and i.created_at <= :until

-- name: filter_since_passage
and p.at >= :since

-- name: filter_until_passage
and p.at <= :until

-- name: filter_speakers_passage
and p.speaker in each(:speakers)

-- name: filter_speakers_item
and i.row in (select s.item from passage s where s.tenant = :tenant and s.speaker in each(:speakers))

-- name: sort_created_at
i.seq

-- name: sort_updated_at
i.updated_at

-- name: namesakes
select * from item where tenant = :tenant and kind = :kind and title = :title and title <> '' and forgotten = 0
