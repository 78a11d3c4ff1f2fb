"""Nothing is lost when a written tenant moves between clusters, or everything between stores."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from memolith.domain.callers import Caller
from memolith.domain.items import Patch, Written
from memolith.domain.passages import Block, text_digest
from memolith.engine.placement import TenantPlace, proposed_moves
from memolith.engine.tenant_copy import follow
from memolith.errors import TenantMoving
from memolith.storage.postgres.store import PostgresStore
from memolith.storage.sqlite.store import SqliteStore
from tests.conftest import note
from tests.postgres import Cluster, Server, a_cluster, prepare
from tests.programs.children import Child, ask, cli, environment, in_memory, wait_for
from tests.programs.team import MAIN, Account, Team, Voice, a_team, settle, under_load
from tests.stores import dump, dump_tenant, engine_on, open_store


@pytest.fixture(scope="module")
def other() -> Iterator[Cluster]:
    """A second cluster, which may be stopped."""
    with a_cluster() as made:
        yield made


def fresh(server: Server) -> str:
    """A database with the schema."""
    url = server.create()
    server.execute("create extension vector", urlsplit(url).path.strip("/"))
    prepare(url)
    return url


def fill(url: str, tenant: str, count: int) -> None:
    with closing(open_store(url)) as store:
        engine = engine_on(store)
        ids = [
            engine.writing.remember(
                Caller(tenant), note(f"{tenant} says word{n}", tags=("t",))
            ).item.id
            for n in range(count)
        ]
        engine.writing.link(Caller(tenant), ids[0], ids[1], "about")
        engine.writing.forget(Caller(tenant), ids[2])


def seen(url: str, tenant: str) -> dict[str, list[dict[str, Any]]]:
    with closing(open_store(url)) as store:
        return dump_tenant(store, tenant)


def at_rest(url: str, tenant: str) -> dict[str, list[dict[str, Any]]]:
    """What a tenant has, but for who has read and called, which servers write a while later."""
    whole = seen(url, tenant)
    return {name: rows for name, rows in whole.items() if name not in ("read", "call")}


def hold_up(server: Server, url: str, after: int) -> None:
    """Let whoever writes an event beyond this number to a database stand still."""
    server.execute(
        "create function hold_up() returns trigger language plpgsql as "
        "$$ begin perform pg_sleep(600); return new; end $$; "
        "create trigger hold_up before insert on event for each row "
        f"when (new.seq > {after}) execute function hold_up()",
        urlsplit(url).path.strip("/"),
    )


def is_held_up(server: Server) -> bool:
    sleeping = "select 1 from pg_stat_activity where wait_event = 'PgSleep'"
    return bool(server.execute(sleeping))


def let_go(server: Server, url: str) -> None:
    """End whoever stands still, and let others write everything."""
    name = urlsplit(url).path.strip("/")
    server.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep' "
        f"and datname = '{name}'"
    )
    server.execute("drop trigger hold_up on event", name)


def command(url: str, folder: Path, *arguments: str) -> Any:
    return ask(folder, "tenant", *arguments, MEMOLITH_DATABASE=url)


def wrote_more_than(account: Account, count: int) -> bool:
    return len(account.kept) > count


def moves(account: Account, team: Team, *steps: tuple[str, ...]) -> list[Any]:
    """Run the commands while clients work; after each, wait until they have written more."""
    done = []
    for step in steps:
        done.append(command(team.database, team.folder, *step))
        goal = len(account.kept) + 10
        wait_for(partial(wrote_more_than, account, goal))
    return done


@pytest.mark.parametrize("rounds", [1, pytest.param(4, marks=pytest.mark.full)])
def test_a_tenant_moves_there_and_back_under_load_and_no_write_is_lost(
    server: Server, other: Cluster, tmp_path: Path, rounds: int
) -> None:
    here, there = server.create(template=server.template), fresh(other)
    fill(here, "roaming", 100)
    with a_team(here, tmp_path, servers=2, workers=0) as team:
        with under_load(team, {"roaming": 3, "resident": 1}, patient=True) as account:
            for _ in range(rounds):
                moved, purged, *_ = moves(
                    account,
                    team,
                    ("move", "roaming", "--to", there),
                    ("purge", "roaming", "--from", here),
                    ("move", "roaming", "--to", here),
                    ("purge", "roaming", "--from", there),
                )
                assert moved["events"] >= 102
                assert purged == {"purged": "roaming"}
        kept = [line for line in settle(account, here) if "was never sent" not in line]
        assert kept == []
        # Nothing but the move itself may have hindered a client, and nobody but the one who moved.
        assert set(account.refused) <= {"tenant_moving"}
        assert "Traceback" not in team.complaints()
    assert seen(there, "roaming")["event"] == []


def test_servers_with_an_old_map_follow_and_the_resting_tenant_is_equal_before_and_after(
    server: Server, other: Cluster, tmp_path: Path
) -> None:
    here, there = server.create(template=server.template), fresh(other)
    fill(here, "roaming", 30)
    before = at_rest(here, "roaming")
    with a_team(here, tmp_path, servers=2, workers=0) as team:
        voice = Voice(team.key("roaming"))
        for one in team.servers:
            assert voice.ask(one.url, "recall", {"query": "word7", "mode": "text"})["hits"]
        assert command(here, tmp_path, "move", "roaming", "--to", there) == {
            "moved": "roaming",
            "events": 32,
        }
        assert at_rest(there, "roaming") == before
        # The old database refuses writes from now on, so a server with an old map looks again.
        made = [
            voice.ask(one.url, "remember", {"content": f"after the move {n}"})["id"]
            for n, one in enumerate(team.servers)
        ]
        assert {row["id"] for row in seen(there, "roaming")["item"]} > set(made)
        assert at_rest(here, "roaming") == before
    assert command(here, tmp_path, "list") == [
        {"tenant": "roaming", "events": 34, "elsewhere": True}
    ]


def test_what_is_written_after_a_move_gets_its_vectors(
    server: Server, other: Cluster, tmp_path: Path
) -> None:
    here, there = server.create(template=server.template), fresh(other)
    fill(here, "roaming", 3)
    ran = cli(
        tmp_path,
        "tenant",
        "move",
        "roaming",
        "--to",
        there,
        MEMOLITH_DATABASE=here,
        MEMOLITH_EMBEDDER="minilm",
    )
    assert ran.returncode == 0, ran
    name = urlsplit(there).path.strip("/")
    (moved,) = other.execute("select count(*) from embedding", name)[0]
    assert moved == 3
    with a_team(here, tmp_path, servers=1, workers=0, MEMOLITH_EMBEDDER="minilm") as team:
        voice, url = Voice(team.key("roaming")), team.servers[0].url
        voice.ask(url, "remember", {"content": "The lighthouse keeper feeds his goat at dawn."})
        wait_for(lambda: other.execute("select count(*) from embedding", name) == [(4,)])
        found = voice.ask(
            url, "recall", {"query": "an animal gets its breakfast", "mode": "vector"}
        )
        assert "goat" in found["hits"][0]["text"]


def test_a_tenant_that_is_frozen_refuses_writes_with_a_hint_and_goes_on_reading(
    server: Server, tmp_path: Path
) -> None:
    here = server.create(template=server.template)
    fill(here, "roaming", 3)
    with a_team(here, tmp_path, servers=1, workers=0) as team:
        voice, name = Voice(team.key("roaming")), urlsplit(here).path.strip("/")
        server.execute("update head set frozen = true", name)
        with closing(PostgresStore(here)) as mover, mover.writing(None) as lock:
            assert lock.lock_tenant_move("roaming")
            answer = voice.http.post(
                team.servers[0].url + "/mcp/tools/remember", json={"content": "too soon"}
            )
            assert (answer.status_code, answer.json()["error"]) == (503, "tenant_moving")
            assert "Try again" in answer.json()["message"]
            found = voice.ask(team.servers[0].url, "recall", {"query": "word1", "mode": "text"})
            assert found["hits"]
        # Who moved it is gone and has left it frozen.
        assert voice.ask(team.servers[0].url, "remember", {"content": "now"})["id"]


MOVER = (sys.executable, str(Path(__file__).with_name("mover.py")))
STEPS = (
    "freeze 0",
    "follow 0",
    "analyze 0",
    "differences 0",
    "follow 1",
    "carry_rest 0",
    "unequal_logs 0",
    "follow 2",
    "freeze 1",
    "follow 3",
    "carry_rest 1",
    "unequal 0",
)
EVERY_STEP = [step for name in STEPS for step in (name, f"{name}+")]
CRITICAL_STEPS = ["follow 0+", "freeze 1+", "unequal 0+"]


def killed_at(step: str, here: str, target: str) -> None:
    """Begin to move the tenant, and let the process die at a step."""
    ran = subprocess.run(
        [*MOVER, here, "roaming", target, step],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment(),
    )
    assert ran.stdout.splitlines()[-1:] == [step], ran.stderr
    assert ran.returncode == -signal.SIGKILL


def written_unless_moving(store: PostgresStore, text: str) -> Written | None:
    """What is written, once the database knows that whoever moved the tenant is gone.

    It learns that from the connection, which the system closes a moment after the kill.
    """
    with suppress(TenantMoving):
        return engine_on(store).writing.remember(Caller("roaming"), note(text))
    return None


@pytest.mark.parametrize(
    "steps", [CRITICAL_STEPS, pytest.param(EVERY_STEP, marks=pytest.mark.full)], ids=["few", "all"]
)
def test_a_move_that_is_killed_at_any_step_loses_nothing_and_the_tenant_writes_on(
    server: Server, other: Cluster, steps: list[str]
) -> None:
    here, there = server.create(template=server.template), fresh(other)
    fill(here, "roaming", 12)
    for target, last_steps in (
        (there, ["put_home 0", "put_home 0+", "notify_of_homes 0+"]),
        (here, ["delete_home 0", "delete_home 0+", "notify_of_homes 0+"]),
    ):
        for step in (*steps, *last_steps):
            killed_at(step, here, target)
            with closing(PostgresStore(here, leads=True)) as store:
                written = wait_for(partial(written_unless_moving, store, f"after {step}"))
                with store.reading("roaming") as rows:
                    assert rows.last_seq("roaming") == written.seq
                lives_there = "roaming" in store.homes()
            assert lives_there is (target == here), "it moves at the very end"
        with closing(PostgresStore(here, leads=True)) as store:
            before = dump_tenant(store, "roaming")
        killed_at("moved", here, target)
        with closing(PostgresStore(here, leads=True)) as store:
            assert ("roaming" in store.homes()) is (target == there)
            assert dump_tenant(store, "roaming") == before


def test_vectors_move_along_and_are_not_made_again(server: Server, other: Cluster) -> None:
    here, there = server.create(template=server.template), fresh(other)
    fill(here, "roaming", 5)
    vector = "[" + ",".join(["0.05"] * 384) + "]"
    asked: list[PostgresStore] = []
    with closing(PostgresStore(here, leads=True)) as store:
        with store.writing("roaming") as rows:
            jobs = rows.lease_jobs("embed", "2030-01-01T00:00:00.000000Z", 100, 60, "roaming")
            for job in jobs:
                for passage in rows.unembedded("roaming", job.stream, "model"):
                    digest = text_digest(passage.text)
                    rows.put_vector(passage.ref, "model", digest, vector)
                rows.finish_job(job)
            ids = [job.stream for job in jobs]
            rows.put_superseded(ids[0], ids[1], "2026", 0.5, "because")
            rows.put_duplicate(ids[0], ids[1], 0.9)
        store.move("roaming", there, asked.append)
        with store.reading("roaming") as rows:
            assert rows.models() == {"model": 5}
            assert rows.count_waiting("roaming", "embed") == 0
            assert [mark.reason for mark in rows.all_superseded("roaming")] == ["because"]
            assert [mark.similarity for mark in rows.all_duplicates("roaming")] == [0.9]
            passage = rows.unembedded("roaming", ids[0], "model")[0]
            assert passage.digest == text_digest(passage.text)
    assert len(asked) == 1, "what the source has not embedded is embedded in the target"


def test_a_move_to_a_database_that_goes_away_leaves_everything_as_it_was(
    server: Server, tmp_path: Path
) -> None:
    here = server.create(template=server.template)
    fill(here, "roaming", 200)
    before = seen(here, "roaming")
    with a_cluster() as target:
        there = fresh(target)
        hold_up(target, there, after=100)
        with Child(
            *MAIN,
            "tenant",
            "move",
            "roaming",
            "--to",
            there,
            "--data",
            tmp_path,
            "--json",
            MEMOLITH_DATABASE=here,
        ) as mover:
            wait_for(lambda: is_held_up(target))
            target.crash()
            assert mover.end() == 1
            assert json.loads(mover.complaints[-1])["error"] in (
                "unavailable",
                "store_gone",
                "outcome_unknown",
            )
    assert seen(here, "roaming") == before
    with closing(open_store(here)) as store:
        assert engine_on(store).writing.remember(Caller("roaming"), note("goes on")).item.id
    assert command(here, tmp_path, "list") == [
        {"tenant": "roaming", "events": 203, "elsewhere": False}
    ]


def test_a_move_that_was_killed_loses_nothing_and_is_finished_by_the_next(
    server: Server, other: Cluster, tmp_path: Path
) -> None:
    here, there = server.create(template=server.template), fresh(other)
    fill(here, "roaming", 50)
    # What is left if a mover is killed after writes are refused, before the map is changed.
    server.execute("update head set frozen = true", urlsplit(here).path.strip("/"))
    ran = cli(tmp_path, "tenant", "purge", "roaming", "--from", here, MEMOLITH_DATABASE=here)
    assert ran.returncode == 1
    assert "nothing was removed" in ran.stderr
    before = seen(here, "roaming")
    assert len(before["event"]) == 52
    assert command(here, tmp_path, "move", "roaming", "--to", there)["events"] == 52
    assert seen(there, "roaming") == before
    with closing(PostgresStore(here, leads=True)) as store:
        assert engine_on(store).writing.remember(Caller("roaming"), note("goes on")).seq == 53


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("move", "nobody", "--to", "{there}"), "no tenant"),
        (("move", "roaming", "--to", "{here}"), "already"),
        (("move", "roaming"), "--to"),
        (("purge", "roaming", "--from", "{here}"), "nothing was removed"),
        (("purge", "roaming", "--from", "{there}"), "nothing was removed"),
        (("move", "roaming", "--to", "mysql://x"), "not an address"),
    ],
)
def test_a_senseless_move_is_refused_and_changes_nothing(
    server: Server, other: Cluster, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    here, there = server.create(template=server.template), fresh(other)
    fill(here, "roaming", 3)
    before = seen(here, "roaming")
    ran = cli(
        tmp_path,
        "tenant",
        *(part.format(here=here, there=there) for part in arguments),
        MEMOLITH_DATABASE=here,
    )
    assert ran.returncode in (1, 2), ran
    assert says in ran.stderr
    assert "Traceback" not in ran.stderr
    assert seen(here, "roaming") == before
    assert seen(there, "roaming")["event"] == []


def copied(folder: Path, source: str, target: str) -> Any:
    return ask(folder, "copy", "--from", source, "--to", target)


def test_everything_is_copied_there_and_back_and_is_equal(server: Server, tmp_path: Path) -> None:
    url = server.create(template=server.template)
    first, last = tmp_path / "first", tmp_path / "last"
    for tenant in ("acme", "globex"):
        fill(str(first), tenant, 20)
    secret = ask(first, "keys", "create", "mine", "--tenant", "acme")["key"]
    # One of the events tells of the key.
    assert copied(tmp_path, f"sqlite:{first}", f"postgres:{url}") == {"acme": 23, "globex": 22}
    assert copied(tmp_path, f"sqlite:{first}", f"postgres:{url}") == {"acme": 0, "globex": 0}
    assert copied(tmp_path, f"postgres:{url}", f"sqlite:{last}") == {"acme": 23, "globex": 22}
    with (
        closing(SqliteStore(first)) as one,
        closing(SqliteStore(last)) as two,
        closing(open_store(url)) as between,
    ):
        assert dump(one) == dump(two) == dump(between)
    with a_team(url, tmp_path, servers=1, workers=0) as team:
        assert Voice(secret).ask(team.servers[0].url, "recall", {"query": "word3", "mode": "text"})[
            "hits"
        ]


def test_histories_of_every_kind_are_copied_in_one_part(server: Server, tmp_path: Path) -> None:
    """Rows are written together then, so an event may follow one whose row is not there yet."""
    url = server.create(template=server.template)
    caller = Caller("acme")
    with closing(SqliteStore(tmp_path / "first")) as first:
        writing = engine_on(first).writing
        for id in ("revised", "appended", "tagged", "restored", "erased", "linked"):
            writing.remember(caller, note(f"{id} says zebra", id=id, tags=("t",)))
            writing.revise(caller, id, Patch(title=f"about {id}"))
        writing.revise(caller, "revised", Patch(blocks=(Block("says gnu"), Block("and yak"))))
        writing.append(caller, "appended", (Block("and okapi"),))
        writing.tag(caller, "tagged", add=("u",), remove=("t",))
        for id in ("restored", "revised"):
            writing.forget(caller, id)
        writing.restore(caller, "restored")
        writing.link(caller, "linked", "tagged", "about")
        writing.link(caller, "linked", "tagged", "about", strength=0.5, again=True)
        writing.unlink(caller, writing.link(caller, "linked", "appended", "about").id)
        writing.erase(caller, "erased")
        writing.remember(caller, note("says zebra again", id="late"))
        with closing(open_store(url)) as target:
            events = follow(first, target, "acme")
            assert events > 20
            assert dump_tenant(target, "acme") == dump_tenant(first, "acme")
            assert engine_on(target).maintenance.verify() == []


def test_a_copy_takes_tenants_of_other_databases_along(
    server: Server, other: Cluster, tmp_path: Path
) -> None:
    here, there = server.create(template=server.template), fresh(other)
    fill(here, "roaming", 5)
    before = seen(here, "roaming")
    command(here, tmp_path, "move", "roaming", "--to", there)
    command(here, tmp_path, "purge", "roaming", "--from", here)
    assert copied(tmp_path, f"postgres:{here}", f"sqlite:{tmp_path / 'all'}") == {"roaming": 7}
    assert seen(str(tmp_path / "all"), "roaming") == before


@pytest.mark.full
@pytest.mark.parametrize("back", [False, True])
def test_a_copy_that_was_killed_goes_on_where_it_stopped(
    server: Server, tmp_path: Path, back: bool
) -> None:
    with in_memory() as folder:
        kill_and_copy_again(server, folder, tmp_path, back)


def kill_and_copy_again(server: Server, folder: Path, tmp_path: Path, back: bool) -> None:
    url = server.create(template=server.template)
    source, target = (url, str(folder)) if back else (str(folder), url)
    fill(source, "acme", 700)
    if not back:
        # The first 500 are written at once.
        hold_up(server, url, after=600)
    names = {url: f"postgres:{url}", str(folder): f"sqlite:{folder}"}
    arguments = (
        "copy",
        "--from",
        names[source],
        "--to",
        names[target],
        "--json",
        "--data",
        str(tmp_path),
    )
    with closing(open_store(target)) as store:
        with Child(*MAIN, *arguments) as copier:

            def some() -> bool:
                with store.reading("acme") as rows:
                    return bool(rows.last_seq("acme")) or copier.process.poll() is not None

            wait_for(some)
            copier.process.send_signal(signal.SIGKILL)
        if not back:
            let_go(server, url)
        with store.reading("acme") as rows:
            half = rows.last_seq("acme")
    assert 0 < half < 702
    assert copied(tmp_path, names[source], names[target]) == {"acme": 702 - half}
    assert seen(source, "acme") == seen(target, "acme")


def test_a_copy_into_a_store_that_holds_something_else_is_refused(
    server: Server, tmp_path: Path
) -> None:
    url, folder = server.create(template=server.template), tmp_path / "folder"
    fill(url, "acme", 5)
    fill(str(folder), "acme", 9)
    before = seen(url, "acme")
    ran = cli(tmp_path, "copy", "--from", f"sqlite:{folder}", "--to", f"postgres:{url}")
    assert ran.returncode == 1
    assert "copy into an empty tenant" in ran.stderr
    assert seen(url, "acme") == before


def test_two_processes_that_move_at_once_do_not_part_a_tenant(
    server: Server, other: Cluster, tmp_path: Path
) -> None:
    here, targets = server.create(template=server.template), [fresh(other), fresh(other)]
    fill(here, "roaming", 30)
    before = seen(here, "roaming")
    movers = [
        Child(
            *MAIN,
            "tenant",
            "move",
            "roaming",
            "--to",
            url,
            "--data",
            tmp_path,
            MEMOLITH_DATABASE=here,
        )
        for url in targets
    ]
    assert min(mover.end() for mover in movers) == 0
    with closing(PostgresStore(here, leads=True)) as store:
        assert dump_tenant(store, "roaming") == before
        assert engine_on(store).writing.remember(Caller("roaming"), note("goes on")).seq == 33


def test_tenants_are_shown_with_their_databases_and_a_move_is_proposed(
    server: Server, other: Cluster, tmp_path: Path
) -> None:
    here, there = server.create(template=server.template), other.create()
    other.execute("create extension vector", urlsplit(there).path.strip("/"))
    for tenant, count in (("large", 40), ("middle", 30), ("small", 5)):
        fill(here, tenant, count)
    added = ask(tmp_path, "tenants", "--add", there, MEMOLITH_DATABASE=here)
    assert added["added"].endswith(urlsplit(there).path)
    shown = ask(tmp_path, "tenants", MEMOLITH_DATABASE=here)
    assert [row["tenants"] for row in shown["databases"]] == [3, 0]
    sizes = {row["tenant"]: row["bytes"] for row in shown["tenants"]}
    assert sizes["large"] > sizes["middle"] > sizes["small"] > 0
    move = shown["proposed_moves"][0]
    assert (move["tenant"], move["target"]) == ("middle", added["added"])
    command(here, tmp_path, "move", "middle", "--to", there)
    shown = ask(tmp_path, "tenants", MEMOLITH_DATABASE=here)
    homes = {row["tenant"]: row["database"] for row in shown["tenants"]}
    assert homes["middle"] == added["added"] != homes["large"]
    secret = urlsplit(there).password
    assert secret is None or secret not in json.dumps(shown)


def test_tenants_of_a_folder_are_shown_and_no_database_can_be_added(tmp_path: Path) -> None:
    fill(str(tmp_path / "data"), "acme", 3)
    shown = ask(tmp_path / "data", "tenants")
    assert [row["tenant"] for row in shown["tenants"]] == ["acme"]
    assert shown["proposed_moves"] == []
    ran = cli(tmp_path / "data", "tenants", "--add", "postgresql://127.0.0.1:9/none")
    assert ran.returncode == 2
    assert "PostgreSQL" in ran.stderr


def place(tenant: str, database: str, size: int) -> TenantPlace:
    return TenantPlace(tenant, database, 1, size)


def test_moves_are_proposed_until_databases_are_about_equal() -> None:
    places = [place("a", "one", 50), place("b", "one", 30), place("c", "one", 20)]
    assert proposed_moves(places, ["one"]) == []
    assert [move.tenant for move in proposed_moves(places, ["one", "two"])] == ["a"]
    assert [move.tenant for move in proposed_moves(places, ["one", "two", "three"])] == ["b", "c"]
    even = [place("a", "one", 50), place("b", "two", 45)]
    assert proposed_moves(even, ["one", "two"]) == []
