"""Databases on the Citus cluster of TEST_CITUS_URL, distributed as `memolith database distribute`
does it.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from tests.postgres import Server

SHARDS = 4
"""Into how many shards each table is divided; the usual 32 take seconds to make."""


class CitusCluster:
    """A coordinator and workers that somebody else keeps running. Each database is made on all of
    them, and removed from all of them.
    """

    def __init__(self, address: str) -> None:
        """The address names a database of the coordinator that knows the workers."""
        self._coordinator = Server(address)
        parts = urlsplit(address)
        workers = self._coordinator.execute(
            "select nodename, nodeport from pg_dist_node where groupid <> 0 and noderole = 'primary'",
            parts.path.strip("/"),
        )
        self._login = parts.netloc.rpartition("@")[0]
        self._places = [(str(host), int(str(port))) for host, port in workers]
        self._servers = [
            self._coordinator,
            *(
                Server(parts._replace(netloc=f"{self._login}@{host}:{port}").geturl())
                for host, port in self._places
            ),
        ]
        self._host = parts.hostname or "127.0.0.1"
        self._port = parts.port or 5432

    def create(self) -> str:
        """The address of a new database with the extensions, still without tables."""
        name = f"memolith_{uuid.uuid4().hex}"
        for server in self._servers:
            server.create(name)
            server.execute("create extension citus", name)
        coordinator = self._coordinator
        coordinator.execute(
            f"select citus_set_coordinator_host('{self._host}', {self._port})", name
        )
        for host, port in self._places:
            coordinator.execute(f"select citus_add_node('{host}', {port})", name)
        coordinator.execute("create extension vector", name)
        coordinator.execute(f'alter database "{name}" set citus.shard_count = {SHARDS}', name)
        return coordinator.url(name)

    def create_distributed(self) -> str:
        """The address of a new, empty store whose tables are distributed."""
        from memolith.storage.postgres.store import PostgresStore

        url = self.create()
        with closing(PostgresStore(url)) as store:
            assert store.distribute() == []
        return url

    def worker_urls(self, url: str) -> list[str]:
        """The addresses of a database on the workers."""
        name = urlsplit(url).path.strip("/")
        return [server.url(name) for server in self._servers[1:]]

    def drop(self, url: str) -> None:
        """Remove a database that was made here from every server."""
        name = urlsplit(url).path.strip("/")
        for server in self._servers:
            server.drop(server.url(name))

    def close(self) -> None:
        for server in self._servers:
            server.close()


@pytest.fixture(scope="session")
def citus() -> Iterator[CitusCluster]:
    """The cluster that TEST_CITUS_URL names."""
    address = os.environ.get("TEST_CITUS_URL")
    if not address:
        pytest.skip("TEST_CITUS_URL names no Citus cluster")
    cluster = CitusCluster(address)
    try:
        yield cluster
    finally:
        cluster.close()
