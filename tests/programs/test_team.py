"""Four servers and two workers on one database lose, double and hide no write, even if killed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.storage.postgres.store import PostgresStore
from tests.postgres import Cluster, Server, a_cluster, prepare
from tests.programs.children import wait_for
from tests.programs.team import Account, Team, Voice, a_team, backlog, drained, settle, under_load
from tests.stores import engine_on


@pytest.fixture(scope="module")
def team(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """The team on a database of its own, with the real model."""
    database = server.create(template=server.template)
    with a_team(database, tmp_path_factory.mktemp("team"), MEMOLITH_EMBEDDER="minilm") as made:
        yield made
    assert "Traceback" not in made.complaints()


def enough(account: Account, clients: int, seconds: float) -> None:
    """Let them work for a while, and until each has come through."""
    threading.Event().wait(seconds)
    wait_for(lambda: len(account.kept) >= clients or account.errors)


def is_found_by_meaning(voice: Voice, url: str, id: str) -> bool:
    question = "Which heating device among the plants drips?"
    return voice.found(url, query=question, mode="vector", limit=1) == [id]


@pytest.mark.parametrize(
    ("clients", "seconds"), [(8, 2.0), pytest.param(32, 60.0, marks=pytest.mark.full)]
)
def test_every_acknowledged_write_is_found_once_by_every_server(
    team: Team, clients: int, seconds: float
) -> None:
    tenants = {f"big{clients}": clients - 2, f"small{clients}": 2}
    with under_load(team, tenants) as account:
        enough(account, clients, seconds)
    assert settle(account, team.database) == []
    drained(team.database, *tenants)
    for mark, (tenant, id) in list(account.kept.items())[-3:]:
        voice = Voice(team.key(tenant))
        for server in team.servers:
            assert id in voice.found(server.url, query=mark, limit=3)
    # What one server was told, every other finds by its meaning alone.
    voice = Voice(team.key(f"big{clients}"))
    told = voice.ask(
        team.servers[0].url, "remember", {"content": "The boiler in the greenhouse leaks again."}
    )["id"]
    for server in team.servers:
        wait_for(partial(is_found_by_meaning, voice, server.url, told))
    assert all(member.alive for member in (*team.servers, *team.workers))


def fill(database: str, tenant: str, count: int) -> None:
    """Texts that wait for their vectors."""
    with closing(PostgresStore(database)) as store:
        engine = engine_on(store)
        for n in range(count):
            engine.writing.remember(
                Caller(tenant),
                Draft(blocks=(Block(f"{tenant} {n}: " + f"word{n} and more " * 60),)),
            )


@pytest.mark.full
def test_a_small_tenant_gets_its_vectors_while_a_large_one_has_a_long_queue(
    server: Server, tmp_path: Path
) -> None:
    database = server.create(template=server.template)
    fill(database, "large", 400)
    fill(database, "small", 8)
    with a_team(database, tmp_path, servers=0, workers=2, MEMOLITH_EMBEDDER="minilm"):
        drained(database, "small")
        assert backlog(database, "large") > 100


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster that keeps its word through a crash."""
    with a_cluster(durable=True) as made:
        yield made


def in_the_middle(team: Team, cluster: Cluster, account: Account, rounds: int) -> None:
    """Kill servers, workers and the database while clients work; each time, wait for writes."""
    for _ in range(rounds):
        for victims in (team.servers[:1], team.workers[:1]):
            for member in victims:
                member.process.send_signal(signal.SIGKILL)
                member.process.wait()
            team.heal()
            goes_on(account)
        cluster.crash()
        cluster.start()
        goes_on(account)


def goes_on(account: Account) -> None:
    before = len(account.kept)
    wait_for(lambda: len(account.kept) > before + 5)


@pytest.mark.parametrize(
    ("servers", "clients", "rounds"), [(2, 4, 1), pytest.param(4, 32, 4, marks=pytest.mark.full)]
)
def test_what_was_acknowledged_outlives_killed_servers_workers_and_databases(
    cluster: Cluster, tmp_path: Path, servers: int, clients: int, rounds: int
) -> None:
    database = cluster.create()
    cluster.execute("create extension vector", database.rpartition("/")[2])
    prepare(database)
    with a_team(database, tmp_path, servers, max(1, servers // 2)) as team:
        with under_load(team, {"big": clients - 1, "small": 1}, patient=True) as account:
            goes_on(account)
            in_the_middle(team, cluster, account, rounds)
        assert settle(account, database) == []
        # Nobody but the killed has ended: the rest came back by themselves.
        assert all(member.alive for member in (*team.servers, *team.workers))
        assert "Traceback" not in team.complaints()
