"""PostgreSQL keeps the promises of the store, and outlives its server's crash."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

pytest.importorskip("memolith.storage.postgres", reason="the PostgreSQL store is not there yet")

from conftest import ME, note
from contracts.store import StoreContract, listed, whole
from postgres import Server, a_cluster, prepare
from stores import engine_on, open_store


@pytest.fixture(scope="module")
def new_address(server: Server) -> Callable[[], str]:
    """A new copy of the template each time."""
    return lambda: server.create(template=server.template)


@pytest.fixture
def address(server: Server, new_address: Callable[[], str]) -> Iterator[str]:
    """A new database for each test, which does not outlive it: hundreds would fill the disk."""
    url = new_address()
    yield url
    server.drop(url)


class TestPostgres(StoreContract):
    """One database, many servers."""


def test_what_was_acknowledged_before_a_crash_of_the_server_is_there() -> None:
    with a_cluster(durable=True) as cluster:
        url = cluster.create("kept")
        cluster.execute("create extension vector", "kept")
        prepare(url)
        for round in range(2):
            with closing(open_store(url)) as store:
                engine = engine_on(store)
                for n in range(10):
                    engine.remember(ME, note(f"text {round} {n}", id=f"{round}-{n}"))
                cluster.crash()
                cluster.start()
        with closing(open_store(url)) as store:
            whole(store, "local", 20)
            assert len(listed(store, limit=100)) == 20
            assert engine_on(store).upkeep.verify() == []


def test_the_passages_of_an_item_are_read_by_index_behind_the_fence(address: str) -> None:
    """Row-level security lets no computed bound into an index, so the statement must compute it beforehand."""
    with closing(open_store(address)) as store:
        engine_on(store).remember(ME, note("text", id="a"))
        with store.reading(ME.tenant) as rows:
            rows.db.execute("set local enable_seqscan = off")
            plan = rows.run("explain " + rows.queries["passages"], {"tenant": ME.tenant, "id": "a"})
            assert "(id >= i.low) AND (id < i.high)" in " ".join(line for (line,) in plan if "Index Cond" in line)
