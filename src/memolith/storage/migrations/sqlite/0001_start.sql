create unique index head_tenant on head (tenant);
create unique index item_id on item (tenant, id);
-- The columns after the sort key are what filters ask for, so that a far page is counted off in the index alone.
create index item_kind on item (tenant, kind, seq, forgotten, owner, audience, project, namespace, status);
create index item_updated on item (tenant, kind, updated_at, seq, forgotten, owner, audience, project, namespace,
    status);
create index item_sorted on item (tenant, kind, lower(title), seq, forgotten, owner, audience, project,
    namespace, status);
-- How often and when last an item was read is told by `access`; it stands here too, so that a list can be in that order.
create index item_reads on item (tenant, kind, reads, seq, forgotten, owner, audience, project, namespace, status);
create index item_last_read on item (tenant, kind, last_read, seq, forgotten, owner, audience, project, namespace,
    status);
create index item_namespace on item (tenant, namespace, kind, forgotten, owner, audience, project);
-- Covers the count of concepts by area, topic and subtopic, so that the hierarchy reads no row.
create index item_tree on item (tenant, attributes ->> 'area', attributes ->> 'topic', attributes ->> 'subtopic',
    audience, owner, project, forgotten, version) where kind = 'concept';

-- Terms are stemmed and hashed together with the tenant's number: tenants share no posting list, and no word of an
-- erased text can be left in the pages of the index.
create virtual table passage_fts using fts5 (body, extra, scope, content='', tokenize='ascii');
insert into passage_fts (passage_fts, rank) values ('secure-delete', 1), ('rank', 'bm25(1.0, 1.0, 0.0)');
create virtual table passage_terms using fts5vocab (passage_fts, row);

create table embedding (id integer primary key autoincrement, tenant text not null, passage integer not null,
    model text not null, digest blob not null, v blob not null);
create unique index embedding_passage on embedding (passage, model);
create index embedding_digest on embedding (digest);
-- What a process must mend in the snapshot it has mapped: vectors that are no more, items whose columns changed.
create table slot_change (seq integer primary key autoincrement, vector integer, item integer);
create trigger embedding_gone after delete on embedding begin insert into slot_change (vector) values (old.id); end;
create trigger item_moved after update on item
    when (old.owner, old.audience, old.project, old.namespace, old.status, old.forgotten)
        is not (new.owner, new.audience, new.project, new.namespace, new.status, new.forgotten)
    begin insert into slot_change (item) values (new.row); end;

-- Tells a snapshot of this database from one of another.
insert into setting values ('', 'database', lower(hex(randomblob(16))));
