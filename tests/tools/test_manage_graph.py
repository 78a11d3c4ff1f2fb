"""The graph as the page draws it: each parameter changes the outcome, and nobody sees too much."""

from typing import Any

import jsonschema
import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Draft
from memolith.engine.graph import picture
from memolith.tools.call import Call
from tests.checked import body_of, present
from tests.conftest import ME, note
from tests.stores import each_store

pytestmark = each_store
ANN = Caller("local", "ann")
STRANGER = Caller("globex", "ann")


def ask(app: App, tool: str, caller: Caller = ME, **arguments: Any) -> dict[str, Any]:
    outcome = app.registry.run(tool, arguments, Call(caller, app.engine))
    assert outcome.ok, outcome.body
    schema = present(app.registry.find(tool)).output_schema
    jsonschema.Draft202012Validator(schema).validate(outcome.body)
    return body_of(outcome)


def refused(app: App, tool: str, **arguments: Any) -> tuple[str, str | None]:
    outcome = app.registry.run(tool, arguments, Call(ME, app.engine))
    assert outcome.error is not None
    return outcome.error.type, outcome.error.field


def show(app: App, caller: Caller = ME, **arguments: Any) -> dict[str, Any]:
    return ask(app, "show_graph", caller, **arguments)


def ids(shown: dict[str, Any]) -> list[str]:
    return [node["id"] for node in shown["nodes"]]


def pairs(shown: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(link["source"], link["target"], link["type"]) for link in shown["links"]}


@pytest.fixture
def zoo(app: App) -> App:
    """A chain of concepts a-b-c-d, a hub h with four entities, and a note about the hub."""
    remember = app.engine.writing.remember
    link = app.engine.writing.link
    for id in "abcd":
        draft = note(f"About {id}.", id=id, kind="concept", title=f"Concept {id.upper()}")
        remember(ME, draft)
    for start, end in ("ab", "bc", "cd"):
        link(ME, start, end, "includes")
    remember(ME, note("The hub.", id="h", kind="concept", title="Hub", audience=Audience.ORG))
    for name in ("Ada", "Ben", "Cleo", "Dan"):
        person = Draft("entity", name, id=name.lower(), namespace="Person", audience=Audience.ORG)
        remember(ME, person)
        link(ME, "h", name.lower(), "mentions")
    remember(ME, note("A note\nwithout a title, about the hub.", id="n"))
    link(ME, "n", "h", "about")
    remember(ME, note("Nothing links to this.", id="lonely"))
    return app


def test_the_whole_graph_has_the_best_connected_first_and_nothing_without_links(zoo: App) -> None:
    shown = show(zoo)
    assert ids(shown) == ["h", "b", "c", "a", "d", "ada", "ben", "cleo", "dan", "n"]
    assert shown["total"] == 10
    assert shown["total_links"] == len(shown["links"]) == 8
    assert shown["kinds"] == {"concept": 5, "entity": 4, "memory": 1}
    assert shown["types"] == {"mentions": 4, "includes": 3, "about": 1}
    hub = shown["nodes"][0]
    assert hub == {"id": "h", "kind": "concept", "name": "Hub", "links": 5}
    assert shown["nodes"][5]["type"] == "Person"


def test_an_item_without_a_title_is_named_by_how_its_text_begins(zoo: App) -> None:
    (node,) = show(zoo, kinds=["memory"])["nodes"]
    assert node["name"] == "A note without a title, about the hub."


def test_limit_and_offset_page_through_the_items(zoo: App) -> None:
    first = show(zoo, limit=2)
    assert (ids(first), first["total"], first["links"]) == (["h", "b"], 10, [])
    second = show(zoo, limit=2, offset=1)
    assert (ids(second), pairs(second)) == (["b", "c"], {("b", "c", "includes")})


def test_kinds_keep_items_and_the_links_between_them(zoo: App) -> None:
    shown = show(zoo, kinds=["concept"])
    assert set(ids(shown)) == {"a", "b", "c", "d", "h"}
    assert pairs(shown) == {(a, b, "includes") for a, b in ("ab", "bc", "cd")}
    assert shown["nodes"][0]["links"] == 5
    assert shown["kinds"] == {"concept": 5, "entity": 4, "memory": 1}


def test_types_keep_links_and_the_items_that_they_join(zoo: App) -> None:
    shown = show(zoo, types=["mentions", "about"])
    assert set(ids(shown)) == {"h", "ada", "ben", "cleo", "dan", "n"}
    assert {link["type"] for link in shown["links"]} == {"mentions", "about"}
    assert shown["types"] == {"mentions": 4, "includes": 3, "about": 1}


def test_a_query_matches_a_part_of_the_title_in_any_case(zoo: App) -> None:
    assert ids(show(zoo, query="CONCEPT ")) == ["b", "c", "a", "d"]
    assert ids(show(zoo, query="cleo")) == ["cleo"]
    assert show(zoo, query="nobody")["total"] == 0


def test_around_an_item_the_depth_says_how_far(zoo: App) -> None:
    near = show(zoo, around="a")
    assert [(node["id"], node["distance"]) for node in near["nodes"]] == [("a", 0), ("b", 1)]
    assert pairs(near) == {("a", "b", "includes")}
    assert near["nodes"][1]["links"] == 2
    assert ids(show(zoo, around="memolith://item/a", depth=3)) == ["a", "b", "c", "d"]
    assert ids(show(zoo, around="lonely")) == ["lonely"]


def test_around_an_item_the_other_parameters_count_too(zoo: App) -> None:
    assert set(ids(show(zoo, around="h"))) == {"h", "ada", "ben", "cleo", "dan", "n"}
    assert ids(show(zoo, around="h", kinds=["memory"])) == ["h", "n"]
    assert ids(show(zoo, around="h", types=["about"])) == ["h", "n"]
    assert ids(show(zoo, around="h", query="ad")) == ["ada"]
    limited = show(zoo, around="h", limit=2, offset=1)
    assert (ids(limited), limited["total"]) == (["ada", "ben"], 6)


def test_a_walk_that_stops_early_says_so(zoo: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "MAX_REACHED", 3)
    shown = show(zoo, around="h")
    assert (len(shown["nodes"]), shown["warnings"]) == (3, ["There is more than is shown."])


def test_links_beyond_the_bound_are_counted(zoo: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "MAX_EDGES", 3)
    shown = show(zoo)
    assert (len(shown["links"]), shown["total_links"]) == (3, 8)
    assert shown["warnings"] == ["There is more than is shown."]


def test_others_see_only_what_they_may_see(zoo: App) -> None:
    shown = show(zoo, ANN)
    assert set(ids(shown)) == {"h", "ada", "ben", "cleo", "dan"}
    # The link to a note of somebody else is not even counted.
    assert shown["nodes"][0]["links"] == 4
    assert shown["types"] == {"mentions": 4}
    around = show(zoo, ANN, around="h")
    assert (set(ids(around)), around["nodes"][0]["links"]) == (set(ids(shown)), 4)
    outcome = zoo.registry.run("show_graph", {"around": "a"}, Call(ANN, zoo.engine))
    assert outcome.error is not None
    assert outcome.error.status == 404
    assert show(zoo, STRANGER)["total"] == 0


def test_forgotten_items_are_not_in_the_graph(zoo: App) -> None:
    zoo.engine.writing.forget(ME, "b")
    shown = show(zoo)
    assert set(ids(shown)) == {"c", "d", "h", "ada", "ben", "cleo", "dan", "n"}
    assert ids(show(zoo, around="a")) == ["a"]


def test_the_shortest_path_is_told_with_its_links(zoo: App) -> None:
    path = ask(zoo, "shortest_path", start="d", end="b")
    assert (path["found"], path["length"]) == (True, 2)
    assert path["nodes"] == [
        {"id": id, "kind": "concept", "name": f"Concept {id.upper()}"} for id in "dcb"
    ]
    assert [(link["source"], link["target"]) for link in path["links"]] == [("c", "d"), ("b", "c")]
    zoo.engine.writing.link(ME, "d", "b", "relates_to")
    assert ask(zoo, "shortest_path", start="d", end="b")["length"] == 1
    assert ask(zoo, "shortest_path", start="d", end="d")["length"] == 0


def test_a_path_may_have_a_largest_length(zoo: App) -> None:
    too_long = ask(zoo, "shortest_path", start="a", end="d", max_length=2)
    assert too_long == {"found": False, "length": 0, "nodes": [], "links": []}
    assert ask(zoo, "shortest_path", start="a", end="d", max_length=3)["length"] == 3
    assert ask(zoo, "shortest_path", start="a", end="h")["found"] is False


def test_a_path_does_not_lead_through_what_is_hidden(zoo: App) -> None:
    zoo.engine.writing.link(ME, "n", "ada", "about")
    zoo.engine.writing.unlink(ME, link_between(zoo, "h", "ada"))
    assert ask(zoo, "shortest_path", start="h", end="ada")["length"] == 2
    assert ask(zoo, "shortest_path", ANN, start="h", end="ada")["found"] is False


def link_between(app: App, source: str, target: str) -> str:
    with app.store.reading(ME.tenant) as rows:
        return present(rows.link_between(ME.tenant, source, target, "mentions")).id


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"kinds": ["planet"]}, "kinds"),
        ({"limit": 5001}, "limit"),
        ({"limit": 0}, "limit"),
        ({"offset": -1}, "offset"),
        ({"depth": 7}, "depth"),
        ({"query": "x" * 201}, "query"),
    ],
)
def test_what_makes_no_sense_is_refused(zoo: App, arguments: dict[str, Any], field: str) -> None:
    assert refused(zoo, "show_graph", **arguments) == ("validation_error", field)


def test_a_path_between_items_that_are_not_there_is_refused(zoo: App) -> None:
    assert refused(zoo, "shortest_path", start="a", end="nobody")[0] == "not_found"
    assert refused(zoo, "shortest_path", start="a", end="b", max_length=11)[1] == "max_length"
