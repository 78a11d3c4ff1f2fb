-- oldest: 3
-- Older programs are refused: they cut texts and make the terms of the text index in another way, and would leave
-- entries behind that nothing removes.

-- Items whose text was replaced by that of a newer item on the same subject. Derived from texts and vectors.
create table superseded (
    tenant text not null,
    item text not null,
    successor text not null,
    at text not null,
    primary key (tenant, item, successor)
) without rowid;
create index superseded_successor on superseded (tenant, successor);
