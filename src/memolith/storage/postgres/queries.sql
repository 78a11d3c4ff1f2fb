-- Every statement that the PostgreSQL store runs, as it runs it.
--
-- You can paste any of them into psql after you have put values in the place of the parameters, such as
-- %(tenant)s. Row-level security lets you see a tenant's rows only after: set memolith.tenant = 'local'
--
-- A statement begins after the line `-- name: ...` and its comment, and ends with a semicolon.
-- `/* filters */` marks where the conditions of a filter go (see filters.py); the statement is valid without them.
-- Lists are passed as JSON arrays and become SQL arrays.
--
-- A passage reference is `item.row << 20 | passage.ordinal`, so `ref >> 20` is the row of the item, and
-- `row << 20` is its first passage. See domain/passages.py. Row-level security keeps a computed bound such as
-- `i.row << 20` from being used in an index scan, so it is computed in a materialized part before.
-- A look-up of a few things ends with `offset 0` inside of a loop over these, so that the planner cannot turn it round: in
-- a table that it has no statistics of yet, or where it takes every stretch between two bounds for a ninth of the tenant,
-- it would rather read all of the tenant once.
--
-- The statements run on a distributed database, too. There a statement must name its one tenant in a way that the
-- planner sees, so rows are added from the head of the tenant, and not from the JSON array alone.


-- ======== Transactions ========

-- name: begin_reading
-- Begin a transaction whose reads all see the same moment.
begin isolation level repeatable read read only;

-- name: begin_writing
-- Begin a transaction that writes.
begin isolation level read committed;

-- name: set_up_transaction
-- Act as the role that sees one tenant only, or all of them where `memolith.all` is on. Search asks the vector
-- index for more than it returns, because a filter may drop some.
select set_config('role', 'memolith_run', true),
    set_config('statement_timeout', %(statement_timeout)s, true),
    set_config('lock_timeout', %(lock_timeout)s, true),
    set_config('synchronous_commit', 'on', true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.ef_search', '400', true),
    set_config('work_mem', '64MB', true),
    set_config('memolith.all', %(all_tenants)s, true),
    set_config('memolith.tenant', %(tenant)s, true);

-- name: replica_age
-- How many seconds ago the newest transaction was committed that this replica has; 0 on a primary. Servers commit
-- one every two seconds (see heartbeat), so that a replica which is up to date is never much older than that.
select case
    when pg_is_in_recovery()
        then coalesce(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()), 1e9)::float8
    else 0.0::float8
end as age_s;

-- name: heartbeat
-- A transaction that changes nothing. By the time of its commit, a replica knows how old it is.
select pg_current_xact_id();

-- name: commit
-- End a transaction and keep what it did.
commit;

-- name: rollback
-- End a transaction and undo what it did.
rollback;


-- ======== Schema and server ========

-- name: versions
-- The versions of the server and of pgvector, whether our tables are there, whether it is a replica, and whether the
-- tables are distributed: then there is no function `matching`.
select current_setting('server_version_num')::integer as server_number,
    current_setting('server_version') as server,
    coalesce(
        (select extversion from pg_extension where extname = 'vector'),
        (select default_version from pg_available_extensions where name = 'vector')
    ) as pgvector,
    to_regclass('migration') is not null as set_up,
    pg_is_in_recovery() as replica,
    to_regclass('migration') is not null and to_regprocedure('matching(tsquery, text[])') is null as distributed;

-- name: citus_version
-- The version of Citus; no row if the database does not have it.
select extversion as version
from pg_extension
where extname = 'citus';

-- name: server_process
-- The process of the server that serves this connection.
select pg_backend_pid() as pid;

-- name: lock_migrations
-- Let one process apply migrations at a time.
select pg_advisory_xact_lock(7236548190273645);

-- name: create_migration_table
-- The list of migrations that were applied.
create table if not exists migration (
    number integer primary key,
    name text not null,
    checksum text not null,
    oldest integer not null
);

-- name: applied_migrations
-- The migrations that were applied. Very old databases have no column `oldest`, hence the star.
select *
from migration;

-- name: add_migration
-- Note that a migration was applied.
insert into migration (number, name, oldest, checksum)
values (%(number)s, %(name)s, %(oldest)s, %(checksum)s);

-- name: vacuum
-- Let the space of what was erased be overwritten.
vacuum (index_cleanup on, truncate off)
    event, item, tag, passage, posting, term, sketch, link, embedding, outbox, access;

-- name: analyze
-- Let the planner know what the tables hold now.
analyze;

-- name: database_size
-- The size of the database in bytes.
select pg_database_size(current_database()) as bytes;

-- name: listen
-- Hear when the map of tenants changes.
listen memolith;

-- name: notify
-- Tell all servers that the map of tenants has changed.
select pg_notify('memolith', '');

-- name: take_calls
-- Take calls of a key in a minute; returns how many all servers have taken. Older minutes are dropped.
with old as (
    delete from allowance
    where minute < %(minute)s - 1
)
insert into allowance (tenant, key, minute, used)
values ('', %(key)s, %(minute)s, %(amount)s)
on conflict (tenant, key, minute) do update
set used = allowance.used + excluded.used
returning used;


-- ======== Tenants and the event log ========

-- name: tenants
-- Every tenant that has events, oldest first.
select tenant
from head
where seq > 0
order by number;

-- name: head
-- Where the log of a tenant stands, and the totals that ranking needs.
select number, seq, passages, terms, at
from head
where tenant = %(tenant)s;

-- name: head_for_writing
-- The same, unless writes are refused. The lock lets one writer of a tenant in at a time.
select number, seq, passages, terms, at
from head
where tenant = %(tenant)s and not frozen
for update;

-- name: add_head
-- The row of a new tenant.
insert into head (tenant, seq)
values (%(tenant)s, 0)
on conflict (tenant) do nothing;

-- name: write_totals
-- Where the log of a tenant stands after a write.
update head
set seq = %(seq)s, passages = %(passages)s, terms = %(terms)s, at = %(at)s
where tenant = %(tenant)s;

-- name: event_by_seq
-- One event by its sequence number.
select tenant, seq, stream, version, type, data, actor, at, key
from event
where tenant = %(tenant)s and seq = %(seq)s;

-- name: event_by_key
-- The event that an actor wrote under an idempotency key.
select tenant, seq, stream, version, type, data, actor, at, key
from event
where tenant = %(tenant)s and actor = %(actor)s and key = %(key)s;

-- name: events_of_stream
-- The history of one item or link, oldest first.
select tenant, seq, stream, version, type, data, actor, at, key
from event
where tenant = %(tenant)s and stream = %(stream)s
order by version;

-- name: events_after
-- The log of a tenant from some point on.
select tenant, seq, stream, version, type, data, actor, at, key
from event
where tenant = %(tenant)s and seq > %(seq)s
order by seq
limit %(limit)s;

-- name: event_time
-- When an event happened.
select at
from event
where tenant = %(tenant)s and seq = %(seq)s;

-- name: newest_versions
-- The last event of each of these items or links that is not computed.
select stream, max(version) as version
from event
where tenant = %(tenant)s
    and stream = any(array(select jsonb_array_elements_text(%(streams)s::jsonb)))
    and type <> 'appraised'
group by 1;

-- name: present_streams
-- Which of these items and links have events.
select distinct stream
from event
where tenant = %(tenant)s
    and stream = any(array(select jsonb_array_elements_text(%(streams)s::jsonb)));

-- name: list_events
-- The newest events of a stretch of the log that a caller may see. An event of a link counts if both ends do; `links`
-- is 0 where such events are left out. What has no row any more, or never had one, is `lost`: such events are shown
-- to nobody (0), to whoever caused the first of them (1), or to all (2).
select e.seq, e.stream, e.version, e.type, e.actor, e.at, e.data::jsonb ->> 'undoes' is not null as is_undo
from event e
where e.tenant = %(tenant)s and e.seq > %(after)s and e.seq < %(before)s
    and (%(actor)s::text is null or e.actor = %(actor)s)
    and (%(types)s::text = '[]' or e.type = any(array(select jsonb_array_elements_text(%(types)s::jsonb))))
    and case
        when e.type in ('linked', 'relinked', 'unlinked') then %(links)s::integer = 1 and 2 = (
            select count(*)
            from event f
            join item i on i.tenant = %(tenant)s and i.id in (f.data::jsonb ->> 'source', f.data::jsonb ->> 'target')
            where f.tenant = %(tenant)s and f.stream = e.stream and f.version = 1 /* filters */
        )
        when exists (select 1 from item where tenant = %(tenant)s and id = e.stream) then exists (
            select 1
            from item i
            where i.tenant = %(tenant)s and i.id = e.stream /* filters */
        )
        else %(lost)s::integer = 2 or %(lost)s::integer = 1 and exists (
            select 1
            from event f
            where f.tenant = %(tenant)s and f.stream = e.stream and f.version = 1 and f.actor = %(user)s
        )
    end
order by e.seq desc
limit %(limit)s;

-- name: count_events_by_actor
-- How many events of a stretch of the log each actor caused, as far as a caller may see them: see `list_events`.
-- Where the caller sees all, nothing is looked up.
select e.actor as name, count(*) as events
from event e
where e.tenant = %(tenant)s and e.seq > %(after)s and e.type <> 'appraised'
    and (%(all)s::integer = 1 or case
        when e.type in ('linked', 'relinked', 'unlinked') then 2 = (
            select count(*)
            from event f
            join item i on i.tenant = %(tenant)s and i.id in (f.data::jsonb ->> 'source', f.data::jsonb ->> 'target')
            where f.tenant = %(tenant)s and f.stream = e.stream and f.version = 1 /* filters */
        )
        else exists (
            select 1
            from item i
            where i.tenant = %(tenant)s and i.id = e.stream /* filters */
        )
    end)
group by 1
order by 2 desc, 1;

-- name: streams_after
-- The items and links that have an event later than some time.
select distinct stream
from event
where tenant = %(tenant)s and at > %(after)s;

-- name: log_bounds
-- How many events a tenant has, and the first and last sequence number.
select count(*) as events, coalesce(min(seq), 0) as first, coalesce(max(seq), 0) as last
from event
where tenant = %(tenant)s;

-- name: add_event
-- Append events, given as a JSON array.
insert into event (tenant, seq, stream, version, type, data, actor, at, key)
select h.tenant, r.seq, r.stream, r.version, r.type, r.data, r.actor, r.at, r.key
from head h
cross join json_to_recordset(%(rows)s::json) as r (
    seq bigint, stream text, version integer, type text, data text, actor text, at text, key text
)
where h.tenant = %(tenant)s;

-- name: scrub_events
-- Empty the events of something that was erased.
update event
set data = '{}', key = null
where tenant = %(tenant)s and stream = %(stream)s and type <> 'erased';

-- name: list_streams
-- The streams between two names that have events in a stretch of the log, the one with the newest event first.
select e.stream, max(e.seq) as last
from event e
where e.tenant = %(tenant)s and e.stream >= %(first)s and e.stream < %(end)s
    and e.seq > %(after)s and e.seq < %(before)s
    and (%(actor)s::text is null or e.actor = %(actor)s::text)
    and (%(projects)s::jsonb is null or e.data::jsonb ->> 'project' is null
        or e.data::jsonb ->> 'project' in (select jsonb_array_elements_text(%(projects)s::jsonb)))
group by e.stream
order by last desc
limit %(limit)s offset %(offset)s;

-- name: count_streams
-- How many such streams there are.
select count(distinct e.stream) as streams
from event e
where e.tenant = %(tenant)s and e.stream >= %(first)s and e.stream < %(end)s
    and e.seq > %(after)s and e.seq < %(before)s
    and (%(actor)s::text is null or e.actor = %(actor)s::text)
    and (%(projects)s::jsonb is null or e.data::jsonb ->> 'project' is null
        or e.data::jsonb ->> 'project' in (select jsonb_array_elements_text(%(projects)s::jsonb)));

-- name: link_streams
-- Every link that ever started or ended at an item, removed ones included.
select stream
from event
where tenant = %(tenant)s and type = 'linked' and data::jsonb ->> 'source' = %(item)s
union
select stream
from event
where tenant = %(tenant)s and type = 'linked' and data::jsonb ->> 'target' = %(item)s;

-- ======== Items ========

-- name: item
-- One item by its id.
select tenant, id, kind, title, status, owner, audience, project, namespace, tags, attributes,
    version, seq, created_at, updated_at, blocks, passages, forgotten
from item
where tenant = %(tenant)s and id = %(id)s;

-- name: items
-- Several items by their ids.
select tenant, id, kind, title, status, owner, audience, project, namespace, tags, attributes,
    version, seq, created_at, updated_at, blocks, passages, forgotten
from item
where tenant = %(tenant)s and id = any(array(select jsonb_array_elements_text(%(ids)s::jsonb)));

-- name: all_items
-- Every item of a tenant.
select row, tenant, id, kind, title, status, owner, audience, project, namespace, tags, attributes,
    version, seq, created_at, updated_at, blocks, passages, forgotten
from item
where tenant = %(tenant)s
order by id;

-- name: item_ids_from
-- The first ids of a tenant in their order, from some id on.
select id
from item
where tenant = %(tenant)s and id >= %(start)s
order by id
limit %(limit)s;

-- name: item_id_before
-- The id that comes before another one in their order.
select id
from item
where tenant = %(tenant)s and id < %(id)s
order by id desc
limit 1;

-- name: items_titled
-- The live items of a kind with exactly this title.
select tenant, id, kind, title, status, owner, audience, project, namespace, tags, attributes,
    version, seq, created_at, updated_at, blocks, passages, forgotten
from item
where tenant = %(tenant)s and kind = %(kind)s and title = %(title)s and title <> '' and forgotten = 0;

-- name: add_item
-- Add new items, given as a JSON array. The row of an item is the sequence number of its first event.
insert into item (row, tenant, id, kind, title, status, owner, audience, project, namespace, tags, attributes,
    version, seq, created_at, updated_at, blocks, passages, forgotten)
select r.row, h.tenant, r.id, r.kind, r.title, r.status, r.owner, r.audience, r.project, r.namespace, r.tags,
    r.attributes, r.version, r.seq, r.created_at, r.updated_at, r.blocks, r.passages, r.forgotten
from head h
cross join json_to_recordset(%(rows)s::json) as r (
    row bigint, id text, kind text, title text, status text, owner text, audience text,
    project text, namespace text, tags text, attributes text, version integer, seq bigint,
    created_at text, updated_at text, blocks integer, passages integer, forgotten smallint
)
where h.tenant = %(tenant)s;

-- name: update_item
-- Replace what the row of an item says.
update item
set kind = %(kind)s,
    title = %(title)s,
    status = %(status)s,
    owner = %(owner)s,
    audience = %(audience)s,
    project = %(project)s,
    namespace = %(namespace)s,
    tags = %(tags)s,
    attributes = %(attributes)s,
    version = %(version)s,
    seq = %(seq)s,
    created_at = %(created_at)s,
    updated_at = %(updated_at)s,
    blocks = %(blocks)s,
    passages = %(passages)s,
    forgotten = %(forgotten)s
where tenant = %(tenant)s and id = %(id)s;

-- name: delete_item
-- Remove an item.
delete from item
where tenant = %(tenant)s and id = %(id)s;

-- name: list_items
-- One page of a list. `i.seq desc /* order */` is replaced by the order that was asked for.
select i.tenant, i.id, i.kind, i.title, i.status, i.owner, i.audience, i.project, i.namespace, i.tags,
    i.attributes, i.version, i.seq, i.created_at, i.updated_at, i.blocks, i.passages, i.forgotten
from item i
where i.tenant = %(tenant)s /* filters */
order by i.seq desc /* order */
limit %(limit)s offset %(offset)s;

-- name: count_items
-- How many items such a list has in all.
select count(*) as items
from item i
where i.tenant = %(tenant)s /* filters */;

-- name: count_items_by_kind
-- How many items there are of each kind.
select i.kind as name, count(*) as items
from item i
where i.tenant = %(tenant)s /* filters */
group by 1
order by 2 desc, 1;

-- name: count_items_by_status
-- How many items there are in each status.
select i.status as name, count(*) as items
from item i
where i.tenant = %(tenant)s /* filters */
group by 1
order by 2 desc, 1;

-- name: count_items_by_namespace
-- How many items there are in each namespace.
select i.namespace as name, count(*) as items
from item i
where i.tenant = %(tenant)s /* filters */
group by 1
order by 2 desc, 1;

-- name: count_items_by_project
-- How many items there are in each project.
select i.project as name, count(*) as items
from item i
where i.tenant = %(tenant)s /* filters */
group by 1
order by 2 desc, 1;

-- name: count_items_by_tag
-- How many items there are with each tag.
select t.tag as name, count(*) as items
from tag t
join item i on i.tenant = t.tenant and i.row = t.item
where t.tenant = %(tenant)s /* filters */
group by 1
order by 2 desc, 1;

-- name: count_items_by_day
-- How many items were written on each day, from some point of the log on.
select substr(i.created_at, 1, 10) as name, count(*) as items
from item i
where i.tenant = %(tenant)s and i.seq > %(after)s /* filters */
group by 1
order by 1;

-- name: concept_tree
-- How many concepts there are per area, topic and subtopic, and how many events they have.
select i.attributes::jsonb ->> 'area' as area,
    i.attributes::jsonb ->> 'topic' as topic,
    i.attributes::jsonb ->> 'subtopic' as subtopic,
    sum(1 - i.forgotten) as live,
    sum(i.version) as events
from item i
where i.tenant = %(tenant)s and i.kind = 'concept' /* filters */
group by 1, 2, 3;

-- name: folders
-- How many conversations there are per folder and importance.
select i.attributes::jsonb ->> 'folder' as folder,
    i.attributes::jsonb ->> 'importance_score' as importance,
    count(*) as conversations
from item i
where i.tenant = %(tenant)s /* filters */
group by 1, 2;

-- name: note_rows
-- What tells the names of notes. An attribute that is no text counts as none.
select i.id, i.title, i.project,
    case when jsonb_typeof(i.attributes::jsonb -> 'path') = 'string'
        then i.attributes::jsonb ->> 'path' end as path,
    case when jsonb_typeof(i.attributes::jsonb -> 'permalink') = 'string'
        then i.attributes::jsonb ->> 'permalink' end as permalink,
    (i.attributes::jsonb -> 'unresolved_links')::text as waiting
from item i
where i.tenant = %(tenant)s /* filters */;

-- name: owner_bounds
-- The first and the last owner by name. If both are the same, the tenant has one owner only.
select (select min(owner) from item where tenant = %(tenant)s) as first,
    (select max(owner) from item where tenant = %(tenant)s) as last;

-- name: any_expiring_item
-- One row if the tenant has an item that expires, else none.
select 1 as found
from item i
where i.tenant = %(tenant)s and i.attributes::jsonb ->> 'expires_at' is not null
limit 1;

-- name: cut_items
-- The items that have a block which was cut into several passages.
select row
from item
where tenant = %(tenant)s and passages <> blocks;

-- name: more_items_with_tag
-- One row if more than so many items have this tag.
select 1 as found
from tag
where tenant = %(tenant)s and tag = %(value)s
limit 1 offset %(most)s;

-- name: more_items_with_kind
-- One row if more than so many items are of this kind.
select 1 as found
from item
where tenant = %(tenant)s and kind = %(value)s
limit 1 offset %(most)s;

-- name: more_items_with_project
-- One row if more than so many items are in this project.
select 1 as found
from item
where tenant = %(tenant)s and project = %(value)s
limit 1 offset %(most)s;

-- name: more_items_with_namespace
-- One row if more than so many items are in this namespace.
select 1 as found
from item
where tenant = %(tenant)s and namespace = %(value)s
limit 1 offset %(most)s;

-- ======== Passages, tags and sketches ========

-- name: passages_of_items
-- The passages of several items, in order.
with i as materialized (
    select id, row, row << 20 as low, (row + 1) << 20 as high
    from item
    where tenant = %(tenant)s and id = any(array(select jsonb_array_elements_text(%(ids)s::jsonb)))
)
select p.id as ref, i.id as item, p.ordinal, p.block, p.text, p.at, p.speaker, p.locator,
    p.attributes as passage_attributes
from i
cross join lateral (
    select *
    from passage
    where tenant = %(tenant)s and id >= i.low and id < i.high
    offset 0
) p
order by i.row, p.id;

-- name: passages_at
-- Passages by their references, each with its item.
select p.id as ref, i.id as item, p.ordinal, p.block, p.text, p.at, p.speaker, p.locator,
    p.attributes as passage_attributes,
    i.tenant, i.id, i.kind, i.title, i.status, i.owner, i.audience, i.project, i.namespace, i.tags,
    i.attributes, i.version, i.seq, i.created_at, i.updated_at, i.blocks, i.passages, i.forgotten
from passage p
join item i on i.tenant = p.tenant and i.row = p.item
where p.tenant = %(tenant)s and p.id = any(array(select jsonb_array_elements_text(%(refs)s::jsonb)::bigint));

-- name: all_passages
-- Every passage of a tenant.
select id as ref, item as item_row, ordinal, block, text, at, speaker, locator,
    attributes as passage_attributes
from passage
where tenant = %(tenant)s;

-- name: passages_with_other_letters
-- The references of the next passages whose text, title or speaker has letters beyond ASCII.
select p.id as ref
from passage p
join item i on i.tenant = p.tenant and i.row = p.item
where p.tenant = %(tenant)s and p.id > %(after)s and (
    octet_length(p.text) > length(p.text)
    or octet_length(i.title) > length(i.title)
    or octet_length(p.speaker) > length(p.speaker)
)
order by p.id
limit %(limit)s;

-- name: text_sizes
-- The first passage of several items, and how many characters and bytes of text they have.
with i as materialized (
    select id, row << 20 as low, (row + 1) << 20 as high
    from item
    where tenant = %(tenant)s and id = any(array(select jsonb_array_elements_text(%(ids)s::jsonb)))
)
select i.id, i.low as first, sum(length(p.text)) as characters, sum(octet_length(p.text)) as bytes
from i
cross join lateral (
    select text
    from passage
    where tenant = %(tenant)s and id >= i.low and id < i.high
    offset 0
) p
group by 1, 2;

-- name: beginnings
-- How the texts of several items begin.
with i as materialized (
    select id, row << 20 as first
    from item
    where tenant = %(tenant)s and id = any(array(select jsonb_array_elements_text(%(ids)s::jsonb)))
)
select i.id, substr(p.text, 1, %(characters)s) as text
from i
cross join lateral (
    select text
    from passage
    where tenant = %(tenant)s and id = i.first
    offset 0
) p;

-- name: count_blocks
-- How many blocks these passages belong to, without those that are known (as `row << 20 | block`).
select count(distinct item << 20 | block) as blocks
from passage
where tenant = %(tenant)s
    and id = any(array(select jsonb_array_elements_text(%(refs)s::jsonb)::bigint))
    and not (item << 20 | block) = any(array(select jsonb_array_elements_text(%(known)s::jsonb)::bigint));

-- name: visible_speakers
-- Those of the names who speak in an item that the caller may see.
select wanted.name
from jsonb_array_elements_text(%(names)s::jsonb) as wanted (name)
where exists (
    select 1
    from passage p
    join item i on i.tenant = p.tenant and i.row = p.item
    where p.tenant = %(tenant)s and p.speaker = wanted.name /* filters */
);

-- name: speakers
-- The first 200 speakers by name, found by one step in the index for each.
with recursive s (name) as (
    select min(speaker)
    from passage
    where tenant = %(tenant)s and speaker is not null
    union all
    select (select min(p.speaker) from passage p where p.tenant = %(tenant)s and p.speaker > s.name)
    from s
    where s.name is not null
)
select name
from s
where name is not null
limit 200;

-- name: add_passage
-- Add passages, given as a JSON array.
insert into passage (id, tenant, item, ordinal, block, text, at, speaker, locator, attributes)
select r.id, h.tenant, r.item, r.ordinal, r.block, r.text, r.at, r.speaker, r.locator, r.attributes
from head h
cross join json_to_recordset(%(rows)s::json) as r (
    id bigint, item bigint, ordinal integer, block integer, text text, at text, speaker text,
    locator text, attributes text
)
where h.tenant = %(tenant)s;

-- name: delete_passage
-- Remove a passage.
delete from passage
where tenant = %(tenant)s and id = %(id)s;

-- name: all_tags
-- Every tag of a tenant with the row of its item.
select tag, item
from tag
where tenant = %(tenant)s;

-- name: add_tag
-- Give items their tags, given as a JSON array.
insert into tag (tenant, tag, item)
select h.tenant, r.tag, r.item
from head h
cross join json_to_recordset(%(rows)s::json) as r (tag text, item bigint)
where h.tenant = %(tenant)s;

-- name: delete_tag
-- Take a tag from an item.
delete from tag
where tenant = %(tenant)s and tag = %(tag)s and item = %(item)s;

-- name: all_sketches
-- Every sketch mark of a tenant with the row of its item.
select mark, item
from sketch
where tenant = %(tenant)s;

-- name: add_sketch
-- Add marks of the first passages of items, given as a JSON array.
insert into sketch (tenant, mark, item)
select h.tenant, r.mark, r.item
from head h
cross join json_to_recordset(%(rows)s::json) as r (mark bigint, item bigint)
where h.tenant = %(tenant)s;

-- name: delete_sketch
-- Remove a mark.
delete from sketch
where tenant = %(tenant)s and mark = %(mark)s and item = %(item)s;

-- name: items_like
-- The items that share a sketch mark, and have so many passages (0 means any number).
select i.id
from (
    select item
    from sketch
    where tenant = %(tenant)s and mark = any(array(select jsonb_array_elements_text(%(marks)s::jsonb)::bigint))
    offset 0
) s
cross join lateral (
    select *
    from item
    where tenant = %(tenant)s and row = s.item
    offset 0
) i
where (i.passages = %(passages)s or %(passages)s = 0) /* filters */
limit 20;

-- ======== Links ========

-- name: link_by_id
-- One link by its id.
select id, source, target, type, strength, attributes, version, seq, created_at, updated_at
from link
where tenant = %(tenant)s and id = %(id)s;

-- name: link_between
-- The link of a type from one item to another.
select id, source, target, type, strength, attributes, version, seq, created_at, updated_at
from link
where tenant = %(tenant)s and source = %(source)s and target = %(target)s and type = %(type)s;

-- name: all_links
-- Every link of a tenant.
select id, source, target, type, strength, attributes, version, seq, created_at, updated_at
from link
where tenant = %(tenant)s
order by id;

-- name: ends_from
-- The ends and types of the links that start at these items.
select source, target, type
from link
where tenant = %(tenant)s and source = any(array(select jsonb_array_elements_text(%(ids)s::jsonb)));

-- name: ends_to
-- The ends and types of the links that end at these items.
select source, target, type
from link
where tenant = %(tenant)s and target = any(array(select jsonb_array_elements_text(%(ids)s::jsonb)));

-- name: count_links_from
-- How many links start at each item.
select source as id, count(*) as links
from link
where tenant = %(tenant)s and (%(types)s = '[]' or type = any(array(select jsonb_array_elements_text(%(types)s::jsonb))))
group by source;

-- name: count_links_to
-- How many links end at each item.
select target as id, count(*) as links
from link
where tenant = %(tenant)s and (%(types)s = '[]' or type = any(array(select jsonb_array_elements_text(%(types)s::jsonb))))
group by target;

-- name: count_link_types
-- How many links there are of each type.
select type, count(*) as links
from link
where tenant = %(tenant)s
group by type;

-- name: nodes
-- All items, as far as a picture of the graph shows them.
select i.id, i.kind, i.title, i.namespace, i.seq
from item i
where i.tenant = %(tenant)s /* filters */;

-- name: links_from
-- The links that start at these items.
select id, source, target, type, strength, attributes, version, seq, created_at, updated_at
from link
where tenant = %(tenant)s and source = any(array(select jsonb_array_elements_text(%(ids)s::jsonb)));

-- name: links_to
-- The links that end at these items.
select id, source, target, type, strength, attributes, version, seq, created_at, updated_at
from link
where tenant = %(tenant)s and target = any(array(select jsonb_array_elements_text(%(ids)s::jsonb)));

-- name: steps_forward
-- The steps along links that start at these items, with the title of the other end.
select l.source as start, l.target as "end", l.type as link_type, i.title as end_title
from link l
join item i on i.tenant = l.tenant and i.id = l.target
where l.tenant = %(tenant)s
    and l.source = any(array(select jsonb_array_elements_text(%(frontier)s::jsonb)))
    and (%(types)s = '[]' or l.type = any(array(select jsonb_array_elements_text(%(types)s::jsonb)))) /* filters */;

-- name: steps_back
-- The steps along links that end at these items, with the title of the other end.
select l.target as start, l.source as "end", l.type as link_type, i.title as end_title
from link l
join item i on i.tenant = l.tenant and i.id = l.source
where l.tenant = %(tenant)s
    and l.target = any(array(select jsonb_array_elements_text(%(frontier)s::jsonb)))
    and (%(types)s = '[]' or l.type = any(array(select jsonb_array_elements_text(%(types)s::jsonb)))) /* filters */;

-- name: put_link
-- Add links, given as a JSON array, or replace those with these ids. Of a link that is there twice, the last
-- version counts.
insert into link (tenant, id, source, target, type, strength, attributes, version, seq, created_at, updated_at)
select distinct on (h.tenant, r.id)
    h.tenant, r.id, r.source, r.target, r.type, r.strength, r.attributes, r.version, r.seq, r.created_at, r.updated_at
from head h
cross join json_to_recordset(%(rows)s::json) as r (
    id text, source text, target text, type text, strength double precision, attributes text,
    version integer, seq bigint, created_at text, updated_at text
)
where h.tenant = %(tenant)s
order by h.tenant, r.id, r.version desc
on conflict (tenant, id) do update
set source = excluded.source,
    target = excluded.target,
    type = excluded.type,
    strength = excluded.strength,
    attributes = excluded.attributes,
    version = excluded.version,
    seq = excluded.seq,
    created_at = excluded.created_at,
    updated_at = excluded.updated_at;

-- name: delete_link
-- Remove a link.
delete from link
where tenant = %(tenant)s and id = %(id)s;

-- ======== How often items were read ========

-- name: superseded
-- Which of these items were replaced by a newer one, by which and when; of several the newest comes last.
-- Both must still be seen by the same people, and the newer one must be there. A link says where a person found that
-- the two do not speak of the same.
select m.item, m.successor, m.at
from superseded m
join item i on i.tenant = m.tenant and i.id = m.item
join item s on s.tenant = m.tenant and s.id = m.successor
where m.tenant = %(tenant)s
    and m.item = any(array(select jsonb_array_elements_text(%(ids)s::jsonb)))
    and s.forgotten = 0
    and s.kind = i.kind
    and s.owner = i.owner
    and s.audience = i.audience
    and s.project is not distinct from i.project
    and coalesce(s.attributes::jsonb ->> 'expires_at', '~') collate "C" > %(now)s
    and not exists (
        select 1
        from link l
        where l.tenant = i.tenant and l.source = i.id and l.type = 'DistinctFrom' and l.target = s.id
    )
    and not exists (
        select 1
        from link l
        where l.tenant = i.tenant and l.source = s.id and l.type = 'DistinctFrom' and l.target = i.id
    )
order by m.item, m.at, m.successor;

-- name: superseding
-- The items that an item replaced. Both must still be seen by the same people.
select m.item
from superseded m
join item i on i.tenant = m.tenant and i.id = m.item
join item s on s.tenant = m.tenant and s.id = m.successor
where m.tenant = %(tenant)s
    and m.successor = %(id)s
    and s.kind = i.kind
    and s.owner = i.owner
    and s.audience = i.audience
    and s.project is not distinct from i.project
order by m.at desc, m.item
limit 100;

-- name: all_superseded
-- Every mark of a replaced item.
select item, successor, at, similarity, reason
from superseded
where tenant = %(tenant)s
order by item, successor;

-- name: all_duplicates
-- Every mark of an item that says the same as another.
select item, original, similarity
from duplicate
where tenant = %(tenant)s
order by item, original;

-- name: put_superseded
-- Mark an item as replaced by a newer one.
insert into superseded (tenant, item, successor, at, similarity, reason)
values (%(tenant)s, %(item)s, %(successor)s, %(at)s, %(similarity)s, %(reason)s)
on conflict (tenant, item, successor) do update
set at = excluded.at, similarity = excluded.similarity, reason = excluded.reason;

-- name: delete_superseded
-- Remove the marks of an item whose text has changed or is gone, on either side.
delete from superseded
where tenant = %(tenant)s and (item = %(item)s or successor = %(item)s);

-- name: put_duplicate
-- Note that an item says the same as an older one.
insert into duplicate (tenant, item, original, similarity)
values (%(tenant)s, %(item)s, %(original)s, %(similarity)s)
on conflict (tenant, item, original) do update
set similarity = excluded.similarity;

-- name: delete_duplicates
-- Remove the pairs of an item whose text has changed or is gone, on either side.
delete from duplicate
where tenant = %(tenant)s and (item = %(item)s or original = %(item)s);

-- name: open_pairs
-- The pairs that wait for a decision of a person, the newest first. Both must be there and be seen by the same people,
-- and no link may say that they are two things.
with pair as (
    select 'contradiction' as kind, m.item as first, m.successor as second, m.similarity, m.reason
    from superseded m
    where m.tenant = %(tenant)s and %(kind)s::text in ('', 'contradiction')
    union all
    select 'duplicate', d.original, d.item, d.similarity, null
    from duplicate d
    where d.tenant = %(tenant)s and %(kind)s::text in ('', 'duplicate') and not exists (
        select 1
        from superseded m
        where m.tenant = d.tenant and m.item = d.original and m.successor = d.item
    )
)
select pair.kind, pair.first, pair.second, pair.similarity, pair.reason
from pair
join item i on i.tenant = %(tenant)s and i.id = pair.first
join item s on s.tenant = %(tenant)s and s.id = pair.second
where s.forgotten = 0
    and s.kind = i.kind
    and s.owner = i.owner
    and s.audience = i.audience
    and s.project is not distinct from i.project
    and coalesce(s.attributes::jsonb ->> 'expires_at', '~') collate "C" > %(now)s
    and i.status not in ('superseded', 'archived', 'deprecated')
    and s.status not in ('superseded', 'archived', 'deprecated')
    and not exists (
        select 1
        from link l
        where l.tenant = i.tenant and l.source = i.id and l.type = 'DistinctFrom' and l.target = s.id
    )
    and not exists (
        select 1
        from link l
        where l.tenant = i.tenant and l.source = s.id and l.type = 'DistinctFrom' and l.target = i.id
    ) /* filters */
order by s.seq desc, i.seq desc
limit %(limit)s offset %(offset)s;

-- name: count_open_pairs
-- How many of them there are, counted up to a limit.
with pair as (
    select 'contradiction' as kind, m.item as first, m.successor as second, m.similarity, m.reason
    from superseded m
    where m.tenant = %(tenant)s and %(kind)s::text in ('', 'contradiction')
    union all
    select 'duplicate', d.original, d.item, d.similarity, null
    from duplicate d
    where d.tenant = %(tenant)s and %(kind)s::text in ('', 'duplicate') and not exists (
        select 1
        from superseded m
        where m.tenant = d.tenant and m.item = d.original and m.successor = d.item
    )
)
select count(*) as pairs
from (
    select 1
    from pair
    join item i on i.tenant = %(tenant)s and i.id = pair.first
    join item s on s.tenant = %(tenant)s and s.id = pair.second
    where s.forgotten = 0
        and s.kind = i.kind
        and s.owner = i.owner
        and s.audience = i.audience
        and s.project is not distinct from i.project
        and coalesce(s.attributes::jsonb ->> 'expires_at', '~') collate "C" > %(now)s
        and i.status not in ('superseded', 'archived', 'deprecated')
        and s.status not in ('superseded', 'archived', 'deprecated')
        and not exists (
            select 1
            from link l
            where l.tenant = i.tenant and l.source = i.id and l.type = 'DistinctFrom' and l.target = s.id
        )
        and not exists (
            select 1
            from link l
            where l.tenant = i.tenant and l.source = s.id and l.type = 'DistinctFrom' and l.target = i.id
        ) /* filters */
    limit %(limit)s
) counted;

-- name: accesses
-- How often and when last these items were read.
select item, count, last
from access
where tenant = %(tenant)s and item = any(array(select jsonb_array_elements_text(%(ids)s::jsonb)));

-- name: add_access
-- Add reads of an item, if it still exists.
insert into access (tenant, item, count, last)
select i.tenant, i.id, %(count)s::bigint, %(last)s::text
from item i
where i.tenant = %(tenant)s and i.id = %(item)s
on conflict (tenant, item) do update
set count = access.count + excluded.count,
    last = case when excluded.last > access.last then excluded.last else access.last end;

-- name: copy_access_to_item
-- The count stands in `item` too, so that a list can be in that order.
update item
set (reads, last_read) = (select count, last from access where tenant = %(tenant)s and item = %(item)s)
where tenant = %(tenant)s and id = %(item)s;

-- name: copy_all_accesses_to_items
-- The same for every item of every tenant, after a rebuild.
update item
set reads = a.count, last_read = a.last
from access a
where a.tenant = item.tenant and a.item = item.id;

-- name: delete_access
-- Forget how often an item was read.
delete from access
where tenant = %(tenant)s and item = %(item)s;

-- ======== Who has read and called ========

-- name: item_reads
-- The reads of items that the caller may see, the last one first.
select r.item, i.title, r.reader, r.tool, r.times, r.last
from item_read r
join item i on i.tenant = r.tenant and i.id = r.item
where r.tenant = %(tenant)s
    and (r.reader = %(reader)s or %(reader)s = '')
    and r.last >= %(since)s
    and (%(of_everybody)s = 1 or r.reader = %(filter_user)s or i.owner = %(filter_user)s) /* filters */
order by r.last desc, r.item, r.reader, r.tool
limit %(limit)s offset %(offset)s;

-- name: count_item_reads
-- How many reads of items the caller may see, up to a limit.
select count(*) as reads
from (
    select 1
    from item_read r
    join item i on i.tenant = r.tenant and i.id = r.item
    where r.tenant = %(tenant)s
        and (r.reader = %(reader)s or %(reader)s = '')
        and r.last >= %(since)s
        and (%(of_everybody)s = 1 or r.reader = %(filter_user)s or i.owner = %(filter_user)s) /* filters */
    limit %(limit)s
) found;

-- name: reads_of_item
-- The reads of one item, if the caller may see it, the last one first.
select r.item, i.title, r.reader, r.tool, r.times, r.last
from item_read r
join item i on i.tenant = r.tenant and i.id = r.item
where r.tenant = %(tenant)s
    and r.item = %(item)s
    and (r.reader = %(reader)s or %(reader)s = '')
    and r.last >= %(since)s
    and (%(of_everybody)s = 1 or r.reader = %(filter_user)s or i.owner = %(filter_user)s) /* filters */
order by r.last desc, r.reader, r.tool
limit %(limit)s offset %(offset)s;

-- name: count_reads_of_item
-- How many reads of one item the caller may see, up to a limit.
select count(*) as reads
from (
    select 1
    from item_read r
    join item i on i.tenant = r.tenant and i.id = r.item
    where r.tenant = %(tenant)s
        and r.item = %(item)s
        and (r.reader = %(reader)s or %(reader)s = '')
        and r.last >= %(since)s
        and (%(of_everybody)s = 1 or r.reader = %(filter_user)s or i.owner = %(filter_user)s) /* filters */
    limit %(limit)s
) found;

-- name: all_item_reads
-- Every read of a tenant.
select item, reader, tool, times, last
from item_read
where tenant = %(tenant)s
order by item, reader, tool;

-- name: add_item_reads
-- Add to the counts of reads of the items that still exist.
insert into item_read (tenant, item, reader, tool, times, last)
select i.tenant, i.id, n.reader, n.tool, n.times, n.last
from item i
join json_to_recordset(%(reads)s::json) as n (item text, reader text, tool text, times bigint, last text)
    on n.item = i.id
where i.tenant = %(tenant)s
on conflict (tenant, item, reader, tool) do update
set times = item_read.times + excluded.times,
    last = case when excluded.last > item_read.last then excluded.last else item_read.last end;

-- name: delete_item_reads
-- Forget who has read an item.
delete from item_read
where tenant = %(tenant)s and item = %(item)s;

-- name: tenants_with_old_usage
-- The tenants that have reads or calls to be forgotten.
select tenant
from item_read
where last < %(before)s
union
select tenant
from client_call
where last < %(before)s
order by tenant;

-- name: delete_old_item_reads
-- Forget old reads.
delete from item_read
where tenant = %(tenant)s and last < %(before)s;

-- name: client_calls
-- The calls of every program, the last one first.
select key, program, caller, calls, errors, first, last, last_error
from client_call
where tenant = %(tenant)s
order by last desc, key, program, caller;

-- name: add_client_calls
-- Add to the counts of calls of a program with a key.
insert into client_call (tenant, key, program, caller, calls, errors, first, last, last_error)
values (%(tenant)s, %(key)s, %(program)s, %(caller)s, %(calls)s, %(errors)s, %(first)s, %(last)s, %(last_error)s)
on conflict (tenant, key, program, caller) do update
set calls = client_call.calls + excluded.calls,
    errors = client_call.errors + excluded.errors,
    last = case when excluded.last > client_call.last then excluded.last else client_call.last end,
    last_error = case when excluded.last_error <> '' then excluded.last_error else client_call.last_error end;

-- name: delete_old_client_calls
-- Forget programs that have not called for long.
delete from client_call
where tenant = %(tenant)s and last < %(before)s;

-- ======== Text index ========

-- name: add_posting
-- Put passages into the text index, given as a JSON array.
insert into posting (tenant, id, length, terms)
select h.tenant, r.id, r.length, r.terms::tsvector
from head h
cross join json_to_recordset(%(rows)s::json) as r (id bigint, length integer, terms text)
where h.tenant = %(tenant)s;

-- name: delete_posting
-- Take a passage out of the text index.
delete from posting
where tenant = %(tenant)s and id = %(id)s;

-- name: posting_refs
-- The passages that the text index has.
select id as ref
from posting
where tenant = %(tenant)s;

-- name: stale_postings
-- Which of these passages the text index lacks or holds otherwise.
select w.ref
from jsonb_to_recordset(%(wanted)s::jsonb) as w (ref bigint, terms text, length integer)
left join posting p on p.tenant = %(tenant)s and p.id = w.ref
where p.id is null or p.terms <> w.terms::tsvector or p.length <> w.length;

-- name: add_term_counts
-- Add to the counts of passages per term.
insert into term (tenant, term, passages)
select h.tenant, c.key, c.value::bigint
from head h
cross join jsonb_each_text(%(counts)s::jsonb) c
where h.tenant = %(tenant)s
order by c.key
on conflict (tenant, term) do update
set passages = term.passages + excluded.passages;

-- name: delete_unused_terms
-- Remove those of these terms that no passage contains any more.
delete from term
where tenant = %(tenant)s
    and passages <= 0
    and term = any(array(select jsonb_object_keys(%(counts)s::jsonb)));

-- name: wrong_term_counts
-- Some terms whose count differs from the text index.
select coalesce(t.term, c.term) as term
from (
    select term, passages
    from term
    where tenant = %(tenant)s
) t
full join (
    select lexeme as term, count(*) as passages
    from posting p, unnest(p.terms) u
    where p.tenant = %(tenant)s and u.weights[1] <> 'C'
    group by 1
) c on c.term = t.term
where t.passages is distinct from c.passages
limit 5;

-- name: term_frequencies
-- How many passages contain each of these terms.
select term, passages
from term
where tenant = %(tenant)s and term = any(array(select jsonb_array_elements_text(%(terms)s::jsonb)));

-- name: count_visible_passages
-- How many passages the items have that a caller may see.
select coalesce(sum(i.passages), 0)::bigint as passages
from item i
where i.tenant = %(tenant)s /* filters */;

-- name: mean_visible_length
-- How many terms the newest passages have in the mean that a caller may see.
select coalesce(avg(newest.length), 0)::double precision as terms
from (
    select p.length
    from posting p
    join item i on i.tenant = p.tenant and i.row = p.id >> 20
    where p.tenant = %(tenant)s /* filters */
    order by p.id desc
    limit %(limit)s
) newest;

-- name: count_each_matching
-- How many passages match each of some expressions, by their names. Only `matching` may use the index of terms.
select wanted.key as term,
    (select count(*) from matching(wanted.value::tsquery, array[]::text[])) as passages
from jsonb_each_text(%(matches)s::jsonb) wanted;

-- name: search_text
-- The best passages for a text query. Inside `is true` the condition is a look into a hash table, if that fits
-- work_mem; a join would be planned for too few rows.
select m.id as ref, m.score
from matching(nullif(%(match)s, '')::tsquery, array(select jsonb_array_elements_text(%(words)s::jsonb))) m
where (m.id >> 20 in (select i.row from item i where i.tenant = %(tenant)s /* filters */)) is true
order by m.score desc, m.id
limit %(limit)s;

-- name: search_text_passages
-- The same with a filter on the passages themselves.
select m.id as ref, m.score
from matching(nullif(%(match)s, '')::tsquery, array(select jsonb_array_elements_text(%(words)s::jsonb))) m
where (
    m.id in (
        select p.id
        from passage p
        join item i on i.tenant = p.tenant and i.row = p.item
        where p.tenant = %(tenant)s /* filters */
    )
) is true
order by m.score desc, m.id
limit %(limit)s;

-- name: search_text_everything
-- The same for a caller who sees the whole tenant, without a filter: only forgotten items are left out.
select m.id as ref, m.score
from matching(nullif(%(match)s, '')::tsquery, array(select jsonb_array_elements_text(%(words)s::jsonb))) m
where (m.id >> 20 not in (select i.row from item i where i.tenant = %(tenant)s and i.forgotten <> 0)) is true
order by m.score desc, m.id
limit %(limit)s;

-- ======== Vectors ========

-- name: count_vectors_by_model
-- How many vectors of each model there are.
select model, count(*) as vectors
from embedding
where passage > 0
group by 1;

-- name: vector_digests
-- The digests of the texts that the vectors of passages were made from.
select passage as ref, digest
from embedding
where tenant = %(tenant)s
    and model = %(model)s
    and passage = any(array(select jsonb_array_elements_text(%(refs)s::jsonb)::bigint));

-- name: vector_by_digest
-- The vector that the same text got before. As `model || ''` the model is in no index: without statistics the planner
-- would read all vectors of the model.
select v::text as v
from embedding
where tenant = %(tenant)s and digest = %(digest)s and model || '' = %(model)s
limit 1;

-- name: vectors_by_digest
-- The vectors that these texts got before: for each the first that is found, because many passages may say the same.
select d.digest, e.v::text as v
from (select decode(jsonb_array_elements_text(%(digests)s::jsonb), 'hex') as digest offset 0) d
cross join lateral (
    select v
    from embedding
    where tenant = %(tenant)s and digest = d.digest and model || '' = %(model)s
    limit 1
) e;

-- name: add_vector
-- Give a passage a vector, if the passage still exists.
insert into embedding (tenant, passage, model, digest, v)
select p.tenant, p.id, %(model)s::text, %(digest)s::bytea, %(v)s::halfvec
from passage p
where p.tenant = %(tenant)s and p.id = %(passage)s;

-- name: add_vectors
-- Give passages that have none their vectors, given as a JSON array.
insert into embedding (tenant, passage, model, digest, v)
select p.tenant, p.id, r.model, decode(r.digest, 'hex'), r.v::halfvec
from passage p
cross join json_to_recordset(%(rows)s::json) as r (passage bigint, model text, digest text, v text)
where p.tenant = %(tenant)s and p.id = r.passage;

-- name: delete_vectors_of_passage
-- Remove the vectors of a passage.
delete from embedding
where tenant = %(tenant)s and passage = %(passage)s;

-- name: delete_vector
-- Remove the vector of a passage and model.
delete from embedding
where tenant = %(tenant)s and passage = %(passage)s and model = %(model)s;

-- name: vectors_of_other_models
-- Some vectors of other models than this one.
select tenant, passage
from embedding
where model <> %(model)s
limit %(limit)s;

-- name: delete_vectors_of_other_models
-- Remove the vectors of these passages that are of every model but this one.
delete from embedding
using jsonb_array_elements(%(places)s::jsonb) p
where model <> %(model)s and tenant = p ->> 0 and passage = (p ->> 1)::bigint;

-- name: items_without_vectors
-- The next items of a tenant that have no vector of this model. One look into the index for each item, as they come.
select i.id
from (
    select id, row << 20 as low, (row + 1) << 20 as high
    from item
    where tenant = %(tenant)s and id > %(after)s
    order by id
    offset 0
) i
where (
    select 1
    from embedding
    where tenant = %(tenant)s and model = %(model)s and passage >= i.low and passage < i.high
    limit 1
) is null
order by i.id
limit %(limit)s;

-- name: queue_missing_vectors
-- Queue these items to be embedded.
insert into outbox (tenant, seq, consumer, stream, status, due)
select tenant,
    (select max(seq) from event e where e.tenant = i.tenant and e.stream = i.id),
    'embed', id, 'pending', %(now)s
from item i
where tenant = %(tenant)s and id in (select jsonb_array_elements_text(%(ids)s::jsonb))
on conflict do nothing;

-- name: nearest
-- The nearest vectors by an exact scan. `384 /* dimension */` is replaced by the dimension of the model.
select ref, 1 - distance as cosine
from (
    select m.ref, m.v <=> %(query)s::halfvec(384 /* dimension */) as distance
    from (select passage as ref, tenant, model, v from embedding) m
    where m.tenant = %(tenant)s
        and m.model = %(model)s
        and (m.ref >> 20 in (select i.row from item i where i.tenant = %(tenant)s /* filters */)) is true
    order by distance
    limit %(limit)s
) nearest;

-- name: rows_of_fitting_items
-- The rows of items that a filter keeps, at most so many.
select i.row
from item i
where i.tenant = %(tenant)s /* filters */
limit %(most)s;

-- name: nearest_of_items
-- The nearest vectors of a few items, given by their rows: of each, the vectors are looked up.
select ref, 1 - distance as cosine
from (
    select m.ref, m.v <=> %(query)s::halfvec(384 /* dimension */) as distance
    from (
        select i.row << 20 as low, (i.row + 1) << 20 as high
        from (select jsonb_array_elements_text(%(items)s::jsonb)::bigint as row) i
        offset 0
    ) i
    cross join lateral (
        select passage as ref, v
        from embedding
        where tenant = %(tenant)s and model = %(model)s and passage >= i.low and passage < i.high
        offset 0
    ) m
    order by distance
    limit %(limit)s
) nearest;

-- name: nearest_passages
-- The same with a filter on the passages themselves.
select ref, 1 - distance as cosine
from (
    select m.ref, m.v <=> %(query)s::halfvec(384 /* dimension */) as distance
    from (select passage as ref, tenant, model, v from embedding) m
    where m.tenant = %(tenant)s
        and m.model = %(model)s
        and (
            m.ref in (
                select p.id
                from passage p
                join item i on i.tenant = p.tenant and i.row = p.item
                where p.tenant = %(tenant)s /* filters */
            )
        ) is true
    order by distance
    limit %(limit)s
) nearest;

-- name: nearest_by_index
-- The same by the tenant's own index, if it has one; for a wide filter.
select ref, 1 - distance as cosine
from (
    select m.ref, m.v::halfvec(384 /* dimension */) <=> %(query)s::halfvec(384 /* dimension */) as distance
    from (select passage as ref, tenant, model, v from embedding) m
    where m.tenant = %(tenant)s
        and m.model = %(model)s
        and (m.ref >> 20 in (select i.row from item i where i.tenant = %(tenant)s /* filters */)) is true
    order by distance
    limit %(limit)s
) nearest;

-- name: nearest_of_everything
-- The same for a caller who sees the whole tenant, without a filter: only forgotten items are left out.
select ref, 1 - distance as cosine
from (
    select m.ref, m.v::halfvec(384 /* dimension */) <=> %(query)s::halfvec(384 /* dimension */) as distance
    from (select passage as ref, tenant, model, v from embedding) m
    where m.tenant = %(tenant)s
        and m.model = %(model)s
        and (m.ref >> 20 not in (select i.row from item i where i.tenant = %(tenant)s and i.forgotten <> 0)) is true
    order by distance
    limit %(limit)s
) nearest;

-- name: avoid_sorting
-- The planner guesses far too few rows behind row-level security to choose a tenant's own index by itself.
set local enable_sort = off;

-- name: cosines
-- The cosine of each of these passages that has a vector.
select passage as ref, 1 - (v <=> %(query)s::halfvec) as cosine
from embedding
where tenant = %(tenant)s
    and model = %(model)s
    and passage = any(array(select jsonb_array_elements_text(%(refs)s::jsonb)::bigint));

-- name: first_vectors
-- The vectors of the first passages of items.
select v.passage as ref, v.v
from item i
join embedding v on v.tenant = i.tenant and v.passage = i.row << 20 and v.model = %(model)s
where i.tenant = %(tenant)s /* filters */;

-- name: large_tenants
-- The tenants with at least so many passages that have vectors, and the partition that holds these, or the table itself
-- if it has no partitions.
select h.tenant,
    case
        when to_regclass('embedding_0') is null then 'embedding'
        else (
            select v.tableoid::regclass::text
            from embedding v
            where v.tenant = h.tenant and v.model = %(model)s
            limit 1
        )
    end as partition
from head h
where h.passages >= %(least)s
    and exists (select 1 from embedding v where v.tenant = h.tenant and v.model = %(model)s);

-- name: own_index_is_valid
-- Whether a tenant's own index is complete. A build that broke off leaves one that is not.
select indisvalid as valid
from pg_index
where indexrelid = to_regclass(%(name)s::text);

-- name: drop_own_index
-- Remove a tenant's own index. `own_index` is replaced by its name.
drop index concurrently if exists own_index;

-- name: create_own_index
-- Build a tenant's own index while it goes on writing. `own_index`, `embedding_0` and the dimension are replaced.
create index concurrently own_index
    on embedding_0
    using hnsw ((v::halfvec(384 /* dimension */)) halfvec_cosine_ops)
    where tenant = %(tenant)s and model = %(model)s;


-- ======== Outbox ========

-- name: outbox_tenants
-- The tenants that have work for a consumer, in any order, found by one step in the index for each.
with recursive w (tenant) as (
    select min(tenant)
    from outbox
    where consumer = %(consumer)s
    union all
    select (select min(o.tenant) from outbox o where o.consumer = %(consumer)s and o.tenant > w.tenant)
    from w
    where w.tenant is not null
)
select tenant
from w
where tenant is not null
order by random();

-- name: due_jobs
-- The jobs of a tenant that are due, newest first.
select seq, stream, attempts
from outbox
where tenant = %(tenant)s
    and consumer = %(consumer)s
    and status <> 'failed'
    and due <= %(now)s
    and not exists (select 1 from head where tenant = %(tenant)s and frozen)
order by seq desc
limit %(limit)s
for update skip locked;

-- name: put_job
-- Add jobs, given as a JSON array, or replace those of the same events and consumers.
insert into outbox (tenant, seq, consumer, stream, attempts, status, due, error)
select h.tenant, r.seq, r.consumer, r.stream, r.attempts, r.status, r.due, null
from head h
cross join json_to_recordset(%(rows)s::json) as r (
    seq bigint, consumer text, stream text, attempts integer, status text, due text
)
where h.tenant = %(tenant)s
on conflict (tenant, consumer, seq) do update
set stream = excluded.stream,
    attempts = excluded.attempts,
    status = excluded.status,
    due = excluded.due,
    error = excluded.error;

-- name: postpone_job
-- Put a failed job back, or give it up.
update outbox
set status = %(status)s, due = %(due)s, error = %(error)s
where tenant = %(tenant)s and seq = %(seq)s and consumer = %(consumer)s;

-- name: release_job
-- Give a leased job back: it is due at once, and this was no try.
update outbox
set status = 'pending', attempts = attempts - 1, due = ''
where tenant = %(tenant)s and seq = %(seq)s and consumer = %(consumer)s;

-- name: delete_jobs
-- Remove jobs that are done.
delete from outbox
where tenant = %(tenant)s
    and consumer = %(consumer)s
    and seq = any(array(select jsonb_array_elements_text(%(seqs)s::jsonb)::bigint));

-- name: delete_jobs_of_stream
-- Remove the jobs of something that was erased.
delete from outbox
where tenant = %(tenant)s and stream = %(stream)s;

-- name: count_done_jobs
-- Count jobs that are done.
insert into outbox_done (tenant, consumer, count)
values (%(tenant)s, %(consumer)s, %(jobs)s)
on conflict (tenant, consumer) do update
set count = outbox_done.count + excluded.count;

-- name: retry_failed_jobs
-- Make the jobs that were given up due again.
update outbox
set status = 'pending', attempts = 0, due = %(now)s
where consumer = %(consumer)s and status = 'failed';

-- name: count_waiting
-- How many jobs of a tenant wait, counted up to a limit.
select count(*) as jobs
from (select 1 from outbox where tenant = %(tenant)s and consumer = %(consumer)s limit %(limit)s) w;

-- name: count_waiting_of_all
-- How many jobs of all tenants wait, counted up to a limit.
select count(*) as jobs
from (select 1 from outbox where consumer = %(consumer)s limit %(limit)s) w;

-- name: count_due_of_all
-- How many jobs of all tenants a worker could lease now, counted up to a limit.
select count(*) as jobs
from (
    select 1
    from outbox
    where consumer = %(consumer)s and status <> 'failed' and due <= %(now)s
        and not exists (select 1 from head where head.tenant = outbox.tenant and frozen)
    limit %(limit)s
) w;

-- name: count_leased
-- How many jobs of a tenant somebody has leased and not settled yet.
select count(*) as jobs
from outbox
where tenant = %(tenant)s and consumer = %(consumer)s and status = 'leased' and due > %(now)s;

-- name: outbox_errors
-- Why jobs were given up, newest first.
select tenant, stream, consumer, attempts, error
from outbox
where status = 'failed'
order by due desc
limit 20;

-- name: outbox_counts
-- How many jobs are pending, failed and done, of one tenant or of all (null).
select consumer, case status when 'failed' then 'failed' else 'pending' end as status, count(*) as jobs
from outbox
where %(tenant)s::text is null or tenant = %(tenant)s
group by 1, 2
union all
select consumer, 'processed', sum(count)
from outbox_done
where %(tenant)s::text is null or tenant = %(tenant)s
group by 1;

-- ======== Answers under idempotency keys ========

-- name: answer
-- What an actor was answered under a key.
select actor, key, request, body, sealed, at
from answer
where tenant = %(tenant)s and actor = %(actor)s and key = %(key)s;

-- name: answers
-- Every answer of a tenant, oldest first.
select actor, key, request, body, sealed, at
from answer
where tenant = %(tenant)s
order by at, actor, key;

-- name: put_answer
-- Keep an answer under its key.
insert into answer (tenant, actor, key, request, body, sealed, at)
values (%(tenant)s, %(actor)s, %(key)s, %(request)s, %(body)s, %(sealed)s, %(at)s)
on conflict (tenant, actor, key) do update
set request = excluded.request, body = excluded.body, sealed = excluded.sealed, at = excluded.at;

-- name: count_old_answers
-- How many answers are old, of all tenants, counted up to a limit.
select count(*) as answers
from (select 1 from answer where at < %(before)s limit %(limit)s) a;

-- name: delete_answers
-- Remove some old answers, of all tenants.
delete from answer
using (
    select tenant, actor, key
    from answer
    where at < %(before)s
    order by at
    limit %(limit)s
) old
where answer.tenant = old.tenant and answer.actor = old.actor and answer.key = old.key;

-- name: savepoint
-- Mark where a part of a transaction begins.
savepoint part;

-- name: release_savepoint
-- Keep the part.
release savepoint part;

-- name: rollback_to_savepoint
-- Take the part back.
rollback to savepoint part;


-- ======== Records and client keys ========

-- name: records
-- Everything that a tenant keeps beside its items.
select name, value
from setting
where tenant = %(tenant)s
order by name;

-- name: database_id
-- The random id of this database.
select value
from setting
where tenant = '' and name = 'database';

-- name: put_record
-- Keep a value under a name.
insert into setting (tenant, name, value)
values (%(tenant)s, %(name)s, %(value)s)
on conflict (tenant, name) do update
set value = excluded.value;

-- name: client_keys
-- Every client key, oldest first.
select id, digest, name, tenant, "user", scopes, created_at, expires_at, last_used, revoked, paused
from client_key
order by created_at, id;

-- name: client_key_by_digest
-- The client key with this SHA-256 digest.
select id, digest, name, tenant, "user", scopes, created_at, expires_at, last_used, revoked, paused
from client_key
where digest = %(digest)s;

-- name: client_key_by_id
-- The client key with this id.
select id, digest, name, tenant, "user", scopes, created_at, expires_at, last_used, revoked, paused
from client_key
where id = %(id)s;

-- name: add_client_key
-- Add a client key.
insert into client_key (id, digest, name, tenant, "user", scopes, created_at, expires_at, last_used, revoked, paused)
values (%(id)s, %(digest)s, %(name)s, %(tenant)s, %(user)s, %(scopes)s, %(created_at)s, %(expires_at)s,
    %(last_used)s, %(revoked)s, %(paused)s);

-- name: revoke_client_key
-- Stop letting a client in.
update client_key
set revoked = 1
where id = %(id)s;

-- name: pause_client_key
-- Keep a client out for a while, or let it in again.
update client_key
set paused = %(paused)s
where id = %(id)s;

-- name: delete_client_key
-- Remove a key that nobody has seen.
delete from client_key
where id = %(id)s;

-- name: note_client_key_use
-- Note when a key was last used.
update client_key
set last_used = %(last_used)s
where id = %(id)s;

-- name: end_ticket
-- Let a ticket count no more; no row if it did not count before.
insert into ended_ticket (tenant, nonce, ends)
values (%(tenant)s, %(nonce)s, %(ends)s)
on conflict (tenant, nonce) do nothing
returning nonce;

-- name: ended_ticket
-- A ticket that counts no more.
select nonce
from ended_ticket
where tenant = %(tenant)s and nonce = %(nonce)s;

-- name: delete_old_tickets
-- Forget the tickets that have ended by themselves.
delete from ended_ticket
where ends <= %(now)s;

-- ======== Rebuilding the rows from the log ========

-- name: delete_all_items
-- Remove the items of all tenants.
delete from item;

-- name: delete_all_tags
-- Remove the tags of all tenants.
delete from tag;

-- name: delete_all_sketches
-- Remove the sketches of all tenants.
delete from sketch;

-- name: delete_all_passages
-- Remove the passages of all tenants.
delete from passage;

-- name: delete_all_superseded
-- Remove the marks of replaced items of all tenants; the rebuild compares again.
delete from superseded;

-- name: delete_all_duplicates
-- Remove the pairs of items that say the same of all tenants; the rebuild compares again.
delete from duplicate;

-- name: delete_all_links
-- Remove the links of all tenants.
delete from link;

-- name: delete_all_embed_jobs
-- Remove the embedding jobs of all tenants; the rebuild queues them again.
delete from outbox
where consumer = 'embed';

-- name: reset_heads
-- Set every tenant's head to the end of its log, with totals of zero.
insert into head (tenant, seq, at)
select tenant, max(seq), max(at)
from event
where true
group by tenant
order by min(at)
on conflict (tenant) do update
set seq = excluded.seq, at = excluded.at, passages = 0, terms = 0;

-- name: delete_all_postings
-- Empty the text index.
delete from posting;

-- name: delete_all_terms
-- Remove the counts of passages per term.
delete from term;

-- ======== Moving tenants between databases ========

-- name: lock_tenant_move
-- Let one process move a tenant at a time; false if another one does so now.
select pg_try_advisory_xact_lock(723654819, hashtext(%(tenant)s)) as locked;

-- name: homes
-- Which database each tenant lives in, if not in this one.
select tenant, url
from home;

-- name: put_home
-- Note that a tenant lives in another database.
insert into home (tenant, url)
values (%(tenant)s, %(url)s)
on conflict (tenant) do update
set url = excluded.url;

-- name: delete_home
-- Note that a tenant lives in this database.
delete from home
where tenant = %(tenant)s;

-- name: is_frozen
-- Whether the writes of a tenant are refused here.
select frozen
from head
where tenant = %(tenant)s;

-- name: set_frozen
-- Refuse the writes of a tenant here, or let them in again.
update head
set frozen = %(frozen)s
where tenant = %(tenant)s;

-- name: clear_head
-- The head of a tenant that was purged here: it keeps its number, and is still frozen.
update head
set seq = 0, passages = 0, terms = 0, at = ''
where tenant = %(tenant)s;

-- name: purge_event
-- Remove a tenant that has moved away from the table event.
delete from event
where tenant = %(tenant)s;

-- name: purge_item
-- Remove a tenant that has moved away from the table item.
delete from item
where tenant = %(tenant)s;

-- name: purge_tag
-- Remove a tenant that has moved away from the table tag.
delete from tag
where tenant = %(tenant)s;

-- name: purge_passage
-- Remove a tenant that has moved away from the table passage.
delete from passage
where tenant = %(tenant)s;

-- name: purge_posting
-- Remove a tenant that has moved away from the table posting.
delete from posting
where tenant = %(tenant)s;

-- name: purge_term
-- Remove a tenant that has moved away from the table term.
delete from term
where tenant = %(tenant)s;

-- name: purge_sketch
-- Remove a tenant that has moved away from the table sketch.
delete from sketch
where tenant = %(tenant)s;

-- name: purge_link
-- Remove a tenant that has moved away from the table link.
delete from link
where tenant = %(tenant)s;

-- name: purge_embedding
-- Remove a tenant that has moved away from the table embedding.
delete from embedding
where tenant = %(tenant)s;

-- name: purge_outbox
-- Remove a tenant that has moved away from the table outbox.
delete from outbox
where tenant = %(tenant)s;

-- name: purge_outbox_done
-- Remove a tenant that has moved away from the table outbox_done.
delete from outbox_done
where tenant = %(tenant)s;

-- name: purge_access
-- Remove a tenant that has moved away from the table access.
delete from access
where tenant = %(tenant)s;

-- name: purge_item_read
-- Remove a tenant that has moved away from the table item_read.
delete from item_read
where tenant = %(tenant)s;

-- name: purge_client_call
-- Remove a tenant that has moved away from the table client_call.
delete from client_call
where tenant = %(tenant)s;

-- name: purge_superseded
-- Remove a tenant that has moved away from the table superseded.
delete from superseded
where tenant = %(tenant)s;

-- name: purge_duplicate
-- Remove a tenant that has moved away from the table duplicate.
delete from duplicate
where tenant = %(tenant)s;

-- name: purge_answer
-- Remove a tenant that has moved away from the table answer.
delete from answer
where tenant = %(tenant)s;

-- name: purge_setting
-- Remove a tenant that has moved away from the table setting.
delete from setting
where tenant = %(tenant)s;
