-- The statements of the SQLite store that are its own, by name.

-- statements: text_index
posting_add: insert into passage_fts (rowid, body, extra, scope) values (:id, :body, :extra, :scope)
posting_drop: insert into passage_fts (passage_fts, rowid, body, extra, scope)
    values ('delete', :id, :body, :extra, :scope)
empty_index: update embedding set passage = -id where passage > 0;
    insert into passage_fts (passage_fts) values ('delete-all')
tenants: select tenant from (select tenant, number from head where seq > 0
    union select distinct tenant, null from event) group by tenant order by coalesce(max(number), 1e9), tenant
instances: create virtual table if not exists temp.instance using fts5vocab (main, passage_fts, instance);
    select term, doc, col, offset from temp.instance
passage_ids: select id from passage
frequencies: select term, doc from json_each(:terms) wanted cross join passage_terms on term = wanted.value
search_text: select f.rowid, -f.rank as score from passage_fts f join item i on i.row = f.rowid >> 20
    where f.passage_fts match :match and i.tenant = :tenant {filters} order by {rank} limit :limit
search_text_passage: select f.rowid, -f.rank as score from passage_fts f join passage p on p.id = f.rowid
    join item i on i.row = p.item where f.passage_fts match :match and i.tenant = :tenant {filters}
    order by score desc limit :limit

-- statements: vector
passing: select v.id, v.passage from embedding v cross join item i on i.row = v.passage >> 20
    where v.id in each(:vectors) and i.tenant = :tenant and v.model = :model {filters}
passing_passage: select v.id, v.passage from embedding v cross join passage p on p.id = v.passage cross join item i
    on i.row = p.item where v.id in each(:vectors) and i.tenant = :tenant and v.model = :model {filters}
vectors_of: select passage, v from embedding where model = :model and passage in each(:ids)
items_passing: select i.row from item i where i.tenant = :tenant {filters} limit :limit
items_tagged: select item from tag where tenant = :tenant and tag = :tag limit :limit
slot_changes: select seq, vector, item from slot_change where seq > :seq order by seq
slot_marks: select coalesce((select seq from sqlite_sequence where name = 'embedding'), 0), last,
    coalesce((select min(seq) - 1 from slot_change), last)
    from (select coalesce((select seq from sqlite_sequence where name = 'slot_change'), 0) as last)
slots_prune: delete from embedding where passage < 0; delete from slot_change where seq <= :seq
slots: select v.id, p.at, p.speaker, v.v, i.row, i.forgotten, i.tenant, i.kind, i.status, i.owner,
    case i.audience when 'org' then 'o' when 'project' then 'p' || i.project else 'u' || i.owner end,
    i.project, i.namespace from embedding v join passage p on p.id = v.passage join item i on i.row = p.item
    where v.id > :after and v.id <= :upto and v.model = :model order by v.id
slot_items: select i.row, i.forgotten, i.tenant, i.kind, i.status, i.owner,
    case i.audience when 'org' then 'o' when 'project' then 'p' || i.project else 'u' || i.owner end,
    i.project, i.namespace from item i where i.row in each(:rows)
certainty: iif(json_extract(i.attributes, '$.certainty_source') = 'given',
    json_extract(i.attributes, '$.certainty_score'),
    round(json_extract(i.attributes, '$.certainty_score') * pow(0.5, max(0, julianday('now', 'start of day') - julianday(
        substr(coalesce(json_extract(i.attributes, '$.reviewed_at'), i.created_at), 1, 10))) / 365), 2))

-- fragments: filter
tags_all_passage: (select count(*) from tag t where t.tenant = :tenant and t.item = i.row
    and t.tag in each(:tags_all)) = json_array_length(:tags_all)
tags_any: exists (select 1 from tag t where t.tenant = :tenant and t.item = i.row and t.tag in each(:tags_any))
tags_none: not exists (select 1 from tag t where t.tenant = :tenant and t.item = i.row and t.tag in each(:tags_none))
title: instr(casefold(i.title), casefold(:title)) > 0

-- fragments: where
ordered: json_extract(i.attributes, :name{n}) {op} :value{n}
    and (typeof(json_extract(i.attributes, :name{n})) = 'text') = (typeof(:value{n}) = 'text')
glob: exists (select 1 from json_each(:value{n}) where json_extract(i.attributes, :name{n}) glob value)
in: json_extract(i.attributes, :name{n}) in (select value from json_each(:value{n}))
under: (json_extract(i.attributes, :name{n}) = rtrim(:value{n}, '/') or substr(
    json_extract(i.attributes, :name{n}), 1, length(rtrim(:value{n}, '/')) + 1) = rtrim(:value{n}, '/') || '/')
has: json_type(i.attributes, :name{n}) = 'array' and exists (
    select 1 from json_each(i.attributes, :name{n}) where value = :value{n})
is_or_lacks: coalesce(json_extract(i.attributes, :name{n}), :value{n}) = :value{n}
