"""`list_events`: what happened, seen by those who may see it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memolith.bootstrap import App, families
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Patch
from memolith.tools.call import Call
from memolith.tools.registry import Registry
from tests.conftest import ME, note
from tests.stores import each_store

pytestmark = each_store
ADMIN = replace(ME, admin=True)
ANN = Caller(user="ann")
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(app: App) -> Ask:
    """Calls the tool: as whom, and with which arguments."""
    registry = Registry(families())

    def asked(caller: Caller = ME, **arguments: Any) -> dict[str, Any]:
        outcome = registry.run("list_events", arguments, Call(caller, app.engine))
        assert outcome.ok, outcome.body
        return dict(outcome.body)

    return asked


@pytest.fixture
def told(app: App) -> App:
    """Otters are remembered, revised, linked to kelp and forgotten; ann has a note of her own."""
    writing = app.engine.writing
    writing.remember(ME, note("Otters hold hands.", id="otters", title="Otters"))
    writing.remember(ME, note("Kelp grows fast.", id="kelp", kind="concept", title="Kelp"))
    writing.revise(ME, "otters", Patch(tags=("sea",)))
    writing.link(ME, "otters", "kelp", "lives_in")
    writing.remember(ANN, note("A secret of ann.", id="secret"))
    writing.remember(ANN, note("The tide is low.", id="tide", audience=Audience.ORG))
    return app


def types(answer: dict[str, Any]) -> list[str]:
    return [event["type"] for event in answer["events"]]


def ids(answer: dict[str, Any]) -> list[str | None]:
    return [event["id"] for event in answer["events"] if event["type"] != "appraised"]


def test_events_come_newest_first_with_what_they_are_about(told: App, ask: Ask) -> None:
    newest, *_ = ask()["events"]
    assert (newest["id"], newest["kind"], newest["by"]) == ("tide", "memory", "ann")
    assert newest["title"] == "The tide is low."
    (linked,) = ask(types=["linked"])["events"]
    assert (linked["id"], linked["title"], linked["link_type"]) == ("otters", "Otters", "lives_in")
    assert (linked["target_id"], linked["target_title"]) == ("kelp", "Kelp")
    numbers = [event["event"] for event in ask()["events"]]
    assert numbers == sorted(numbers, reverse=True)


def test_nobody_sees_events_of_what_they_may_not_see(told: App, ask: Ask) -> None:
    assert "secret" not in ids(ask())
    assert set(ids(ask(ANN))) == {"secret", "tide"}
    assert {"secret", "otters"} <= set(ids(ask(ADMIN)))
    stranger = Caller(tenant="globex", user="local")
    assert ask(stranger)["events"] == []


def test_a_caller_kept_to_projects_sees_no_other(app: App, ask: Ask) -> None:
    for project in ("zoo", "farm"):
        app.engine.writing.remember(ME, note("A goat.", id=project, project=project))
    assert ids(ask(replace(ME, bound_to=("zoo",)))) == ["zoo"]


def test_events_are_chosen_by_actor_type_kind_and_item(told: App, ask: Ask) -> None:
    assert set(ids(ask(actor="ann"))) == {"tide"}
    assert types(ask(types=["revised", "linked"])) == ["linked", "revised"]
    assert set(ids(ask(kinds=["concept"]))) == {"kelp"}
    assert types(ask(item="otters")) == ["linked", "revised", "remembered"]
    assert types(ask(item="otters", kinds=["memory"])) == ["revised", "remembered"]
    assert ask(item="otters", kinds=["concept"])["events"] == []
    assert types(ask(item="otters", actor="local", types=["revised"])) == ["revised"]


def test_events_are_chosen_by_time(told: App, ask: Ask) -> None:
    everything = ask()["events"]
    place = types(ask()).index("revised")
    at = everything[place]["at"]
    assert ask(since=at)["events"] == everything[: place + 1]
    assert ask(until=at)["events"] == everything[place:]
    assert types(ask(item="otters", since=at)) == ["linked", "revised"]
    assert ask(item="otters", until="2020-01-01")["events"] == []


def test_pages_follow_each_other_without_gaps(told: App, ask: Ask) -> None:
    everything = ask()["events"]
    paged = []
    before: dict[str, int] = {}
    while True:
        page = ask(limit=2, **before)
        paged += page["events"]
        if "next_before" not in page:
            break
        before = {"before": page["next_before"]}
    assert paged == everything
    of_item = ask(item="otters", limit=2)
    rest = ask(item="otters", before=of_item["next_before"])
    assert types(of_item) + types(rest) == ["linked", "revised", "remembered"]


def test_only_newer_events_are_told_after_a_number(told: App, ask: Ask) -> None:
    newest = ask()["events"][0]["event"]
    assert ask(after=newest)["events"] == []
    told.engine.writing.forget(ME, "otters")
    assert types(ask(after=newest)) == ["forgotten"]


def test_what_nothing_followed_can_be_undone(told: App, ask: Ask) -> None:
    told.engine.writing.revise(ME, "otters", Patch(title="Sea otters"))
    of_item = {event["type"]: event["undoable"] for event in ask(item="otters")["events"]}
    assert of_item["linked"] is True
    newest, older = ask(item="otters", types=["revised"])["events"]
    assert (newest["undoable"], older["undoable"]) == (True, False)
    told.engine.history.undo(ME, newest["event"])
    assert ask()["events"][0]["title"] == "Otters"


def test_of_an_erased_item_the_log_tells_its_owner_and_admins_when(told: App, ask: Ask) -> None:
    told.engine.writing.erase(ANN, "tide")
    (erased,) = ask(ANN, types=["erased"])["events"]
    assert (erased["id"], erased["title"], erased["undoable"]) == (None, "", False)
    assert types(ask(ADMIN, types=["erased"])) == ["erased"]
    assert ask(types=["erased"])["events"] == []
    assert ask(replace(ADMIN, bound_to=("zoo",)), types=["erased"])["events"] == []


@pytest.mark.parametrize(("field", "value"), [("types", ["eaten"]), ("kinds", ["otter"])])
def test_unknown_names_are_refused(app: App, field: str, value: list[str]) -> None:
    outcome = Registry(families()).run("list_events", {field: value}, Call(ME, app.engine))
    assert not outcome.ok
    assert outcome.body["field"] == field


def test_an_undo_is_told_from_other_changes(told: App, ask: Ask) -> None:
    (revised,) = ask(types=["revised"])["events"]
    told.engine.history.undo(ME, revised["event"])
    assert [event["is_undo"] for event in ask(types=["revised"])["events"]] == [True, False]
    of_item = ask(item="otters", types=["revised"])["events"]
    assert [event["is_undo"] for event in of_item] == [True, False]
