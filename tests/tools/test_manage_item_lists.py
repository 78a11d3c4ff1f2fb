"""`list_items` and `show_item`: what is remembered, seen by those who may see it."""

from typing import Any

import pytest

from memolith.bootstrap import App, families
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.tools.call import Call
from memolith.tools.registry import Registry
from tests.conftest import ME, note
from tests.stores import each_store

pytestmark = each_store
ANN = Caller(user="ann")


def ask(app: App, tool: str, caller: Caller = ME, **arguments: Any) -> dict[str, Any]:
    outcome = Registry(families()).run(tool, arguments, Call(caller, app.engine))
    assert outcome.ok, outcome.body
    return dict(outcome.body)


@pytest.fixture
def shelf(app: App) -> App:
    """Some items of two owners."""
    writing = app.engine.writing
    writing.remember(ME, note("Otters hold hands.", id="otters", title="Otters", tags=("sea",)))
    writing.remember(ME, note("Kelp grows fast.", id="kelp", kind="concept", title="Kelp"))
    writing.remember(ME, note("Goats climb.", id="goats", project="farm", tags=("sea", "land")))
    writing.remember(ME, note("A gull.", id="gull"))
    writing.revise(ME, "gull", Patch(status="archived"))
    writing.remember(ME, note("A shell.", id="shell"))
    writing.forget(ME, "shell")
    writing.remember(ANN, note("A diary.", id="diary"))
    writing.remember(ANN, note("The tide is low.", id="tide", audience=Audience.ORG))
    return app


def ids(app: App, caller: Caller = ME, **arguments: Any) -> list[str]:
    return [item["id"] for item in ask(app, "list_items", caller, **arguments)["items"]]


def test_items_come_newest_first_as_far_as_they_may_be_seen(shelf: App) -> None:
    assert ids(shelf) == ["tide", "gull", "goats", "kelp", "otters"]
    assert ids(shelf, ANN) == ["tide", "diary"]
    assert ids(shelf, Caller(tenant="globex")) == []


def test_a_listed_item_tells_what_it_is(shelf: App) -> None:
    *_, otters = ask(shelf, "list_items")["items"]
    assert otters["title"] == "Otters"
    assert otters["excerpt"] == "Otters hold hands."
    assert (otters["owner"], otters["audience"], otters["tags"]) == ("local", "user", ["sea"])
    assert otters["forgotten"] is False


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"kinds": ["concept"]}, ["kelp"]),
        ({"tags": ["sea"]}, ["goats", "otters"]),
        ({"tags": ["sea", "land"]}, ["goats"]),
        ({"project": "farm"}, ["goats"]),
        ({"status": "archived"}, ["gull"]),
        ({"forgotten": True}, ["shell"]),
        ({"owner": "ann"}, ["tide"]),
        ({"since": "2100-01-01"}, []),
        ({"until": "2000-01-01"}, []),
        ({"limit": 1, "offset": 1}, ["gull"]),
    ],
)
def test_items_are_chosen(shelf: App, chosen: dict[str, Any], expected: list[str]) -> None:
    assert ids(shelf, **chosen) == expected


def test_the_total_counts_what_other_pages_show(shelf: App) -> None:
    assert ask(shelf, "list_items", limit=2)["total"] == 5
    assert ask(shelf, "list_items", offset=4)["total"] == 5


def test_an_unknown_kind_is_refused(shelf: App) -> None:
    outcome = Registry(families()).run("list_items", {"kinds": ["otter"]}, Call(ME, shelf.engine))
    assert not outcome.ok
    assert outcome.body["field"] == "kinds"


def show(app: App, id: str, caller: Caller = ME, **arguments: Any) -> dict[str, Any]:
    return ask(app, "show_item", caller, id=id, **arguments)


def test_an_item_is_shown_with_all_that_is_known_about_it(shelf: App) -> None:
    shelf.engine.writing.link(ME, "otters", "kelp", "lives_in")
    shelf.engine.writing.link(ME, "goats", "otters", "envy")
    shelf.engine.reading.note_access(ME, "otters")
    shown = show(shelf, "otters")
    assert [block["text"] for block in shown["blocks"]] == ["Otters hold hands."]
    assert (shown["owner"], shown["audience"], shown["tags"]) == ("local", "user", ["sea"])
    assert [(link["direction"], link["type"], link["title"]) for link in shown["links"]] == [
        ("in", "envy", "Goats climb."),
        ("out", "lives_in", "Kelp"),
    ]
    assert shown["total_links"] == 2
    assert shown["reads"]["count"] == 1
    assert "superseded_by" not in shown


def test_links_to_what_is_hidden_or_forgotten_are_not_shown(shelf: App) -> None:
    shelf.engine.writing.link(ME, "tide", "otters", "wets")
    shelf.engine.writing.link(ME, "tide", "kelp", "wets")
    assert show(shelf, "tide", ANN)["links"] == []
    shelf.engine.writing.forget(ME, "kelp")
    assert [link["id"] for link in show(shelf, "tide")["links"]] == ["otters"]


def test_a_forgotten_item_is_shown_and_a_hidden_one_is_not(shelf: App) -> None:
    assert show(shelf, "shell")["forgotten"] is True
    outcome = Registry(families()).run("show_item", {"id": "diary"}, Call(ME, shelf.engine))
    assert not outcome.ok


def test_a_long_text_is_shown_piece_by_piece(app: App) -> None:
    blocks = tuple(Block(f"Turn {number}.", speaker="ann") for number in range(5))
    app.engine.writing.remember(ME, Draft("conversation", "Talk", blocks, id="talk"))
    shown = show(app, "talk", limit=2, offset=1)
    assert [block["text"] for block in shown["blocks"]] == ["Turn 1.", "Turn 2."]
    assert shown["blocks"][0]["speaker"] == "ann"
    assert shown["total_blocks"] == 5


def test_near_copies_and_contradictions_stand_beside_the_item(app: App) -> None:
    said = "The sea otter of Monterey weighs {} kilos and sleeps in the kelp forest at night."
    for id, weight in (("old", 30), ("copy", 30), ("new", 45)):
        app.engine.writing.remember(ME, note(said.format(weight), id=id))
    shown = show(app, "old")
    assert [other["id"] for other in shown["similar"]] == ["copy"]
    assert shown["similar"][0]["similarity"] == 1.0
    assert [other["id"] for other in shown["conflicting"]] == ["new"]
    assert show(app, "old", similar=0)["similar"] == []


def test_a_replaced_item_and_its_successor_name_each_other(shelf: App) -> None:
    with shelf.store.writing(ME.tenant) as rows:
        rows.put_superseded("otters", "gull", "2026-01-01T00:00:00.000000Z")
    assert show(shelf, "otters")["superseded_by"] == "gull"
    (older,) = show(shelf, "gull")["superseding"]
    assert (older["id"], older["title"]) == ("otters", "Otters")


def test_only_what_undo_would_take_back_is_called_undoable(shelf: App) -> None:
    writing = shelf.engine.writing
    tagged = writing.revise(ME, "otters", Patch(tags=("sea", "calm"))).seq
    first_title = writing.revise(ME, "otters", Patch(title="Sea otters")).seq
    second_title = writing.revise(ME, "otters", Patch(title="Otters of the sea")).seq
    undoable = show(shelf, "otters")["undoable"]
    assert {tagged, second_title} <= set(undoable)
    assert first_title not in undoable
    for seq in (second_title, tagged):
        shelf.engine.history.undo(ME, seq)
