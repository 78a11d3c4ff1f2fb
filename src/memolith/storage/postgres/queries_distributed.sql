-- What the PostgreSQL store runs in another way if its tables are distributed over the servers of a Citus cluster. All
-- other statements are those of queries.sql. See distribution.py.
--
-- A statement of the same name as there takes its place.

-- name: share_settings
-- Let the servers that hold the tables have the settings of the transaction, too; see distribute.sql.
select share_settings();

-- name: database_size
-- The size of the database in bytes, on all servers.
select sum(result::bigint)::bigint as bytes
from run_command_on_all_nodes('select pg_database_size(current_database())')
where success;

-- name: matching
-- What the function `matching` finds, which a distributed database does not have, because there a function cannot read
-- a table from within a statement. It takes the place of the function in the statements of the text search.
with asked as materialized (
    select nullif(%(match)s, '')::tsquery as wanted,
        array(select jsonb_array_elements_text(%(words)s::jsonb)) as words
),
word as materialized (
    select t.term::tsquery as term,
        h.terms::double precision / h.passages as mean,
        case when a.wanted is null then t.term::tsquery else t.term::tsquery && a.wanted end as both,
        greatest(1e-6, ln(((h.passages - t.passages + 0.5) / (t.passages + 0.5))::double precision)) as weight
    from asked a
    cross join term t
    join head h on h.tenant = t.tenant
    where t.tenant = %(tenant)s and t.term = any(a.words) and t.passages > 0
)
select f.id, sum(f.weight * f.tf * 2.2 / (f.tf + 1.2 * (0.25 + 0.75 * f.length / f.mean))) as score
from (
    select p.id, p.length, w.weight, w.mean,
        round(1 / (1.6449340668482264 * (1 - ts_rank('{1,1,1,1}', p.terms, w.term))) - 0.5) as tf
    from word w
    join posting p on p.terms @@ w.both
    where p.tenant = %(tenant)s
    offset 0
) f
group by f.id
union all
select p.id, 0
from asked a
join posting p on p.terms @@ a.wanted
where cardinality(a.words) = 0 and p.tenant = %(tenant)s;

-- name: count_each_matching
-- How many passages match each of some expressions, by their names.
select wanted.key as term,
    (select count(*) from posting p where p.tenant = %(tenant)s and p.terms @@ wanted.value::tsquery) as passages
from jsonb_each_text(%(matches)s::jsonb) wanted;

-- name: outbox_tenants
-- The tenants that have work for a consumer, in any order. Steps in an index cannot lead from server to server.
select h.tenant
from head h
where exists (select 1 from outbox o where o.tenant = h.tenant and o.consumer = %(consumer)s)
order by random();

-- name: mark_match_as_leakproof
-- Behind row-level security, only an operator that leaks nothing may use an index. Each server tells whether this role
-- may say so of the match of the text index.
select nodeid, success, result
from run_command_on_all_nodes('alter function pg_catalog.ts_match_vq(tsvector, tsquery) leakproof');
