"""`activity` and `explain_search`: what the page tells about the server and about a search."""

from dataclasses import replace
from typing import Any

import pytest

from memolith.bootstrap import App, families
from memolith.domain.callers import Audience, Caller
from memolith.tools.call import Call
from memolith.tools.registry import Registry
from tests.conftest import ME, note
from tests.stores import each_store

pytestmark = each_store
ADMIN = replace(ME, admin=True)
ANN = Caller(user="ann")
READ_ONLY = frozenset(("read",))


def ask(app: App, tool: str, caller: Caller = ME, **arguments: Any) -> dict[str, Any]:
    outcome = Registry(families()).run(tool, arguments, Call(caller, app.engine))
    assert outcome.ok, outcome.body
    return dict(outcome.body)


@pytest.fixture
def zoo(app: App) -> App:
    writing = app.engine.writing
    writing.remember(ME, note("Otters hold hands.", id="otters", tags=("sea",), project="bay"))
    writing.remember(ME, note("Otters eat urchins.", id="urchins", kind="concept", title="Food"))
    writing.remember(ME, note("Goats climb rocks.", id="goats"))
    writing.forget(ME, "goats")
    writing.remember(ANN, note("Otters are shy.", id="shy"))
    writing.remember(ANN, note("The tide is low.", id="tide", audience=Audience.ORG))
    return app


def test_the_last_days_tell_what_was_written_and_how_much_there_was(zoo: App) -> None:
    days = ask(zoo, "activity", days=3)["days"]
    assert [day["written"] for day in days] == [0, 0, 3]
    assert [day["total"] for day in days] == [0, 0, 3]
    assert days[-1]["day"] == zoo.clock.now()[:10]
    assert len(ask(zoo, "activity", days=7)["days"]) == 7


def test_today_is_told_by_user_as_far_as_it_may_be_seen(zoo: App) -> None:
    zoo.engine.writing.link(ME, "otters", "urchins", "eat")
    assert ask(zoo, "activity")["today"] == {"local": 5, "ann": 1}
    assert ask(zoo, "activity", ANN)["today"] == {"ann": 2}
    assert ask(zoo, "activity", ADMIN)["today"] == {"local": 5, "ann": 2}
    kept_to_bay = replace(ADMIN, bound_to=("farm",))
    assert ask(zoo, "activity", kept_to_bay)["today"] == {"local": 3, "ann": 2}


def test_health_is_told_to_all_and_sizes_to_admins(zoo: App) -> None:
    report = ask(zoo, "activity")
    assert report["waiting"]["failed"] == 0
    assert report["model"] == {"state": "off", "name": "none"}
    assert sum(report["sizes"].values()) > 0
    call = Call(ME, zoo.engine, scopes=READ_ONLY)
    plain = Registry(families()).run("activity", {}, call).body
    assert "sizes" not in plain
    assert "failures" not in plain


def test_the_store_of_all_is_shown_to_its_owner_only(zoo: App) -> None:
    report = ask(zoo, "activity", Caller("globex", "eve", admin=True))
    assert "sizes" not in report


def steps(answer: dict[str, Any]) -> dict[str, int]:
    return {step["step"]: step["count"] for step in answer["steps"]}


def test_a_search_is_explained_with_the_hits_of_recall(zoo: App) -> None:
    explained = ask(zoo, "explain_search", query="otters hold hands")
    recalled = ask(zoo, "recall", query="otters hold hands")
    assert explained["hits"] == recalled["hits"]
    assert explained["total"] == recalled["total"]
    counts = steps(explained)
    assert counts["visible"] == 3
    assert counts["by_words"] == 2
    assert counts["scored"] == counts.get("below", 0) + counts["ranked"]


def test_what_falls_below_the_floor_is_shown(zoo: App) -> None:
    strict = ask(zoo, "explain_search", query="otters hold hands", min_score=1.0)
    assert strict["hits"] == []
    assert strict["floor"] == 1.0
    assert steps(strict)["below"] == 2
    assert [hit["id"] for hit in strict["below"]] == ["otters", "urchins"]
    one = ask(zoo, "explain_search", query="otters hold hands", min_score=1.0, below=1)
    assert [hit["id"] for hit in one["below"]] == ["otters"]


@pytest.mark.parametrize(
    "chosen",
    [
        {"kinds": ["memory"]},
        {"tags": ["sea"]},
        {"project": "bay"},
        {"since": "2100-01-01"},
        {"until": "2000-01-01"},
        {"status": "archived"},
    ],
)
def test_filters_narrow_the_funnel(zoo: App, chosen: dict[str, Any]) -> None:
    counts = steps(ask(zoo, "explain_search", query="otters", **chosen))
    assert counts["fitting"] < counts["visible"]
    assert counts["by_words"] < 2


def test_a_step_is_told_in_the_right_number(zoo: App) -> None:
    explained = ask(zoo, "explain_search", query="otters", min_score=0, tags=["sea"])
    told = {step["step"]: (step["count"], step["what"]) for step in explained["steps"]}
    assert told["fitting"] == (1, "of them passes the filters")
    assert told["visible"][1] == "items can be seen by you"


def test_forgotten_items_are_searched_on_demand(zoo: App) -> None:
    explained = ask(zoo, "explain_search", query="goats climb", status="forgotten")
    assert [hit["id"] for hit in explained["hits"]] == ["goats"]


def test_pages_and_modes_change_the_answer(zoo: App) -> None:
    first = ask(zoo, "explain_search", query="otters", min_score=0, limit=1)
    second = ask(zoo, "explain_search", query="otters", min_score=0, limit=1, offset=1)
    assert first["hits"][0]["id"] != second["hits"][0]["id"]
    words = ask(zoo, "explain_search", query="otters", mode="text")
    assert "by_meaning" not in steps(words)
    assert "by_meaning" in steps(first)
    deep = ask(zoo, "explain_search", query="otters", deep=True)
    assert any("not deep" in warning for warning in deep["warnings"])
