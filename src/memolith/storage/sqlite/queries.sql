-- Every statement that the SQLite store runs, as it runs it.
--
-- You can paste any of them into the sqlite3 shell: set the parameters with `.parameter set :tenant "'local'"`,
-- and start the shell with a recent SQLite (3.45 or newer).
--
-- A statement begins after the line `-- name: ...` and its comment, and ends with a semicolon.
-- `/* filters */` marks where the conditions of a filter go (see filters.py); the statement is valid without them.
-- Lists are passed as JSON arrays and read with json_each().
--
-- A passage reference is `item.row << 20 | passage.ordinal`, so `ref >> 20` is the row of the item, and
-- `row << 20` is its first passage. See domain/passages.py.


-- ======== Schema ========

-- name: table_names
-- The tables, indexes and triggers that the file has.
select name
from sqlite_schema;

-- name: create_migration_table
-- The list of migrations that were applied.
create table if not exists migration (
    number integer primary key,
    name text not null,
    checksum text not null,
    oldest integer not null
);

-- name: applied_migrations
-- The migrations that were applied. Very old files have no column `oldest`, hence the star.
select *
from migration;

-- name: add_migration
-- Note that a migration was applied.
insert into migration (number, name, oldest, checksum)
values (:number, :name, :oldest, :checksum);

-- name: count_migration_tables
-- Whether a file is one of memolith at all.
select count(*) as tables
from sqlite_schema
where name = 'migration';

-- name: tree_roots
-- The first page of every table and index.
select rootpage as page
from sqlite_schema
where rootpage > 0;

-- name: touch_database_id
-- A change that changes nothing. It makes other connections drop the pages they have cached.
update setting
set value = value
where tenant = '' and name = 'database';


-- ======== Tenants and the event log ========

-- name: tenants
-- Every tenant that has events, oldest first.
select tenant
from (
    select tenant, number from head where seq > 0
    union
    select distinct tenant, null from event
)
group by tenant
order by coalesce(max(number), 1e9), tenant;

-- name: head
-- Where the log of a tenant stands, and the totals that ranking needs.
select number, seq, passages, terms, at
from head
where tenant = :tenant;

-- name: head_for_writing
-- The same, unless writes are refused.
select number, seq, passages, terms, at
from head
where tenant = :tenant and not frozen;

-- name: add_head
-- The row of a new tenant.
insert into head (tenant, seq)
values (:tenant, 0)
on conflict (tenant) do nothing;

-- name: write_totals
-- Where the log of a tenant stands after a write.
update head
set seq = :seq, passages = :passages, terms = :terms, at = :at
where tenant = :tenant;

-- name: event_by_seq
-- One event by its sequence number.
select tenant, seq, stream, version, type, data, actor, at, key
from event
where tenant = :tenant and seq = :seq;

-- name: event_by_key
-- The event that an actor wrote under an idempotency key.
select tenant, seq, stream, version, type, data, actor, at, key
from event
where tenant = :tenant and actor = :actor and key = :key;

-- name: events_of_stream
-- The history of one item or link, oldest first.
select tenant, seq, stream, version, type, data, actor, at, key
from event indexed by event_stream
where tenant = :tenant and stream = :stream
order by version;

-- name: events_after
-- The log of a tenant from some point on.
select tenant, seq, stream, version, type, data, actor, at, key
from event
where tenant = :tenant and seq > :seq
order by seq
limit :limit;

-- name: event_time
-- When an event happened.
select at
from event
where tenant = :tenant and seq = :seq;

-- name: newest_versions
-- The last event of each of these items or links that is not computed.
select stream, max(version) as version
from event indexed by event_stream
where tenant = :tenant
    and stream in (select value from json_each(:streams))
    and type <> 'appraised'
group by 1;

-- name: present_streams
-- Which of these items and links have events.
select distinct stream
from event indexed by event_stream
where tenant = :tenant
    and stream in (select value from json_each(:streams));

-- name: list_events
-- The newest events of a stretch of the log that a caller may see. An event of a link counts if both ends do; `links`
-- is 0 where such events are left out. What has no row any more, or never had one, is `lost`: such events are shown
-- to nobody (0), to whoever caused the first of them (1), or to all (2).
select e.seq, e.stream, e.version, e.type, e.actor, e.at, e.data ->> 'undoes' is not null as is_undo
from event e
where e.tenant = :tenant and e.seq > :after and e.seq < :before
    and (:actor is null or e.actor = :actor)
    and (:types = '[]' or e.type in (select value from json_each(:types)))
    and case
        when e.type in ('linked', 'relinked', 'unlinked') then :links = 1 and 2 = (
            select count(*)
            from event f indexed by event_stream
            join item i on i.tenant = :tenant and i.id in (f.data ->> 'source', f.data ->> 'target')
            where f.tenant = :tenant and f.stream = e.stream and f.version = 1 /* filters */
        )
        when exists (select 1 from item where tenant = :tenant and id = e.stream) then exists (
            select 1
            from item i
            where i.tenant = :tenant and i.id = e.stream /* filters */
        )
        else :lost = 2 or :lost = 1 and exists (
            select 1
            from event f indexed by event_stream
            where f.tenant = :tenant and f.stream = e.stream and f.version = 1 and f.actor = :user
        )
    end
order by e.seq desc
limit :limit;

-- name: count_events_by_actor
-- How many events of a stretch of the log each actor caused, as far as a caller may see them: see `list_events`.
-- Where the caller sees all, nothing is looked up.
select e.actor as name, count(*) as events
from event e
where e.tenant = :tenant and e.seq > :after and e.type <> 'appraised'
    and (:all = 1 or case
        when e.type in ('linked', 'relinked', 'unlinked') then 2 = (
            select count(*)
            from event f indexed by event_stream
            join item i on i.tenant = :tenant and i.id in (f.data ->> 'source', f.data ->> 'target')
            where f.tenant = :tenant and f.stream = e.stream and f.version = 1 /* filters */
        )
        else exists (
            select 1
            from item i
            where i.tenant = :tenant and i.id = e.stream /* filters */
        )
    end)
group by 1
order by 2 desc, 1;

-- name: streams_after
-- The items and links that have an event later than some time.
select distinct stream
from event
where tenant = :tenant and at > :after;

-- name: log_bounds
-- How many events a tenant has, and the first and last sequence number.
select count(*) as events, coalesce(min(seq), 0) as first, coalesce(max(seq), 0) as last
from event
where tenant = :tenant;

-- name: add_event
-- Append an event.
insert into event (tenant, seq, stream, version, type, data, actor, at, key)
values (:tenant, :seq, :stream, :version, :type, :data, :actor, :at, :key);

-- name: scrub_events
-- Empty the events of something that was erased.
update event
set data = '{}', key = null
where tenant = :tenant and stream = :stream and type <> 'erased';

-- name: list_streams
-- The streams between two names that have events in a stretch of the log, the one with the newest event first.
select e.stream, max(e.seq) as last
from event e indexed by event_stream
where e.tenant = :tenant and e.stream >= :first and e.stream < :end
    and e.seq > :after and e.seq < :before
    and (:actor is null or e.actor = :actor)
    and (:projects is null or e.data ->> 'project' is null
        or e.data ->> 'project' in (select value from json_each(:projects)))
group by e.stream
order by last desc
limit :limit offset :offset;

-- name: count_streams
-- How many such streams there are.
select count(distinct e.stream) as streams
from event e indexed by event_stream
where e.tenant = :tenant and e.stream >= :first and e.stream < :end
    and e.seq > :after and e.seq < :before
    and (:actor is null or e.actor = :actor)
    and (:projects is null or e.data ->> 'project' is null
        or e.data ->> 'project' in (select value from json_each(:projects)));

-- name: link_streams
-- Every link that ever started or ended at an item, removed ones included.
select stream
from event indexed by event_source
where tenant = :tenant and type = 'linked' and data ->> 'source' = :item
union
select stream
from event indexed by event_target
where tenant = :tenant and type = 'linked' and data ->> 'target' = :item;


-- ======== Items ========

-- name: item
-- One item by its id.
select tenant, id, kind, title, status, owner, audience, project, namespace, tags, attributes,
    version, seq, created_at, updated_at, blocks, passages, forgotten
from item
where tenant = :tenant and id = :id;

-- name: items
-- Several items by their ids.
select tenant, id, kind, title, status, owner, audience, project, namespace, tags, attributes,
    version, seq, created_at, updated_at, blocks, passages, forgotten
from item
where tenant = :tenant and id in (select value from json_each(:ids));

-- name: all_items
-- Every item of a tenant.
select row, tenant, id, kind, title, status, owner, audience, project, namespace, tags, attributes,
    version, seq, created_at, updated_at, blocks, passages, forgotten
from item
where tenant = :tenant
order by id;

-- name: item_ids_from
-- The first ids of a tenant in their order, from some id on.
select id
from item
where tenant = :tenant and id >= :start
order by id
limit :limit;

-- name: item_id_before
-- The id that comes before another one in their order.
select id
from item
where tenant = :tenant and id < :id
order by id desc
limit 1;

-- name: items_titled
-- The live items of a kind with exactly this title.
select tenant, id, kind, title, status, owner, audience, project, namespace, tags, attributes,
    version, seq, created_at, updated_at, blocks, passages, forgotten
from item
where tenant = :tenant and kind = :kind and title = :title and title <> '' and forgotten = 0;

-- name: item_row
-- The row number of an item.
select row
from item
where tenant = :tenant and id = :id;

-- name: last_item_row
-- The highest row number that an item has, whichever its tenant; 0 if there is none.
select coalesce(max(row), 0) as last
from item;

-- name: add_item
-- Add a new item.
insert into item (row, tenant, id, kind, title, status, owner, audience, project, namespace, tags, attributes,
    version, seq, created_at, updated_at, blocks, passages, forgotten)
values (:row, :tenant, :id, :kind, :title, :status, :owner, :audience, :project, :namespace, :tags, :attributes,
    :version, :seq, :created_at, :updated_at, :blocks, :passages, :forgotten);

-- name: update_item
-- Replace what the row of an item says.
update item
set kind = :kind,
    title = :title,
    status = :status,
    owner = :owner,
    audience = :audience,
    project = :project,
    namespace = :namespace,
    tags = :tags,
    attributes = :attributes,
    version = :version,
    seq = :seq,
    created_at = :created_at,
    updated_at = :updated_at,
    blocks = :blocks,
    passages = :passages,
    forgotten = :forgotten
where tenant = :tenant and id = :id;

-- name: delete_item
-- Remove an item.
delete from item
where tenant = :tenant and id = :id;

-- name: list_items
-- One page of a list. `i.seq desc /* order */` is replaced by the order that was asked for.
select i.tenant, i.id, i.kind, i.title, i.status, i.owner, i.audience, i.project, i.namespace, i.tags,
    i.attributes, i.version, i.seq, i.created_at, i.updated_at, i.blocks, i.passages, i.forgotten
from item i
where i.tenant = :tenant /* filters */
order by i.seq desc /* order */
limit :limit offset :offset;

-- name: count_items
-- How many items such a list has in all.
select count(*) as items
from item i
where i.tenant = :tenant /* filters */;

-- name: count_items_by_kind
-- How many items there are of each kind.
select i.kind as name, count(*) as items
from item i
where i.tenant = :tenant /* filters */
group by 1
order by 2 desc, 1;

-- name: count_items_by_status
-- How many items there are in each status.
select i.status as name, count(*) as items
from item i
where i.tenant = :tenant /* filters */
group by 1
order by 2 desc, 1;

-- name: count_items_by_namespace
-- How many items there are in each namespace.
select i.namespace as name, count(*) as items
from item i
where i.tenant = :tenant /* filters */
group by 1
order by 2 desc, 1;

-- name: count_items_by_project
-- How many items there are in each project.
select i.project as name, count(*) as items
from item i
where i.tenant = :tenant /* filters */
group by 1
order by 2 desc, 1;

-- name: count_items_by_tag
-- How many items there are with each tag.
select t.tag as name, count(*) as items
from tag t
join item i on i.tenant = t.tenant and i.row = t.item
where t.tenant = :tenant /* filters */
group by 1
order by 2 desc, 1;

-- name: count_items_by_day
-- How many items were written on each day, from some point of the log on.
select substr(i.created_at, 1, 10) as name, count(*) as items
from item i
where i.tenant = :tenant and i.seq > :after /* filters */
group by 1
order by 1;

-- name: concept_tree
-- How many concepts there are per area, topic and subtopic, and how many events they have.
select i.attributes ->> 'area' as area,
    i.attributes ->> 'topic' as topic,
    i.attributes ->> 'subtopic' as subtopic,
    sum(1 - i.forgotten) as live,
    sum(i.version) as events
from item i
where i.tenant = :tenant and i.kind = 'concept' /* filters */
group by 1, 2, 3;

-- name: folders
-- How many conversations there are per folder and importance.
select i.attributes ->> 'folder' as folder,
    i.attributes ->> 'importance_score' as importance,
    count(*) as conversations
from item i
where i.tenant = :tenant /* filters */
group by 1, 2;

-- name: note_rows
-- What tells the names of notes. An attribute that is no text counts as none.
select i.id, i.title, i.project,
    iif(json_type(i.attributes, '$.path') = 'text', i.attributes ->> 'path', null) as path,
    iif(json_type(i.attributes, '$.permalink') = 'text', i.attributes ->> 'permalink', null) as permalink,
    i.attributes -> 'unresolved_links' as waiting
from item i
where i.tenant = :tenant /* filters */;

-- name: owner_bounds
-- The first and the last owner by name. If both are the same, the tenant has one owner only.
select (select min(owner) from item where tenant = :tenant) as first,
    (select max(owner) from item where tenant = :tenant) as last;

-- name: any_expiring_item
-- One row if the tenant has an item that expires, else none.
select 1 as found
from item i
where i.tenant = :tenant and i.attributes ->> 'expires_at' is not null
limit 1;

-- name: cut_items
-- The items that have a block which was cut into several passages.
select row
from item
where tenant = :tenant and passages <> blocks;

-- name: more_items_with_tag
-- One row if more than so many items have this tag.
select 1 as found
from tag
where tenant = :tenant and tag = :value
limit 1 offset :most;

-- name: more_items_with_kind
-- One row if more than so many items are of this kind.
select 1 as found
from item
where tenant = :tenant and kind = :value
limit 1 offset :most;

-- name: more_items_with_project
-- One row if more than so many items are in this project.
select 1 as found
from item
where tenant = :tenant and project = :value
limit 1 offset :most;

-- name: more_items_with_namespace
-- One row if more than so many items are in this namespace.
select 1 as found
from item
where tenant = :tenant and namespace = :value
limit 1 offset :most;


-- ======== Passages, tags and sketches ========

-- name: passages_of_items
-- The passages of several items, in order.
with i as materialized (
    select id, row, row << 20 as low, (row + 1) << 20 as high
    from item
    where tenant = :tenant and id in (select value from json_each(:ids))
)
select p.id as ref, i.id as item, p.ordinal, p.block, p.text, p.at, p.speaker, p.locator,
    p.attributes as passage_attributes
from i
cross join passage p not indexed on p.tenant = :tenant and p.id >= i.low and p.id < i.high
order by i.row, p.id;

-- name: passages_at
-- Passages by their references, each with its item.
select p.id as ref, i.id as item, p.ordinal, p.block, p.text, p.at, p.speaker, p.locator,
    p.attributes as passage_attributes,
    i.tenant, i.id, i.kind, i.title, i.status, i.owner, i.audience, i.project, i.namespace, i.tags,
    i.attributes, i.version, i.seq, i.created_at, i.updated_at, i.blocks, i.passages, i.forgotten
from passage p not indexed
join item i on i.tenant = p.tenant and i.row = p.item
where p.tenant = :tenant and p.id in (select value from json_each(:refs));

-- name: all_passages
-- Every passage of a tenant.
select id as ref, item as item_row, ordinal, block, text, at, speaker, locator,
    attributes as passage_attributes
from passage
where tenant = :tenant;

-- name: passages_after
-- The references of the next passages of a tenant.
select id as ref
from passage not indexed
where id > :after and tenant = :tenant
order by id
limit :limit;

-- name: passages_with_other_letters
-- The references of the next passages whose text, title or speaker has letters beyond ASCII.
select p.id as ref
from passage p not indexed
join item i on i.row = p.item
where p.id > :after and p.tenant = :tenant and (
    octet_length(p.text) > length(p.text)
    or octet_length(i.title) > length(i.title)
    or octet_length(p.speaker) > length(p.speaker)
)
order by p.id
limit :limit;

-- name: text_sizes
-- The first passage of several items, and how many characters and bytes of text they have.
with i as materialized (
    select id, row << 20 as low, (row + 1) << 20 as high
    from item
    where tenant = :tenant and id in (select value from json_each(:ids))
)
select i.id, i.low as first, sum(length(p.text)) as characters, sum(octet_length(p.text)) as bytes
from i
cross join passage p not indexed on p.tenant = :tenant and p.id >= i.low and p.id < i.high
group by 1, 2;

-- name: beginnings
-- How the texts of several items begin.
select i.id, substr(p.text, 1, :characters) as text
from item i
cross join passage p not indexed on p.id = i.row << 20
where i.tenant = :tenant and i.id in (select value from json_each(:ids)) and p.tenant = :tenant;

-- name: count_blocks
-- How many blocks these passages belong to, without those that are known (as `row << 20 | block`).
select count(distinct item << 20 | block) as blocks
from passage not indexed
where tenant = :tenant
    and id in (select value from json_each(:refs))
    and not (item << 20 | block) in (select value from json_each(:known));

-- name: visible_speakers
-- Those of the names who speak in an item that the caller may see.
select wanted.value as name
from json_each(:names) wanted
where exists (
    select 1
    from passage p
    join item i on i.row = p.item
    where p.tenant = :tenant and p.speaker = wanted.value /* filters */
);

-- name: speakers
-- The first 200 speakers by name, found by one step in the index for each.
with recursive s (name) as (
    select min(speaker)
    from passage
    where tenant = :tenant and speaker is not null
    union all
    select (select min(p.speaker) from passage p where p.tenant = :tenant and p.speaker > s.name)
    from s
    where s.name is not null
)
select name
from s
where name is not null
limit 200;

-- name: add_passage
-- Add a passage.
insert into passage (id, tenant, item, ordinal, block, text, at, speaker, locator, attributes)
values (:id, :tenant, :item, :ordinal, :block, :text, :at, :speaker, :locator, :attributes);

-- name: delete_passage
-- Remove a passage.
delete from passage
where tenant = :tenant and id = :id;

-- name: all_tags
-- Every tag of a tenant with the row of its item.
select tag, item
from tag
where tenant = :tenant;

-- name: add_tag
-- Give an item a tag.
insert into tag (tenant, tag, item)
values (:tenant, :tag, :item);

-- name: delete_tag
-- Take a tag from an item.
delete from tag
where tenant = :tenant and tag = :tag and item = :item;

-- name: all_sketches
-- Every sketch mark of a tenant with the row of its item.
select mark, item
from sketch
where tenant = :tenant;

-- name: add_sketch
-- Add a mark of an item's first passage.
insert into sketch (tenant, mark, item)
values (:tenant, :mark, :item);

-- name: delete_sketch
-- Remove a mark.
delete from sketch
where tenant = :tenant and mark = :mark and item = :item;

-- name: items_like
-- The items that share a sketch mark, and have so many passages (0 means any number).
select i.id
from sketch s
cross join item i on i.tenant = s.tenant and i.row = s.item
where s.tenant = :tenant
    and s.mark in (select value from json_each(:marks))
    and (i.passages = :passages or :passages = 0) /* filters */
limit 20;


-- ======== Links ========

-- name: link_by_id
-- One link by its id.
select id, source, target, type, strength, attributes, version, seq, created_at, updated_at
from link
where tenant = :tenant and id = :id;

-- name: link_between
-- The link of a type from one item to another.
select id, source, target, type, strength, attributes, version, seq, created_at, updated_at
from link
where tenant = :tenant and source = :source and target = :target and type = :type;

-- name: all_links
-- Every link of a tenant.
select id, source, target, type, strength, attributes, version, seq, created_at, updated_at
from link
where tenant = :tenant
order by id;

-- name: ends_from
-- The ends and types of the links that start at these items.
select source, target, type
from link indexed by link_source
where tenant = :tenant and source in (select value from json_each(:ids));

-- name: ends_to
-- The ends and types of the links that end at these items.
select source, target, type
from link indexed by link_target
where tenant = :tenant and target in (select value from json_each(:ids));

-- name: count_links_from
-- How many links start at each item.
select source as id, count(*) as links
from link indexed by link_source
where tenant = :tenant and (:types = '[]' or type in (select value from json_each(:types)))
group by source;

-- name: count_links_to
-- How many links end at each item.
select target as id, count(*) as links
from link indexed by link_target
where tenant = :tenant and (:types = '[]' or type in (select value from json_each(:types)))
group by target;

-- name: count_link_types
-- How many links there are of each type.
select type, count(*) as links
from link indexed by link_source
where tenant = :tenant
group by type;

-- name: nodes
-- All items, as far as a picture of the graph shows them.
select i.id, i.kind, i.title, i.namespace, i.seq
from item i
where i.tenant = :tenant /* filters */;

-- name: links_from
-- The links that start at these items.
select id, source, target, type, strength, attributes, version, seq, created_at, updated_at
from link indexed by link_source
where tenant = :tenant and source in (select value from json_each(:ids));

-- name: links_to
-- The links that end at these items.
select id, source, target, type, strength, attributes, version, seq, created_at, updated_at
from link indexed by link_target
where tenant = :tenant and target in (select value from json_each(:ids));

-- name: steps_forward
-- The steps along links that start at these items, with the title of the other end.
select l.source as start, l.target as "end", l.type as link_type, i.title as end_title
from link l indexed by link_source
cross join item i on i.tenant = l.tenant and i.id = l.target
where l.tenant = :tenant
    and l.source in (select value from json_each(:frontier))
    and (:types = '[]' or l.type in (select value from json_each(:types))) /* filters */;

-- name: steps_back
-- The steps along links that end at these items, with the title of the other end.
select l.target as start, l.source as "end", l.type as link_type, i.title as end_title
from link l indexed by link_target
cross join item i on i.tenant = l.tenant and i.id = l.source
where l.tenant = :tenant
    and l.target in (select value from json_each(:frontier))
    and (:types = '[]' or l.type in (select value from json_each(:types))) /* filters */;

-- name: put_link
-- Add a link, or replace the one with this id.
insert into link (tenant, id, source, target, type, strength, attributes, version, seq, created_at, updated_at)
values (:tenant, :id, :source, :target, :type, :strength, :attributes, :version, :seq, :created_at, :updated_at)
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
where tenant = :tenant and id = :id;


-- ======== How often items were read ========

-- name: superseded
-- Which of these items were replaced by a newer one, by which and when; of several the newest comes last.
-- Both must still be seen by the same people, and the newer one must be there. A link says where a person found that
-- the two do not speak of the same.
select m.item, m.successor, m.at
from superseded m
join item i on i.tenant = m.tenant and i.id = m.item
join item s on s.tenant = m.tenant and s.id = m.successor
where m.tenant = :tenant
    and m.item in (select value from json_each(:ids))
    and s.forgotten = 0
    and s.kind = i.kind
    and s.owner = i.owner
    and s.audience = i.audience
    and s.project is i.project
    and coalesce(s.attributes ->> 'expires_at', '~') > :now
    and not exists (
        select 1
        from link l indexed by link_source
        where l.tenant = i.tenant and l.source = i.id and l.type = 'DistinctFrom' and l.target = s.id
    )
    and not exists (
        select 1
        from link l indexed by link_source
        where l.tenant = i.tenant and l.source = s.id and l.type = 'DistinctFrom' and l.target = i.id
    )
order by m.item, m.at, m.successor;

-- name: superseding
-- The items that an item replaced. Both must still be seen by the same people.
select m.item
from superseded m indexed by superseded_successor
join item i on i.tenant = m.tenant and i.id = m.item
join item s on s.tenant = m.tenant and s.id = m.successor
where m.tenant = :tenant
    and m.successor = :id
    and s.kind = i.kind
    and s.owner = i.owner
    and s.audience = i.audience
    and s.project is i.project
order by m.at desc, m.item
limit 100;

-- name: all_superseded
-- Every mark of a replaced item.
select item, successor, at, similarity, reason
from superseded
where tenant = :tenant
order by item, successor;

-- name: all_duplicates
-- Every mark of an item that says the same as another.
select item, original, similarity
from duplicate
where tenant = :tenant
order by item, original;

-- name: put_superseded
-- Mark an item as replaced by a newer one.
insert into superseded (tenant, item, successor, at, similarity, reason)
values (:tenant, :item, :successor, :at, :similarity, :reason)
on conflict (tenant, item, successor) do update
set at = excluded.at, similarity = excluded.similarity, reason = excluded.reason;

-- name: delete_superseded
-- Remove the marks of an item whose text has changed or is gone, on either side.
delete from superseded
where tenant = :tenant and (item = :item or successor = :item);

-- name: put_duplicate
-- Note that an item says the same as an older one.
insert into duplicate (tenant, item, original, similarity)
values (:tenant, :item, :original, :similarity)
on conflict (tenant, item, original) do update
set similarity = excluded.similarity;

-- name: delete_duplicates
-- Remove the pairs of an item whose text has changed or is gone, on either side.
delete from duplicate
where tenant = :tenant and (item = :item or original = :item);

-- name: open_pairs
-- The pairs that wait for a decision of a person, the newest first. Both must be there and be seen by the same people,
-- and no link may say that they are two things.
with pair as (
    select 'contradiction' as kind, m.item as first, m.successor as second, m.similarity, m.reason
    from superseded m
    where m.tenant = :tenant and :kind in ('', 'contradiction')
    union all
    select 'duplicate', d.original, d.item, d.similarity, null
    from duplicate d
    where d.tenant = :tenant and :kind in ('', 'duplicate') and not exists (
        select 1
        from superseded m
        where m.tenant = d.tenant and m.item = d.original and m.successor = d.item
    )
)
select pair.kind, pair.first, pair.second, pair.similarity, pair.reason
from pair
cross join item i indexed by item_id on i.tenant = :tenant and i.id = pair.first
cross join item s indexed by item_id on s.tenant = :tenant and s.id = pair.second
where s.forgotten = 0
    and s.kind = i.kind
    and s.owner = i.owner
    and s.audience = i.audience
    and s.project is i.project
    and coalesce(s.attributes ->> 'expires_at', '~') > :now
    and i.status not in ('superseded', 'archived', 'deprecated')
    and s.status not in ('superseded', 'archived', 'deprecated')
    and not exists (
        select 1
        from link l indexed by link_source
        where l.tenant = i.tenant and l.source = i.id and l.type = 'DistinctFrom' and l.target = s.id
    )
    and not exists (
        select 1
        from link l indexed by link_source
        where l.tenant = i.tenant and l.source = s.id and l.type = 'DistinctFrom' and l.target = i.id
    ) /* filters */
order by s.seq desc, i.seq desc
limit :limit offset :offset;

-- name: count_open_pairs
-- How many of them there are, counted up to a limit.
with pair as (
    select 'contradiction' as kind, m.item as first, m.successor as second, m.similarity, m.reason
    from superseded m
    where m.tenant = :tenant and :kind in ('', 'contradiction')
    union all
    select 'duplicate', d.original, d.item, d.similarity, null
    from duplicate d
    where d.tenant = :tenant and :kind in ('', 'duplicate') and not exists (
        select 1
        from superseded m
        where m.tenant = d.tenant and m.item = d.original and m.successor = d.item
    )
)
select count(*) as pairs
from (
    select 1
    from pair
    cross join item i indexed by item_id on i.tenant = :tenant and i.id = pair.first
    cross join item s indexed by item_id on s.tenant = :tenant and s.id = pair.second
    where s.forgotten = 0
        and s.kind = i.kind
        and s.owner = i.owner
        and s.audience = i.audience
        and s.project is i.project
        and coalesce(s.attributes ->> 'expires_at', '~') > :now
        and i.status not in ('superseded', 'archived', 'deprecated')
        and s.status not in ('superseded', 'archived', 'deprecated')
        and not exists (
            select 1
            from link l indexed by link_source
            where l.tenant = i.tenant and l.source = i.id and l.type = 'DistinctFrom' and l.target = s.id
        )
        and not exists (
            select 1
            from link l indexed by link_source
            where l.tenant = i.tenant and l.source = s.id and l.type = 'DistinctFrom' and l.target = i.id
        ) /* filters */
    limit :limit
) counted;

-- name: accesses
-- How often and when last these items were read.
select item, count, last
from access
where tenant = :tenant and item in (select value from json_each(:ids));

-- name: add_access
-- Add reads of an item, if it still exists.
insert into access (tenant, item, count, last)
select :tenant, :item, :count, :last
where exists (select 1 from item where tenant = :tenant and id = :item)
on conflict (tenant, item) do update
set count = access.count + excluded.count,
    last = case when excluded.last > access.last then excluded.last else access.last end;

-- name: copy_access_to_item
-- The count stands in `item` too, so that a list can be in that order.
update item
set (reads, last_read) = (select count, last from access where tenant = :tenant and item = :item)
where tenant = :tenant and id = :item;

-- name: copy_all_accesses_to_items
-- The same for every item of every tenant, after a rebuild.
update item
set reads = a.count, last_read = a.last
from access a
where a.tenant = item.tenant and a.item = item.id;

-- name: delete_access
-- Forget how often an item was read.
delete from access
where tenant = :tenant and item = :item;

-- ======== Who has read and called ========

-- name: item_reads
-- The reads of items that the caller may see, the last one first.
select r.item, i.title, r.reader, r.tool, r.times, r.last
from item_read r
join item i on i.tenant = r.tenant and i.id = r.item
where r.tenant = :tenant
    and (r.reader = :reader or :reader = '')
    and r.last >= :since
    and (:of_everybody = 1 or r.reader = :filter_user or i.owner = :filter_user) /* filters */
order by r.last desc, r.item, r.reader, r.tool
limit :limit offset :offset;

-- name: count_item_reads
-- How many reads of items the caller may see, up to a limit.
select count(*) as reads
from (
    select 1
    from item_read r
    join item i on i.tenant = r.tenant and i.id = r.item
    where r.tenant = :tenant
        and (r.reader = :reader or :reader = '')
        and r.last >= :since
        and (:of_everybody = 1 or r.reader = :filter_user or i.owner = :filter_user) /* filters */
    limit :limit
) found;

-- name: reads_of_item
-- The reads of one item, if the caller may see it, the last one first.
select r.item, i.title, r.reader, r.tool, r.times, r.last
from item_read r
join item i on i.tenant = r.tenant and i.id = r.item
where r.tenant = :tenant
    and r.item = :item
    and (r.reader = :reader or :reader = '')
    and r.last >= :since
    and (:of_everybody = 1 or r.reader = :filter_user or i.owner = :filter_user) /* filters */
order by r.last desc, r.reader, r.tool
limit :limit offset :offset;

-- name: count_reads_of_item
-- How many reads of one item the caller may see, up to a limit.
select count(*) as reads
from (
    select 1
    from item_read r
    join item i on i.tenant = r.tenant and i.id = r.item
    where r.tenant = :tenant
        and r.item = :item
        and (r.reader = :reader or :reader = '')
        and r.last >= :since
        and (:of_everybody = 1 or r.reader = :filter_user or i.owner = :filter_user) /* filters */
    limit :limit
) found;

-- name: all_item_reads
-- Every read of a tenant.
select item, reader, tool, times, last
from item_read
where tenant = :tenant
order by item, reader, tool;

-- name: add_item_reads
-- Add to the counts of reads of the items that still exist.
insert into item_read (tenant, item, reader, tool, times, last)
select :tenant, n.value ->> 'item', n.value ->> 'reader', n.value ->> 'tool', n.value ->> 'times', n.value ->> 'last'
from json_each(:reads) n
where exists (select 1 from item i where i.tenant = :tenant and i.id = n.value ->> 'item')
on conflict (tenant, item, reader, tool) do update
set times = item_read.times + excluded.times,
    last = case when excluded.last > item_read.last then excluded.last else item_read.last end;

-- name: delete_item_reads
-- Forget who has read an item.
delete from item_read
where tenant = :tenant and item = :item;

-- name: tenants_with_old_usage
-- The tenants that have reads or calls to be forgotten.
select tenant
from item_read
where last < :before
union
select tenant
from client_call
where last < :before
order by tenant;

-- name: delete_old_item_reads
-- Forget old reads.
delete from item_read
where tenant = :tenant and last < :before;

-- name: client_calls
-- The calls of every program, the last one first.
select key, program, caller, calls, errors, first, last, last_error
from client_call
where tenant = :tenant
order by last desc, key, program, caller;

-- name: add_client_calls
-- Add to the counts of calls of a program with a key.
insert into client_call (tenant, key, program, caller, calls, errors, first, last, last_error)
values (:tenant, :key, :program, :caller, :calls, :errors, :first, :last, :last_error)
on conflict (tenant, key, program, caller) do update
set calls = client_call.calls + excluded.calls,
    errors = client_call.errors + excluded.errors,
    last = case when excluded.last > client_call.last then excluded.last else client_call.last end,
    last_error = case when excluded.last_error <> '' then excluded.last_error else client_call.last_error end;

-- name: delete_old_client_calls
-- Forget programs that have not called for long.
delete from client_call
where tenant = :tenant and last < :before;


-- ======== Text index ========

-- name: add_posting
-- Put a passage into the text index.
insert into passage_fts (rowid, body, extra, scope)
values (:id, :body, :extra, :scope);

-- name: delete_posting
-- Take a passage out of the text index, which must be told what it holds.
insert into passage_fts (passage_fts, rowid, body, extra, scope)
values ('delete', :id, :body, :extra, :scope);

-- name: term_frequencies
-- How many passages contain each of these terms.
select term, doc as passages
from json_each(:terms) wanted
cross join passage_terms on term = wanted.value;

-- name: count_matching
-- How many passages match an expression of the text index.
select count(*) as passages
from passage_fts
where passage_fts match :match;

-- name: count_each_matching
-- How many passages match each of some expressions, by their names.
select wanted.key as term,
    (select count(*) from passage_fts where passage_fts match wanted.value) as passages
from json_each(:matches) wanted;

-- name: newest_lengths
-- The numbers of terms in each column of the newest passages that match an expression.
select d.sz as sizes
from passage_fts f
join passage_fts_docsize d on d.id = f.rowid
where f.passage_fts match :match
order by f.rowid desc
limit :limit;

-- name: search_text
-- The best passages for a text query. The index itself orders what it finds.
select f.rowid as ref, -f.rank as score
from passage_fts f
join item i on i.row = f.rowid >> 20
where f.passage_fts match :match and i.tenant = :tenant /* filters */
order by f.rank
limit :limit;

-- name: search_text_filtered
-- The same where a filter leaves little: only what is left is ordered.
select f.rowid as ref, -f.rank as score
from passage_fts f
join item i on i.row = f.rowid >> 20
where f.passage_fts match :match and i.tenant = :tenant /* filters */
order by score desc
limit :limit;

-- name: search_text_passages
-- The same with a filter on the passages themselves.
select f.rowid as ref, -f.rank as score
from passage_fts f
join passage p on p.id = f.rowid
join item i on i.row = p.item
where f.passage_fts match :match and i.tenant = :tenant /* filters */
order by score desc
limit :limit;

-- name: create_instance_table
-- A view on the text index that tells every term of every passage.
create virtual table if not exists temp.instance using fts5vocab (main, passage_fts, instance);

-- name: text_index_instances
-- Every term of every passage in the text index.
select term, doc, col, offset
from temp.instance;

-- name: passage_refs
-- The references of all passages of all tenants.
select id as ref
from passage;


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
where tenant = :tenant and model = :model and passage in (select value from json_each(:refs));

-- name: vector_by_digest
-- The vector that the same text got before.
select v
from embedding
where tenant = :tenant and digest = :digest and model = :model
limit 1;

-- name: vectors_by_digest
-- The vectors that these texts got before: for each the first that is found, because many passages may say the same.
-- A text that has none has an empty one.
select unhex(d.value) as digest, (
    select v
    from embedding
    where tenant = :tenant and digest = unhex(d.value) and model = :model
    limit 1
) as v
from json_each(:digests) d;

-- name: add_vector
-- Give a passage a vector, if the passage still exists.
insert into embedding (tenant, passage, model, digest, v)
select :tenant, :passage, :model, :digest, :v
where exists (select 1 from passage where tenant = :tenant and id = :passage);

-- name: delete_vectors_of_passage
-- Remove the vectors of a passage.
delete from embedding
where tenant = :tenant and passage = :passage;

-- name: delete_vector
-- Remove the vector of a passage and model.
delete from embedding
where tenant = :tenant and passage = :passage and model = :model;

-- name: vectors_of_other_models
-- Some vectors of other models than this one.
select tenant, passage
from embedding
where model <> :model
limit :limit;

-- name: delete_vectors_of_other_models
-- Remove the vectors of these passages that are of every model but this one.
delete from embedding
where model <> :model and passage in (select value ->> 1 from json_each(:places));

-- name: items_without_vectors
-- The next items of a tenant that have no vector of this model.
select id
from item i
where tenant = :tenant and id > :after and not exists (
    select 1
    from embedding e
    where e.model = :model and e.passage >= i.row << 20 and e.passage < (i.row + 1) << 20
)
order by id
limit :limit;

-- name: queue_missing_vectors
-- Queue these items to be embedded.
insert into outbox (tenant, seq, consumer, stream, status, due)
select tenant,
    (select max(seq) from event e indexed by event_stream where e.tenant = i.tenant and e.stream = i.id),
    'embed', id, 'pending', :now
from item i
where tenant = :tenant and id in (select value from json_each(:ids))
on conflict do nothing;


-- ======== Vector slots: what the vector index of a process reads ========

-- name: slot_marks
-- The newest vector, the newest change, and the last change that was pruned.
select coalesce((select seq from sqlite_sequence where name = 'embedding'), 0) as vector,
    newest as change,
    coalesce((select min(seq) - 1 from slot_change), newest) as pruned
from (select coalesce((select seq from sqlite_sequence where name = 'slot_change'), 0) as newest);

-- name: slots
-- Vectors with the columns that filters ask for. `sees` tells who sees the item.
select v.id, p.at, p.speaker, v.v as vector, i.row as item, i.forgotten, i.tenant, i.kind, i.status, i.owner,
    case i.audience
        when 'org' then 'o'
        when 'project' then 'p' || i.project
        else 'u' || i.owner
    end as sees,
    i.project, i.namespace
from embedding v
join passage p on p.id = v.passage
join item i on i.row = p.item
where v.id > :after and v.id <= :upto and v.model = :model
order by v.id;

-- name: slot_items
-- The same columns of items that changed.
select i.row as item, i.forgotten, i.tenant, i.kind, i.status, i.owner,
    case i.audience
        when 'org' then 'o'
        when 'project' then 'p' || i.project
        else 'u' || i.owner
    end as sees,
    i.project, i.namespace
from item i
where i.row in (select value from json_each(:rows));

-- name: slot_changes
-- The feed of changes: vectors that are gone, items whose columns changed.
select seq, vector, item
from slot_change
where seq > :seq
order by seq;

-- name: delete_slot_changes
-- Cut some entries off the feed of changes.
delete from slot_change
where seq <= min(:seq, (select min(seq) from slot_change) + :limit);

-- name: count_prunable_slots
-- Whether something is left of the feed up to a change, or a vector without its passage.
select exists (select 1 from slot_change where seq <= :seq)
    + exists (select 1 from embedding where passage < 0) as slots;

-- name: delete_detached_vectors
-- Remove some vectors whose passage is gone since a rebuild.
delete from embedding
where id in (select id from embedding where passage < 0 limit :limit);

-- name: vectors_at
-- The vectors of these passages.
select passage as ref, v
from embedding
where model = :model and passage in (select value from json_each(:refs));

-- name: first_vectors
-- The vectors of the first passages of items.
select v.passage as ref, v.v
from item i
join embedding v on v.tenant = i.tenant and v.passage = i.row << 20 and v.model = :model
where i.tenant = :tenant /* filters */;

-- name: passing_slots
-- Which of these vectors pass a filter, with their passages.
select v.id, v.passage as ref
from embedding v
cross join item i on i.row = v.passage >> 20
where v.id in (select value from json_each(:vectors)) and i.tenant = :tenant and v.model = :model /* filters */;

-- name: passing_slots_of_passages
-- The same with a filter on the passages themselves.
select v.id, v.passage as ref
from embedding v
cross join passage p on p.id = v.passage
cross join item i on i.row = p.item
where v.id in (select value from json_each(:vectors)) and i.tenant = :tenant and v.model = :model /* filters */;

-- name: item_rows_passing
-- The rows of items that pass a filter.
select i.row
from item i
where i.tenant = :tenant /* filters */
limit :limit;

-- name: item_rows_tagged
-- The rows of items with a tag.
select item as row
from tag
where tenant = :tenant and tag = :tag
limit :limit;


-- ======== Outbox ========

-- name: outbox_tenants
-- The tenants that have work for a consumer, in any order, found by one step in the index for each.
with recursive w (tenant) as (
    select min(tenant)
    from outbox
    where consumer = :consumer
    union all
    select (select min(o.tenant) from outbox o where o.consumer = :consumer and o.tenant > w.tenant)
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
where tenant = :tenant
    and consumer = :consumer
    and status <> 'failed'
    and due <= :now
    and not exists (select 1 from head where tenant = :tenant and frozen)
order by seq desc
limit :limit;

-- name: put_job
-- Add a job, or replace the one of the same event and consumer.
insert into outbox (tenant, seq, consumer, stream, attempts, status, due, error)
values (:tenant, :seq, :consumer, :stream, :attempts, :status, :due, null)
on conflict (tenant, consumer, seq) do update
set stream = excluded.stream,
    attempts = excluded.attempts,
    status = excluded.status,
    due = excluded.due,
    error = excluded.error;

-- name: postpone_job
-- Put a failed job back, or give it up.
update outbox
set status = :status, due = :due, error = :error
where tenant = :tenant and seq = :seq and consumer = :consumer;

-- name: release_job
-- Give a leased job back: it is due at once, and this was no try.
update outbox
set status = 'pending', attempts = attempts - 1, due = ''
where tenant = :tenant and seq = :seq and consumer = :consumer;

-- name: delete_jobs
-- Remove jobs that are done.
delete from outbox
where tenant = :tenant and consumer = :consumer and seq in (select value from json_each(:seqs));

-- name: delete_jobs_of_stream
-- Remove the jobs of something that was erased.
delete from outbox
where tenant = :tenant and stream = :stream;

-- name: count_done_jobs
-- Count jobs that are done.
insert into outbox_done (tenant, consumer, count)
values (:tenant, :consumer, :jobs)
on conflict (tenant, consumer) do update
set count = outbox_done.count + excluded.count;

-- name: retry_failed_jobs
-- Make the jobs that were given up due again.
update outbox
set status = 'pending', attempts = 0, due = :now
where consumer = :consumer and status = 'failed';

-- name: count_waiting
-- How many jobs of a tenant wait, counted up to a limit.
select count(*) as jobs
from (select 1 from outbox where tenant = :tenant and consumer = :consumer limit :limit) w;

-- name: count_waiting_of_all
-- How many jobs of all tenants wait, counted up to a limit.
select count(*) as jobs
from (select 1 from outbox where consumer = :consumer limit :limit) w;

-- name: count_due_of_all
-- How many jobs of all tenants a worker could lease now, counted up to a limit.
select count(*) as jobs
from (
    select 1
    from outbox
    where consumer = :consumer and status <> 'failed' and due <= :now
        and not exists (select 1 from head where head.tenant = outbox.tenant and frozen)
    limit :limit
) w;

-- name: count_leased
-- How many jobs of a tenant somebody has leased and not settled yet.
select count(*) as jobs
from outbox
where tenant = :tenant and consumer = :consumer and status = 'leased' and due > :now;

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
where :tenant is null or tenant = :tenant
group by 1, 2
union all
select consumer, 'processed', sum(count)
from outbox_done
where :tenant is null or tenant = :tenant
group by 1;


-- ======== Answers under idempotency keys ========

-- name: answer
-- What an actor was answered under a key.
select actor, key, request, body, sealed, at
from answer
where tenant = :tenant and actor = :actor and key = :key;

-- name: answers
-- Every answer of a tenant, oldest first.
select actor, key, request, body, sealed, at
from answer
where tenant = :tenant
order by at, actor, key;

-- name: put_answer
-- Keep an answer under its key.
insert into answer (tenant, actor, key, request, body, sealed, at)
values (:tenant, :actor, :key, :request, :body, :sealed, :at)
on conflict (tenant, actor, key) do update
set request = excluded.request, body = excluded.body, sealed = excluded.sealed, at = excluded.at;

-- name: count_old_answers
-- How many answers are old, of all tenants, counted up to a limit.
select count(*) as answers
from (select 1 from answer where at < :before limit :limit) a;

-- name: delete_answers
-- Remove some old answers, of all tenants.
delete from answer
where (tenant, actor, key) in (
    select tenant, actor, key
    from answer
    where at < :before
    order by at
    limit :limit
);

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
where tenant = :tenant
order by name;

-- name: database_id
-- The random id of this database.
select value
from setting
where tenant = '' and name = 'database';

-- name: put_record
-- Keep a value under a name.
insert into setting (tenant, name, value)
values (:tenant, :name, :value)
on conflict (tenant, name) do update
set value = excluded.value;

-- name: client_keys
-- Every client key, oldest first.
select id, digest, name, tenant, user, scopes, created_at, expires_at, last_used, revoked, paused
from client_key
order by created_at, id;

-- name: client_key_by_digest
-- The client key with this SHA-256 digest.
select id, digest, name, tenant, user, scopes, created_at, expires_at, last_used, revoked, paused
from client_key
where digest = :digest;

-- name: client_key_by_id
-- The client key with this id.
select id, digest, name, tenant, user, scopes, created_at, expires_at, last_used, revoked, paused
from client_key
where id = :id;

-- name: add_client_key
-- Add a client key.
insert into client_key (id, digest, name, tenant, user, scopes, created_at, expires_at, last_used, revoked, paused)
values (:id, :digest, :name, :tenant, :user, :scopes, :created_at, :expires_at, :last_used, :revoked, :paused);

-- name: revoke_client_key
-- Stop letting a client in.
update client_key
set revoked = 1
where id = :id;

-- name: pause_client_key
-- Keep a client out for a while, or let it in again.
update client_key
set paused = :paused
where id = :id;

-- name: delete_client_key
-- Remove a key that nobody has seen.
delete from client_key
where id = :id;

-- name: note_client_key_use
-- Note when a key was last used.
update client_key
set last_used = :last_used
where id = :id;

-- name: end_ticket
-- Let a ticket count no more; no row if it did not count before.
insert into ended_ticket (tenant, nonce, ends)
values (:tenant, :nonce, :ends)
on conflict (tenant, nonce) do nothing
returning nonce;

-- name: ended_ticket
-- A ticket that counts no more.
select nonce
from ended_ticket
where tenant = :tenant and nonce = :nonce;

-- name: delete_old_tickets
-- Forget the tickets that have ended by themselves.
delete from ended_ticket
where ends <= :now;


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

-- name: detach_vectors
-- Keep the vectors for the digests of their texts, but attached to no passage.
update embedding
set passage = -id
where passage > 0;

-- name: empty_text_index
-- Empty the text index.
insert into passage_fts (passage_fts)
values ('delete-all');
