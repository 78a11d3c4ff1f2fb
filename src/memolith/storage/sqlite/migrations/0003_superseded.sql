-- oldest: 2

-- Items whose text was replaced by that of a newer item on the same subject. Derived from texts and vectors. An older
-- program does not know the table; the marks that it leaves behind are taken for what they are until the text is
-- compared again.
create table superseded (
    tenant text not null,
    item text not null,
    successor text not null,
    at text not null,
    primary key (tenant, item, successor)
) without rowid;
create index superseded_successor on superseded (tenant, successor);
