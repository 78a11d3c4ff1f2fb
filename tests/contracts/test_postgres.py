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
