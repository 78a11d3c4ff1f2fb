"""PostgreSQL with Citus keeps the promises of the store, on the cluster of TEST_CITUS_URL."""

import os
import random
import re
from array import array
from collections.abc import Callable, Iterator
from contextlib import closing
from types import SimpleNamespace

import psycopg
import pytest

from memolith.domain.queries import Filter
from memolith.storage.postgres.own_index import PostgresStage
from memolith.storage.postgres.statements import QUERIES_OF_DISTRIBUTED
from memolith.storage.postgres.store import PostgresStore
from memolith.storage.postgres.vectors import MIN_PASSAGES_OF_LARGE_TENANT as LARGE
from tests.citus import CitusCluster
from tests.conftest import ME, note
from tests.contracts.store import StoreContract
from tests.stores import engine_on

if "TEST_CITUS_URL" not in os.environ:
    pytest.skip("TEST_CITUS_URL names no Citus cluster", allow_module_level=True)


@pytest.fixture(scope="module")
def new_address(citus: CitusCluster) -> Callable[[], str]:
    """A new distributed database each time."""
    return citus.create_distributed


@pytest.fixture
def address(citus: CitusCluster, new_address: Callable[[], str]) -> Iterator[str]:
    """A new database for each test, which does not outlive it."""
    url = new_address()
    yield url
    citus.drop(url)


class TestCitus(StoreContract):
    """One database on several servers."""


def test_a_large_tenant_gets_an_index_of_its_own_on_its_server(
    address: str, citus: CitusCluster
) -> None:
    model = SimpleNamespace(id="eight", dimension=8)
    with closing(PostgresStore(address)) as store:
        engine_on(store).writing.remember(ME, note("text", id="a"))
        with store.owning() as db:
            db.execute("update head set passages = %s", (LARGE,))
            db.execute(
                """
                insert into embedding
                select 'local', 'eight', g::bigint << 20, '',
                    (
                        select array_agg(random() - 0.5 + x * 0)
                        from generate_series(1 + g * 0, 8) x
                    )::real[]::halfvec
                from generate_series(1, %s) g
                """,
                (LARGE,),
            )
        stage = PostgresStage(store.owning, LARGE)
        query = array("f", [random.uniform(-1, 1) for _ in range(8)]).tobytes()

        def best() -> list[int]:
            with store.reading(ME.tenant) as rows:
                return [
                    ref for ref, _ in stage.vectors(model).nearest(rows, ME, Filter(), query, 100)
                ]

        exact = best()
        assert stage.renew(model)
        assert not stage.renew(model)
        found = best()
        assert len(set(found[:10]) & set(exact[:10])) >= 9

    # Statistics of another connection are told with a delay.
    assert any(scans_of_own_indexes(citus, address) for _ in range(100))


def scans_of_own_indexes(citus: CitusCluster, address: str) -> int:
    """How often the servers have used indexes of single tenants."""
    scans = 0
    for url in citus.worker_urls(address):
        with closing(psycopg.connect(url, autocommit=True)) as db:
            db.execute("set citus.override_table_visibility = off")
            ((count,),) = db.execute(
                """
                select coalesce(sum(idx_scan), 0)::integer
                from pg_stat_user_indexes
                where indexrelname like 'own_%'
                """
            ).fetchall()
            scans += count
    return scans


@pytest.mark.parametrize("name", QUERIES_OF_DISTRIBUTED)
def test_a_distributed_database_takes_the_statement(citus_url: str, name: str) -> None:
    statement = QUERIES_OF_DISTRIBUTED[name]
    if not re.match(r"(select|with|insert|update|delete)\b", statement):
        return
    numbered = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
    for number, parameter in enumerate(numbered, 1):
        statement = statement.replace(f"%({parameter})s", f"${number}")
    with closing(psycopg.connect(citus_url)) as db:
        db.execute(f"prepare checked as {statement}")


@pytest.fixture(scope="module")
def citus_url(citus: CitusCluster) -> Iterator[str]:
    """One distributed database for tests that only look at it."""
    url = citus.create_distributed()
    yield url
    citus.drop(url)
