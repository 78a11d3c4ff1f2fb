"""The core family: each tool does what it says, and each of its parameters changes the outcome."""

import json
from dataclasses import replace
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.errors import InvalidInput
from memolith.tools.call import Call
from memolith.tools.core.dialect import core, list_resources, read_resource
from tests.conftest import ME
from tests.stores import each_store

pytestmark = each_store
MISSING = "00000000-0000-7000-8000-000000000000"
ADMIN = replace(ME, admin=True)


def run(app: App, tool: str, caller: Caller = ME, **arguments: Any) -> dict[str, Any]:
    outcome = app.registry.run(tool, arguments, Call(caller, app.engine))
    assert outcome.ok, outcome.body
    return outcome.body


def refused(app: App, tool: str, **arguments: Any) -> dict[str, Any]:
    outcome = app.registry.run(tool, arguments, Call(ME, app.engine))
    assert not outcome.ok
    return outcome.body


def ids(body: dict[str, Any]) -> set[str]:
    return {hit["id"] for hit in body["hits"]}


@pytest.fixture
def zoo(app: App) -> dict[str, str]:
    """Some items by name."""
    make: dict[str, dict[str, Any]] = {
        "zebra": {"content": "The zebra is striped.", "tags": ["animal"], "project": "savanna"},
        "okapi": {"content": "The okapi looks like a zebra.", "kind": "concept", "title": "Okapi"},
        "plain": {
            "content": "Zebra crossings are painted white.",
            "metadata": {"source": "street"},
        },
    }
    return {name: run(app, "remember", **arguments)["id"] for name, arguments in make.items()}


def test_remember_keeps_every_field(app: App, zoo: dict[str, str]) -> None:
    items = {item["id"]: item for item in run(app, "fetch", ids=list(zoo.values()))["items"]}
    assert items[zoo["zebra"]]["tags"] == ["animal"]
    assert items[zoo["zebra"]]["project"] == "savanna"
    assert (items[zoo["okapi"]]["kind"], items[zoo["okapi"]]["title"]) == ("concept", "Okapi")
    assert items[zoo["plain"]]["metadata"] == {"source": "street"}
    assert items[zoo["plain"]]["content"] == "Zebra crossings are painted white."


def test_remember_redacts_secrets_and_names_what_is_the_same(app: App, zoo: dict[str, str]) -> None:
    token = "gh" + "p_" + "Zx9" * 12
    assert run(app, "remember", content=f"use {token}")["redactions"] == {"github-token": 1}
    assert run(app, "remember", content="the ZEBRA is striped.")["similar"] == [zoo["zebra"]]


def test_an_idempotency_key_makes_a_repeated_call_return_the_first_result(app: App) -> None:
    first = run(app, "remember", content="once", idempotency_key="k")
    assert run(app, "remember", content="once", idempotency_key="k")["id"] == first["id"]
    assert run(app, "remember", content="once", idempotency_key="other")["id"] != first["id"]
    assert refused(app, "remember", content="twice", idempotency_key="k")["error"] == "conflict"
    key = Call(ME, app.engine, idempotency_key="k")
    assert app.registry.run("remember", {"content": "once"}, key).body["id"] == first["id"]


@pytest.mark.parametrize(
    "arguments, wanted",
    [
        ({}, {"zebra", "okapi", "plain"}),
        ({"kinds": ["concept"]}, {"okapi"}),
        ({"tags": ["animal"]}, {"zebra"}),
        ({"project": "savanna"}, {"zebra"}),
        ({"since": "2100-01-01"}, set()),
        ({"until": "2000-01-01"}, set()),
        ({"status": "archived"}, set()),
        ({"limit": 1}, 1),
        ({"limit": 1, "offset": 2}, 1),
        ({"offset": 3}, 0),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),
)
def test_each_filter_of_recall_narrows_what_is_found(
    app: App, zoo: dict[str, str], arguments: dict[str, Any], wanted: Any
) -> None:
    body = run(app, "recall", query="zebra", mode="text", **arguments)
    assert (
        len(ids(body)) == wanted
        if isinstance(wanted, int)
        else ids(body) == {zoo[name] for name in wanted}
    )


def test_recall_lists_forgotten_items_only_by_status(app: App, zoo: dict[str, str]) -> None:
    run(app, "forget", id=zoo["zebra"])
    assert zoo["zebra"] not in ids(run(app, "recall", query="zebra"))
    assert ids(run(app, "recall", query="zebra", status="forgotten")) == {zoo["zebra"]}


def test_the_modes_of_recall_differ(smart: App) -> None:
    tea = run(smart, "remember", content="Maria prefers tea to coffee.")["id"]
    assert ids(run(smart, "recall", query="favourite beverage", mode="text")) == set()
    for mode in ("vector", "hybrid"):
        assert ids(run(smart, "recall", query="favourite beverage", mode=mode)) == {tea}


def test_depth_brings_what_the_hits_are_linked_to(app: App, zoo: dict[str, str]) -> None:
    far = run(app, "remember", content="Stripes confuse flies.")["id"]
    farther = run(app, "remember", content="Insects see polarised light.")["id"]
    run(app, "link", source=zoo["zebra"], target=far, type="because")
    run(app, "link", source=far, target=farther, type="because")
    for depth, extra in ((0, set()), (1, {far}), (2, {far, farther})):
        found = ids(run(app, "recall", query="zebra", mode="text", depth=depth))
        assert found - set(zoo.values()) == extra


def test_hits_tell_kind_score_strength_reasons_and_place(app: App, zoo: dict[str, str]) -> None:
    hit = run(app, "recall", query="okapi")["hits"][0]
    assert (hit["kind"], hit["title"], hit["strength"]) == ("concept", "Okapi", "strong")
    assert 0 < hit["score"] <= 1
    assert hit["reasons"]["words"] > 0
    place = {"id", "kind", "title", "text", "cite"}
    assert set(hit) == {*place, "score", "strength", "reasons", "at", "updated_at"}


def test_context_fits_its_budget_and_cites(app: App, zoo: dict[str, str]) -> None:
    whole = run(app, "context", query="zebra", budget_tokens=500)
    small = run(app, "context", query="zebra", budget_tokens=20)
    assert len(whole["citations"]) == 3 > len(small["citations"])
    assert small["tokens"] <= 20
    assert {
        c["id"]
        for c in run(app, "context", query="zebra", budget_tokens=500, kinds=["concept"])[
            "citations"
        ]
    } == {zoo["okapi"]}
    assert {
        c["id"]
        for c in run(app, "context", query="zebra", budget_tokens=500, project="savanna")[
            "citations"
        ]
    } == {zoo["zebra"]}
    assert refused(app, "context", query="zebra", budget_tokens=19)["field"] == "budget_tokens"
    assert refused(app, "context", query="zebra")["field"] == "budget_tokens"


def test_fetch_takes_addresses_and_names_what_is_missing(app: App, zoo: dict[str, str]) -> None:
    body = run(
        app,
        "fetch",
        ids=[f"memolith://item/{zoo['zebra']}", f"urn:memolith:item:{zoo['okapi']}", MISSING],
    )
    assert [item["id"] for item in body["items"]] == [zoo["zebra"], zoo["okapi"]]
    assert body["warnings"] == [f"not found: {MISSING}"]
    assert refused(app, "fetch", ids=[MISSING])["error"] == "not_found"


def test_revise_changes_each_field_and_respects_the_version(app: App, zoo: dict[str, str]) -> None:
    id = zoo["zebra"]
    for name, value in (
        ("content", "The quagga is extinct."),
        ("title", "Quagga"),
        ("tags", ["gone"]),
    ):
        change: dict[str, Any] = {name: value}
        run(app, "revise", id=id, **change)
        assert run(app, "fetch", ids=[id])["items"][0][name] == value
    assert (
        refused(app, "revise", id=id, title="x", expected_version=1)["error"] == "version_conflict"
    )
    assert run(app, "revise", id=id, title="x", expected_version=4)["version"] == 5
    assert refused(app, "revise", id=id)["field"] == "content"


def test_revise_changes_the_metadata_that_it_names(app: App) -> None:
    id = run(app, "remember", content="Emus run.", metadata={"legs": 2, "flies": True})["id"]
    run(app, "revise", id=id, metadata={"flies": False})
    assert run(app, "fetch", ids=[id])["items"][0]["metadata"] == {"legs": 2, "flies": False}
    assert refused(app, "revise", id=id, metadata={})["field"] == "content"


def test_forget_and_restore(app: App, zoo: dict[str, str]) -> None:
    run(app, "forget", id=zoo["zebra"])
    assert refused(app, "forget", id=zoo["zebra"])["error"] == "not_found"
    assert refused(app, "fetch", ids=[zoo["zebra"]])["error"] == "not_found"
    run(app, "restore", id=zoo["zebra"])
    assert refused(app, "restore", id=zoo["zebra"])["error"] == "conflict"
    assert run(app, "fetch", ids=[zoo["zebra"]])["items"]


def test_link_and_explore(app: App, zoo: dict[str, str]) -> None:
    made = run(
        app, "link", source=zoo["zebra"], target=zoo["okapi"], type="resembles", strength=0.5
    )["link"]
    assert (made["type"], made["strength"]) == ("resembles", 0.5)
    assert (
        run(app, "link", source=zoo["zebra"], target=zoo["okapi"], type="resembles")["link"][
            "strength"
        ]
        == 1.0
    )
    run(app, "link", source=zoo["okapi"], target=zoo["plain"], type="mentions")
    near, far = (run(app, "explore", id=zoo["zebra"], depth=depth) for depth in (1, 2))
    assert {item["id"] for item in near["items"]} == {zoo["zebra"], zoo["okapi"]}
    assert {item["id"] for item in far["items"]} == set(zoo.values())
    typed = run(app, "explore", id=zoo["zebra"], depth=2, types=["mentions"])
    assert {item["id"] for item in typed["items"]} == {zoo["zebra"]}
    assert (
        refused(app, "link", source=zoo["zebra"], target=MISSING, type="x")["error"] == "not_found"
    )
    assert (
        refused(app, "link", source=zoo["zebra"], target=zoo["zebra"], type="x")["field"]
        == "target"
    )


def test_history_up_to_a_time(app: App, zoo: dict[str, str]) -> None:
    then = app.clock.now()
    run(app, "revise", id=zoo["zebra"], title="Later")
    assert [event["type"] for event in run(app, "history", id=zoo["zebra"])["events"]] == [
        "remembered",
        "revised",
    ]
    assert [
        event["type"] for event in run(app, "history", id=zoo["zebra"], as_of=then)["events"]
    ] == ["remembered"]


def test_overview_counts_what_the_caller_sees(app: App, zoo: dict[str, str]) -> None:
    body = run(app, "overview")
    assert body["counts"] == {"memory": 2, "concept": 1}
    assert len(body["recent"]) == 3
    assert body["health"]["store"] == "healthy"
    assert run(app, "overview", Caller(user="bob"))["counts"] == {}


def test_items_are_resources(app: App, zoo: dict[str, str]) -> None:
    call = Call(ME, app.engine)
    assert [listed.mime_type for listed in list_resources(call)] == ["text/markdown"] * 3
    content = read_resource(call, f"memolith://item/{zoo['okapi']}")
    assert content == "# Okapi\n\nThe okapi looks like a zebra."


def test_metadata_hides_no_item(app: App, zoo: dict[str, str]) -> None:
    past = {"expires_at": "2020-01-01"}
    assert refused(app, "remember", content="x", metadata=past)["field"] == "metadata"
    assert refused(app, "revise", id=zoo["zebra"], metadata=past)["field"] == "metadata"
    line = json.dumps({"content": "x", "metadata": past})
    with pytest.raises(InvalidInput, match="expires_at"):
        app.engine.maintenance.import_(ME, [line])
    assert len(run(app, "list_items")["items"]) == 3


@pytest.mark.parametrize("kind", ["concept", "entity", "prompt", "template", "project", "topic"])
def test_what_is_found_by_its_title_keeps_one(app: App, kind: str) -> None:
    made = run(app, "remember", content="x", kind=kind, title="named")["id"]
    assert refused(app, "revise", id=made, title="")["field"] == "title"
    assert run(app, "revise", id=made, title="renamed")["version"] == 2


def test_a_memory_needs_no_title(app: App, zoo: dict[str, str]) -> None:
    assert run(app, "revise", id=zoo["zebra"], title="Stripes")["version"] == 2
    assert run(app, "revise", id=zoo["zebra"], title="")["version"] == 3


def test_a_filter_takes_a_thousand_different_values(app: App, zoo: dict[str, str]) -> None:
    tags = [str(number) for number in range(1001)]
    assert refused(app, "recall", query="zebra", tags=tags)["field"] == "tags"
    assert ids(run(app, "recall", query="zebra", tags=tags[1:])) == set()
    # The same again and again counts once.
    found = run(app, "recall", query="zebra", kinds=["memory"] * 20_000, tags=["animal"] * 20_000)
    assert ids(found) == {zoo["zebra"]}


def test_a_setting_is_not_undone(app: App) -> None:
    changed = app.registry.run(
        "set_config", {"key": "max_title_length", "value": "400"}, Call(ADMIN, app.engine)
    )
    assert changed.ok, changed.body
    with app.store.reading(ME.tenant) as rows:
        event = rows.last_seq(ME.tenant)
    outcome = app.registry.run("undo_event", {"event": event}, Call(ADMIN, app.engine))
    assert outcome.body["error"] == "not_undoable"


def test_unknown_kinds_are_refused_by_name(app: App) -> None:
    assert refused(app, "remember", content="x", kind="banana")["field"] == "kind"
    assert refused(app, "recall", query="x", kinds=["banana"])["field"] == "kinds"


def test_messages_are_added_to_conversations_only(app: App, zoo: dict[str, str]) -> None:
    body = refused(
        app,
        "append_messages",
        conversation_id=zoo["zebra"],
        messages=[{"role": "ann", "content": "Hi."}],
    )
    assert (body["error"], body["field"]) == ("not_found", "conversation_id")


def test_there_are_eleven_tools() -> None:
    assert [tool.name for tool in core.tools] == [
        "remember",
        "recall",
        "context",
        "fetch",
        "revise",
        "forget",
        "restore",
        "link",
        "explore",
        "history",
        "overview",
    ]
