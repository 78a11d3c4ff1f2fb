-- oldest: 3
-- Older programs are refused: they cut texts and make the terms of the text index in another way, and would leave
-- entries behind that nothing removes.

-- Items whose text was replaced by that of a newer item on the same subject. Derived from texts and vectors.
create table superseded (
    tenant text collate "C" not null,
    item text collate "C" not null,
    successor text collate "C" not null,
    at text collate "C" not null,
    primary key (tenant, item, successor)
);
create index superseded_successor on superseded (tenant, successor);

grant select, insert, update, delete on superseded to memolith_run;
alter table superseded enable row level security;
create policy fence on superseded using (
    tenant = (select current_setting('memolith.tenant', true))
    or (select current_setting('memolith.all', true)) = 'on'
);
