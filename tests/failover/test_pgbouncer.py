"""A store works behind PgBouncer in transaction mode, with the file of deploy/failover."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from urllib.parse import urlsplit

import psycopg
import pytest

from memolith.domain.callers import Caller
from memolith.storage.postgres.connections import PREPARE_AFTER
from memolith.storage.postgres.store import PostgresStore
from tests.conftest import note
from tests.failover.debian import program, program_environment
from tests.failover.nodes import DEPLOY, FILES, OWNER_PASSWORD, SERVER_PASSWORD, unprivileged
from tests.postgres import Cluster, a_cluster, binaries, free_port
from tests.programs.children import TIMEOUT_S, wait_for
from tests.stores import engine_on

SERVER_CONNECTIONS = 3
WRITERS_PER_TENANT = 6
STEPS = 2 * PREPARE_AFTER
"""So often that the driver would prepare each statement."""

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A server with the roles and the database of the page, and the tables of memolith."""
    with a_cluster() as made:
        subprocess.run(
            [str(binaries() / "psql"), "-q", "-d", made.url(), "-f", "roles.sql"],
            cwd=DEPLOY,
            env={"OWNER_PASSWORD": OWNER_PASSWORD, "SERVER_PASSWORD": SERVER_PASSWORD},
            check=True,
            capture_output=True,
            timeout=TIMEOUT_S,
        )
        PostgresStore(as_role(made.url("memolith"), "memolith_owner", OWNER_PASSWORD)).close()
        yield made


@pytest.fixture(scope="module")
def pooled_url(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The database through a PgBouncer with few connections to it."""
    folder = tmp_path_factory.mktemp("pgbouncer")
    port = str(free_port())
    text = (FILES / "pgbouncer.ini").read_text(encoding="utf-8")
    for old, new in (
        ("port=5000", f"port={urlsplit(cluster.url()).port}"),
        ("listen_port = 6432", f"listen_port = {port}"),
        ("/etc/pgbouncer", str(folder)),
        ("default_pool_size = 20", f"default_pool_size = {SERVER_CONNECTIONS}"),
        # Here all of them use the few connections at once.
        ("query_wait_timeout = 15", f"query_wait_timeout = {TIMEOUT_S:.0f}"),
    ):
        assert old in text
        text = text.replace(old, new)
    (folder / "pgbouncer.ini").write_text(text, encoding="utf-8")
    (folder / "userlist.txt").write_text((FILES / "userlist.txt").read_text(encoding="utf-8"))
    url = as_role(f"postgresql://x@127.0.0.1:{port}/memolith", "memolith_server", SERVER_PASSWORD)
    with open(folder / "log", "wb") as log:
        running = subprocess.Popen(
            [*unprivileged(), str(program("pgbouncer")), "pgbouncer.ini"],
            cwd=folder,
            env=program_environment("pgbouncer"),
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(lambda: answers(url))
        yield url
    finally:
        running.kill()
        running.wait(TIMEOUT_S)


def as_role(url: str, role: str, password: str) -> str:
    host = urlsplit(url).netloc.rpartition("@")[2]
    return urlsplit(url)._replace(netloc=f"{role}:{password}@{host}").geturl()


def answers(url: str) -> bool:
    with suppress(psycopg.Error), psycopg.connect(url, connect_timeout=10):
        return True
    return False


def write_and_read(store: PostgresStore, tenant: str, number: int) -> None:
    """Write, search and list; whatever is seen must be the tenant's own."""
    engine = engine_on(store)
    caller = Caller(tenant)
    for step in range(STEPS):
        engine.writing.remember(caller, note(f"{tenant} {number} {step}"))
        page = engine.reading.list_items(caller)
        assert page.items
        assert {item.tenant for item in page.items} == {tenant}


def load(store: PostgresStore, tenants: tuple[str, ...]) -> dict[str, int]:
    """How many items each tenant has after all have written at once."""
    with ThreadPoolExecutor(len(tenants) * WRITERS_PER_TENANT) as threads:
        running = [
            threads.submit(write_and_read, store, tenant, number)
            for number in range(WRITERS_PER_TENANT)
            for tenant in tenants
        ]
        for one in running:
            one.result(TIMEOUT_S)
    reading = engine_on(store).reading
    return {tenant: reading.list_items(Caller(tenant)).total for tenant in tenants}


@pytest.mark.parametrize("is_told", [True, False])
def test_tenants_stay_apart_and_no_statement_is_missed_in_transaction_mode(
    pooled_url: str, is_told: bool
) -> None:
    tenants = (f"acme {is_told}", f"umbrella {is_told}")
    with closing(
        PostgresStore(pooled_url, connections=8, busy_s=TIMEOUT_S, pooled=is_told)
    ) as store:
        assert store.is_behind_pooler
        assert load(store, tenants) == dict.fromkeys(tenants, WRITERS_PER_TENANT * STEPS)


def test_what_one_transaction_sets_does_not_reach_the_next(pooled_url: str) -> None:
    with closing(PostgresStore(pooled_url, connections=2)) as store:
        engine_on(store).writing.remember(Caller("quiet"), note("mine"))
        # PgBouncer gives the connection that has just served the tenant.
        with psycopg.connect(pooled_url, autocommit=True, prepare_threshold=None) as other:
            seen = other.execute(
                "select current_user, coalesce(current_setting('memolith.tenant', true), '')"
            ).fetchone()
    assert seen == ("memolith_server", "")


def test_a_direct_connection_is_not_taken_for_a_pooler(cluster: Cluster) -> None:
    url = as_role(cluster.url("memolith"), "memolith_server", SERVER_PASSWORD)
    with closing(PostgresStore(url)) as store:
        assert not store.is_behind_pooler
