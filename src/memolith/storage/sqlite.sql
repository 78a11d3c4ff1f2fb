-- The statements of the SQLite store that are its own, by name.

-- name: head_locked
select number, seq, passages, terms, at from head where tenant = :tenant

-- name: head_new
insert into head (tenant, number, seq) select :tenant, coalesce(max(number), 0) + 1, 0 from head

-- name: tenants
select tenant from (select tenant, number from head union select distinct tenant, null from event)
group by tenant order by coalesce(max(number), 1e9), tenant

-- name: events_after
select * from event where tenant = :tenant and seq > :seq order by seq limit :limit

-- name: orphans
select 'passage ' || id from passage where item not in (select row from item)
union all
select 'tag ' || tag from tag where item not in (select row from item)

-- name: link_streams
select distinct stream from event where tenant = :tenant and type = 'linked'
and (data ->> 'source' = :item or data ->> 'target' = :item)

-- name: items_by_row
select * from item where row in each(:rows)

-- name: item_new
insert into item (tenant, id, kind, title, status, owner, audience, project, namespace, tags, attributes, version, seq,
    created_at, updated_at, blocks, passages, forgotten, reads, last_read)
values (:tenant, :id, :kind, :title, :status, :owner, :audience, :project, :namespace, :tags, :attributes, :version,
    :seq, :created_at, :updated_at, :blocks, :passages, :forgotten,
    coalesce((select count from access where tenant = :tenant and item = :id), 0),
    coalesce((select last from access where tenant = :tenant and item = :id), ''))

-- name: tags_add
insert into tag (tenant, tag, item) select :tenant, value, :item from json_each(:tags)

-- name: tags_drop
delete from tag where item = :item

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

-- name: passages_of_items
select p.*, i.id as item_id
from json_each(:ids) wanted cross join item i on i.tenant = :tenant and i.id = wanted.value
cross join passage p on p.id >= i.row << 20 and p.id < (i.row + 1) << 20
order by i.row, p.id

-- name: passages_from
select * from passage where id >= (:item << 20) + :ordinal and id < (:item + 1) << 20 order by id

-- name: passage_add
insert into passage (id, tenant, item, ordinal, block, text, at, speaker, locator, attributes, digest)
values (:id, :tenant, :item, :ordinal, :block, :text, :at, :speaker, :locator, :attributes, :digest);
insert into passage_fts (rowid, body, extra, scope) values (:id, :body, :extra, :scope)

-- name: passage_drop
insert into passage_fts (passage_fts, rowid, body, extra, scope) values ('delete', :id, :body, :extra, :scope);
delete from passage where id = :id

-- name: passage_index
insert into passage_fts (passage_fts, rowid, body, extra, scope)
values ('delete', :id, :old_body, :old_extra, :old_scope);
insert into passage_fts (rowid, body, extra, scope) values (:id, :body, :extra, :scope)

-- name: passage_same
select i.id from passage p cross join item i on i.row = p.item
where p.tenant = :tenant and p.digest = :digest and p.ordinal = 0 and i.passages = :passages {filters}
order by i.seq limit 20

-- name: sketch_add
insert or ignore into sketch (tenant, mark, item) select :tenant, value, :item from json_each(:marks)

-- name: alike
select distinct i.id from json_each(:marks) wanted
cross join sketch s on s.tenant = :tenant and s.mark = wanted.value
cross join item i on i.row = s.item
where i.tenant = :tenant {filters} limit 5

-- name: frequencies
select term, doc from json_each(:terms) wanted cross join passage_terms on term = wanted.value

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
where v.id in each(:ids) and i.tenant = :tenant and v.model = :model {filters}

-- name: passing_passage
select v.id, v.passage from vector v cross join passage p on p.id = v.passage cross join item i on i.row = p.item
where v.id in each(:ids) and i.tenant = :tenant and v.model = :model {filters}

-- name: passing_all
select v.id from item i join passage p on p.id >= i.row << 20 and p.id < (i.row + 1) << 20
join vector v on v.passage = p.id and v.model = :model
where i.tenant = :tenant {filters}

-- name: passages_at
select p.*, i.id as item_id from passage p join item i on i.row = p.item
where p.id in each(:ids)

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
select passage, row from vector where model = :model and passage in each(:ids)

-- name: vectors_drop
insert into slot_change (vector) select id from vector where passage = :passage;
delete from vector where passage = :passage

-- name: item_moved
insert into slot_change (item) values (:item)

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
where i.row in each(:rows)

-- name: vector_count
select count(*) from vector where model = :model

-- name: vector_put
insert into vector (tenant, passage, model, digest, row)
select :tenant, :passage, :model, :digest, :row where exists (select 1 from passage where id = :passage)

-- name: vector_same
select row from vector where digest = :digest and tenant = :tenant and model = :model limit 1

-- name: vector_digests
select passage, digest from vector
where passage >= :item << 20 and passage < (:item + 1) << 20 and model = :model

-- name: vector_drop
insert into slot_change (vector) select id from vector where passage = :passage and model = :model;
delete from vector where passage = :passage and model = :model

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
select item from tag where tenant = :tenant and tag in each(:tags)
group by item having count(*) >= :least limit :limit

-- name: access_put
insert into access (tenant, item, count, last)
select :tenant, :item, :count, :last where exists (select 1 from item where tenant = :tenant and id = :item)
on conflict (tenant, item) do update set count = count + excluded.count, last = max(last, excluded.last);
update item set (reads, last_read) = (select count, last from access where tenant = :tenant and item = :item)
where tenant = :tenant and id = :item

-- name: access_most
select i.id from item i where i.tenant = :tenant and i.reads > 0 {filters} order by i.reads desc, i.last_read desc limit 1

-- name: outbox_due
select * from (
    select seq, stream, attempts from outbox
    where tenant = :tenant and consumer = :consumer and status = 'pending' and due <= :now order by seq desc limit :limit)
union all
select * from (
    select seq, stream, attempts from outbox
    where tenant = :tenant and consumer = :consumer and status = 'leased' and due <= :now order by seq desc limit :limit)
limit :limit

-- name: filter_tags_all
and (select count(*) from tag t where t.tenant = :tenant and t.item = i.row
     and t.tag in each(:tags_all)) = json_array_length(:tags_all)

-- name: filter_tags_all_item
and i.row in (select t.item from tag t where t.tenant = :tenant and t.tag in each(:tags_all)
              group by t.item having count(*) = json_array_length(:tags_all))

-- name: beginnings
select v.passage, v.row from item i join vector v on v.passage = i.row << 20 and v.model = :model
where i.tenant = :tenant {filters}

-- name: filter_topics
and i.attributes ->> 'topic_id' in each(:topics)

-- name: filter_tags_any
and exists (select 1 from tag t where t.tenant = :tenant and t.item = i.row
            and t.tag in each(:tags_any))

-- name: filter_tags_none
and not exists (select 1 from tag t where t.tenant = :tenant and t.item = i.row
                and t.tag in each(:tags_none))

-- name: where_eq
and json_extract(i.attributes, :name{n}) is :value{n}

-- name: where_ne
and json_extract(i.attributes, :name{n}) is not :value{n}

-- name: where_ordered
and json_extract(i.attributes, :name{n}) {op} :value{n}
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

-- name: sort_access_count
i.reads

-- name: sort_last_accessed
i.last_read

-- name: sort_title
i.title collate nocase

-- name: links_of
select * from link indexed by link_out where tenant = :tenant and source = :item
union
select * from link indexed by link_in where tenant = :tenant and target = :item
order by seq

-- name: links_out
select * from link indexed by link_out where tenant = :tenant and source in each(:ids) order by seq

-- name: links_in
select * from link indexed by link_in where tenant = :tenant and target in each(:ids) order by seq

-- name: steps
select l.{here}, l.{there}, l.type, i.title from json_each(:frontier) f
cross join link l indexed by link_{way} on l.tenant = :tenant and l.{here} = f.value
cross join item i on i.tenant = :tenant and i.id = l.{there} {filters}
where :types = '[]' or l.type in each(:types)

-- name: concept_tree
select json_extract(i.attributes, '$.area'), json_extract(i.attributes, '$.topic'),
    json_extract(i.attributes, '$.subtopic'), sum(1 - i.forgotten), sum(i.version)
from item i where i.tenant = :tenant and i.kind = 'concept' {filters} group by 1, 2, 3

-- name: folders
select json_extract(i.attributes, '$.folder'), json_extract(i.attributes, '$.importance_score'), count(*)
from item i where i.tenant = :tenant {filters} group by 1, 2

-- name: filter_title
and instr(casefold(i.title), :title_part) > 0

-- name: where_is_or_lacks
and coalesce(json_extract(i.attributes, :name{n}), :value{n}) = :value{n}

-- name: where_sure
and {certainty} between json_extract(:value{n}, '$[0]') and json_extract(:value{n}, '$[1]')

-- name: sort_certainty
{certainty} {way}, i.title collate nocase

-- name: certainty
iif(json_extract(i.attributes, '$.certainty_source') = 'given', json_extract(i.attributes, '$.certainty_score'),
    round(json_extract(i.attributes, '$.certainty_score') * pow(0.5, max(0, julianday('now', 'start of day') - julianday(
        substr(coalesce(json_extract(i.attributes, '$.reviewed_at'), i.created_at), 1, 10))) / 365), 2))
