"""A database that was distributed over the servers of a Citus cluster holds what it held before, and
keeps tenants apart on each server. `tests/contracts/test_citus.py` tries everything else on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from memolith.domain.callers import Caller
from memolith.domain.queries import Query
from memolith.errors import Unavailable
from memolith.storage.postgres.distribution import DISTRIBUTE
from memolith.storage.postgres.statements import MATCHING_CALL, QUERIES, QUERIES_OF_DISTRIBUTED
from memolith.storage.postgres.store import PostgresStore
from tests.citus import CitusCluster
from tests.conftest import note
from tests.postgres import Server
from tests.programs.children import cli
from tests.stores import dump, dump_tenant, engine_on

ACME = Caller("acme")
GLOBEX = Caller("globex")
ON_THE_COORDINATOR = {
    "allowance": "counts the calls of a key, whatever its tenant",
    "client_key": "is found by a digest, when the tenant is not known yet",
    "ended_ticket": "has few rows, which end by themselves",
    "home": "says in which database a tenant lives",
}
"""The tables with a tenant that are not distributed, and why."""


def test_a_folder_cannot_be_distributed(tmp_path: Path) -> None:
    ran = cli(tmp_path, "database", "distribute")
    assert ran.returncode == 2
    assert "Only a PostgreSQL database can be distributed" in ran.stderr


def test_a_database_without_citus_is_left_as_it_is(postgres_url: str) -> None:
    with closing(PostgresStore(postgres_url)) as store:
        with pytest.raises(Unavailable, match="has no extension citus"):
            store.distribute()
        engine_on(store).writing.remember(ACME, note("text", id="a"))
        assert engine_on(store).recall.search(ACME, Query("text")).hits


def test_every_table_of_tenants_is_distributed_or_stays_with_a_reason(
    server: Server, postgres_url: str
) -> None:
    found = server.execute(
        """
        select c.relname
        from pg_class c
        join pg_attribute a on a.attrelid = c.oid
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
            and not c.relispartition and a.attname = 'tenant'
        """,
        postgres_url.rpartition("/")[2],
    )
    listed = DISTRIBUTE.partition("foreach name in array array[")[2].partition("] loop")[0]
    distributed = set(re.findall(r"'(\w+)'", listed))
    assert {name for (name,) in found} == distributed | set(ON_THE_COORDINATOR)


def test_no_statement_of_a_distributed_database_calls_the_function_that_it_lacks() -> None:
    assert [name for name, text in QUERIES.items() if MATCHING_CALL in text] == [
        "search_text",
        "search_text_passages",
        "search_text_everything",
    ]
    assert [name for name, text in QUERIES_OF_DISTRIBUTED.items() if "from matching(" in text] == []


@pytest.fixture
def plain(citus: CitusCluster) -> Iterator[str]:
    """A database on the cluster with two tenants, whose tables are not distributed yet."""
    url = citus.create()
    with closing(PostgresStore(url)) as store:
        engine = engine_on(store)
        for n in range(5):
            engine.writing.remember(ACME, note(f"zebra {n}", id=f"a{n}"))
        engine.writing.remember(GLOBEX, note("zebra of globex", id="g"))
        engine.writing.forget(ACME, "a0")
    yield url
    citus.drop(url)


def test_a_distributed_database_holds_what_it_held_before(plain: str) -> None:
    with closing(PostgresStore(plain)) as store:
        before = dump(store)
        assert store.distribute() == []
        assert dump(store) == before
    with closing(PostgresStore(plain)) as store:
        assert dump(store) == before
        engine = engine_on(store)
        assert engine.maintenance.verify() == []
        assert len(engine.recall.search(ACME, Query("zebra")).hits) == 4


def test_distributing_again_changes_nothing(plain: str) -> None:
    with closing(PostgresStore(plain)) as store:
        store.distribute()
        before = dump(store)
        assert store.distribute() == []
        assert dump(store) == before


def test_the_first_server_keeps_no_rows_of_tenants(plain: str) -> None:
    with closing(PostgresStore(plain)) as store:
        store.distribute()
    with closing(psycopg.connect(plain, autocommit=True)) as db:
        distributed = db.execute("select logicalrelid::text from pg_dist_partition").fetchall()
        assert len(distributed) == 19
        for (table,) in distributed:
            size = sql.SQL("select pg_relation_size({})").format(sql.Literal(table))
            assert db.execute(size).fetchone() == (0,), table


def test_each_server_shows_a_session_the_rows_of_its_tenant_only(
    plain: str, citus: CitusCluster
) -> None:
    with closing(PostgresStore(plain)) as store:
        store.distribute()
    seen: dict[str, set[str]] = {"": set(), "acme": set(), "globex": set()}
    for url in citus.worker_urls(plain):
        with closing(psycopg.connect(url, autocommit=True)) as db:
            db.execute("set citus.override_table_visibility = off")
            shards = db.execute(
                "select oid::regclass::text from pg_class where relname ~ '^item_[0-9]+$'"
            ).fetchall()
            db.execute("set role memolith_run")
            for tenant, ids in seen.items():
                db.execute("select set_config('memolith.tenant', %s, false)", [tenant])
                for (shard,) in shards:
                    found = db.execute(sql.SQL("select id from {}").format(sql.Identifier(shard)))
                    ids |= {str(id) for (id,) in found}
    assert seen == {"": set(), "acme": {f"a{n}" for n in range(5)}, "globex": {"g"}}


def test_a_tenant_moves_out_of_a_distributed_database_and_back(plain: str, server: Server) -> None:
    elsewhere = server.create(template=server.template)
    with closing(PostgresStore(plain)) as store:
        store.distribute()
    with closing(PostgresStore(plain, leads=True)) as leader:
        before = dump_tenant(leader, "acme")
        assert leader.move("acme", elsewhere, embed=lambda store: None) == 6
        assert leader.homes() == {"acme": elsewhere}
        assert dump_tenant(leader, "acme") == before
        engine_on(leader).writing.remember(ACME, note("zebra elsewhere", id="b"))
        leader.purge("acme", plain)
        leader.move("acme", plain, embed=lambda store: None)
        assert leader.homes() == {}
        assert engine_on(leader).maintenance.verify() == []
        assert len(engine_on(leader).recall.search(ACME, Query("zebra")).hits) == 5
