"""`list_reads` and `list_clients`: who read what, and which programs have called."""

from dataclasses import replace
from typing import Any

import pytest

from memolith.bootstrap import App, families
from memolith.domain.callers import Audience, Caller
from memolith.engine import usage
from memolith.engine.usage import Client
from memolith.errors import StoreBusy
from memolith.tools.call import Call
from memolith.tools.registry import Registry
from tests.conftest import ME, note
from tests.stores import each_store

pytestmark = each_store
ANN = Caller(user="ann")
READ_ONLY = frozenset(("read",))
LAPTOP = Client("key-1", "claude-code")


def ask(app: App, tool: str, call: Call | None = None, /, **arguments: Any) -> dict[str, Any]:
    outcome = Registry(families()).run(tool, arguments, call or Call(ME, app.engine))
    assert outcome.ok, outcome.body
    return dict(outcome.body)


def as_user(app: App, caller: Caller, client: Client | None = None) -> Call:
    """A call of somebody who may only read."""
    return Call(caller, app.engine, scopes=READ_ONLY, client=client)


@pytest.fixture
def shelf(app: App) -> App:
    """Notes of two owners; Ann has read three of them."""
    writing = app.engine.writing
    writing.remember(
        ME, note("Otters hold hands.", id="otters", title="Otters", audience=Audience.ORG)
    )
    writing.remember(ANN, note("Kelp grows fast.", id="kelp", audience=Audience.ORG))
    writing.remember(ANN, note("A diary about kelp.", id="diary"))
    ann = as_user(app, ANN)
    ask(app, "fetch", ann, ids=["otters", "diary"])
    ask(app, "fetch", ann, ids=["otters"])
    ask(app, "recall", ann, query="kelp grows", mode="text")
    return app


def reads(app: App, call: Call | None = None, **arguments: Any) -> list[tuple[str, str, int]]:
    found = ask(app, "list_reads", call, **arguments)
    assert found["total"] >= len(found["reads"])
    return [(read["id"], read["tool"], read["count"]) for read in found["reads"]]


def test_a_read_tells_who_what_when_and_how_often(shelf: App) -> None:
    (read,) = ask(shelf, "list_reads", id="otters")["reads"]
    assert read["title"] == "Otters"
    assert (read["user"], read["family"], read["tool"]) == ("ann", "core", "fetch")
    assert read["count"] == 2
    assert read["at"].endswith("Z")


def test_an_admin_sees_all_reads_and_the_last_one_first(shelf: App) -> None:
    found = reads(shelf)
    assert set(found[:2]) == {("diary", "recall", 1), ("kelp", "recall", 1)}
    assert found[2:] == [("otters", "fetch", 2), ("diary", "fetch", 1)]


def test_without_admin_one_sees_own_reads_and_the_reads_of_own_items(shelf: App) -> None:
    ask(shelf, "fetch", as_user(shelf, replace(ME, user="bob")), ids=["kelp"])
    assert len(reads(shelf, as_user(shelf, ANN))) == 5
    bob = reads(shelf, as_user(shelf, replace(ME, user="bob")))
    assert bob == [("kelp", "fetch", 1)]
    assert reads(shelf, as_user(shelf, ME)) == [("otters", "fetch", 2)]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"id": "diary"}, {"diary"}),
        ({"id": "memolith://item/diary"}, {"diary"}),
        ({"user": "ann"}, {"otters", "kelp", "diary"}),
        ({"user": "bob"}, set()),
        ({"since": "2000-01-01"}, {"otters", "kelp", "diary"}),
        ({"since": "2100-01-01"}, set()),
        ({"limit": 1, "offset": 3}, {"diary"}),
        ({"id": "none"}, set()),
    ],
)
def test_reads_are_chosen(shelf: App, chosen: dict[str, Any], expected: set[str]) -> None:
    assert {id for id, _, _ in reads(shelf, **chosen)} == expected


def test_the_total_counts_what_other_pages_show(shelf: App) -> None:
    assert ask(shelf, "list_reads", limit=1)["total"] == 4


def test_another_tenant_sees_nothing(shelf: App) -> None:
    assert reads(shelf, Call(Caller(tenant="globex"), shelf.engine)) == []


def test_an_erased_item_takes_its_readers_along(shelf: App) -> None:
    shelf.engine.writing.erase(ME, "otters")
    assert reads(shelf, id="otters") == []


def test_a_read_is_kept_when_the_store_is_busy(shelf: App, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise StoreBusy

    shelf.engine.usage.flush()
    monkeypatch.setattr(shelf.engine.usage.store, "writing", busy)
    ask(shelf, "fetch", as_user(shelf, ANN), ids=["otters"])
    assert reads(shelf, id="otters") == [("otters", "fetch", 2)]
    ask(shelf, "fetch", as_user(shelf, ANN), ids=["otters"])
    monkeypatch.undo()
    assert reads(shelf, id="otters") == [("otters", "fetch", 4)]


def test_what_waits_to_be_written_is_bounded(shelf: App, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.engine.usage.flush()
    monkeypatch.setattr(usage, "MAX_WAITING", 1)
    monkeypatch.setattr(usage, "MAX_PROGRAMS", 1)
    for id in ("otters", "kelp"):
        ask(shelf, "fetch", as_user(shelf, replace(ME, user="bob"), Client("", id)), ids=[id])
    assert reads(shelf, user="bob") == [("otters", "fetch", 1)]
    assert {client["program"] for client in ask(shelf, "list_clients")["clients"]} == {
        "otters",
        "other programs",
    }


def test_old_reads_are_forgotten(shelf: App) -> None:
    shelf.engine.usage.flush()
    with shelf.store.writing(ME.tenant) as rows:
        rows.delete_usage("2100")
    assert reads(shelf) == []


# Clients


def clients(app: App, call: Call | None = None, **arguments: Any) -> list[tuple[str, str, int]]:
    found = ask(app, "list_clients", call, **arguments)["clients"]
    return [(client["program"], client["user"], client["calls"]) for client in found]


@pytest.fixture
def called(shelf: App) -> App:
    """Two programs have called, one of them in vain, too."""
    ask(shelf, "overview", as_user(shelf, ANN, LAPTOP))
    failing = as_user(shelf, ANN, LAPTOP)
    assert not Registry(families()).run("fetch", {"ids": ["none"]}, failing).ok
    ask(shelf, "overview", as_user(shelf, ME, Client("", "cursor \x00 vscode")))
    return shelf


def test_a_client_tells_how_often_it_called_and_in_vain(called: App) -> None:
    (client,) = ask(called, "list_clients", key_id="key-1")["clients"]
    assert (client["program"], client["user"]) == ("claude-code", "ann")
    assert (client["calls"], client["errors"], client["last_error"]) == (2, 1, "not_found")
    assert client["first_call"] <= client["last_call"]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, {"local", "ann"}),
        ({"user": "ann"}, {"ann"}),
        ({"key_id": ""}, {"local"}),
        ({"limit": 1, "offset": 1}, {"ann"}),
    ],
)
def test_clients_are_chosen(called: App, chosen: dict[str, Any], expected: set[str]) -> None:
    assert {user for _, user, _ in clients(called, **chosen)} == expected


def test_without_admin_one_sees_own_clients_only(called: App) -> None:
    assert clients(called, as_user(called, ANN)) == [("claude-code", "ann", 2)]


def test_calls_are_known_after_a_restart(called: App) -> None:
    called.engine.usage.flush()
    with called.store.reading(ME.tenant) as rows:
        assert [calls.calls for calls in rows.client_calls(ME.tenant)] == [1, 2]


def test_what_the_page_and_the_command_line_call_is_not_counted(shelf: App) -> None:
    ask(shelf, "overview", as_user(shelf, ANN, Client("key-1", "web page", counted=False)))
    ask(shelf, "overview")
    assert clients(shelf) == []
