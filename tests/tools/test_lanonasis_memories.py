"""LanOnasis memories: every documented example, and every parameter changes the outcome."""

from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.tools.call import Call
from tests.conftest import ME, At
from tests.stores import each_store
from tests.tools.lanonasis_calls import MISSING, create, refused, run, settled

pytestmark = each_store


def ids(body: dict[str, Any]) -> list[str]:
    return [one["id"] for one in body.get("data", body.get("results", []))]


@pytest.fixture
def zoo(app: App) -> dict[str, str]:
    """Some memories that differ in every field a filter knows."""
    topic = run(app, "create_topic", name="Hooves")["id"]
    made = {
        "topic": topic,
        "zebra": create(app, memory_type="knowledge", tags=["animal", "stripes"], topic_id=topic),
        "okapi": create(
            app, "The okapi looks like a zebra.", tags=["animal"], project_ref="savanna"
        ),
        "draft": create(app, "Zebra crossings are white.", title="Streets", memory_type="workflow"),
    }
    run(app, "update_memory", memory_id=made["draft"], status="draft")
    return made


@pytest.mark.parametrize("metadata", ["retro", 5, ["a"], None, {"author": "Ann"}])
def test_what_other_families_keep_under_our_names_breaks_no_memory(app: App, metadata: Any) -> None:
    attributes = {"metadata": metadata, "summary": 5, "topic_id": ["x"], "mood": "good"}
    run(app, "remember", content="The zebra is striped.", metadata=attributes)
    app.upkeep.run()
    for body in (
        run(app, "list_memories")["data"][0],
        run(app, "search_memories", query="zebra")["results"][0],
    ):
        assert (body["summary"], body["topic_id"]) == (None, None)
        assert body["metadata"]["mood"] == "good"
        assert body["metadata"]["summary"] == 5
        if isinstance(metadata, dict):
            assert body["metadata"]["author"] == "Ann"
        else:
            assert body["metadata"].get("metadata") == metadata


def test_the_documented_create_example_comes_back_whole(app: App) -> None:
    given: dict[str, Any] = {
        "title": "API Integration Guide",
        "content": "Complete guide for integrating with our API...",
        "memory_type": "knowledge",
        "tags": ["api", "documentation", "integration"],
        "metadata": {"author": "John Doe", "version": "1.0"},
        "summary": "How to.",
        "project_ref": "docs",
    }
    made = run(app, "create_memory", **given)
    assert {name: made[name] for name in given} == given
    assert made["created_at"] == made["updated_at"]
    assert made["created_at"].endswith("Z")
    assert (made["status"], made["user_id"], made["access_count"]) == ("active", "local", 0)
    read = run(app, "get_memory", memory_id=f"memolith://item/{made['id']}")
    assert {name: read[name] for name in given} == given


@pytest.mark.parametrize(
    "name,value",
    [
        ("title", "New"),
        ("content", "Other words."),
        ("memory_type", "personal"),
        ("tags", ["new"]),
        ("project_ref", "p"),
        ("project_ref", None),
        ("status", "archived"),
        ("metadata", {"only": 1}),
        ("summary", "short"),
    ],
)
def test_an_update_changes_what_it_names_and_nothing_else(app: App, name: str, value: Any) -> None:
    id = create(app, tags=["old"], metadata={"a": 1}, project_ref="before", summary="long")
    before = run(app, "get_memory", memory_id=id)
    after = run(app, "update_memory", memory_id=id, **{name: value})
    changed = {field for field in before if before[field] != after[field]}
    assert changed == {name, "updated_at"}
    assert after[name] == value


def test_a_topic_is_set_and_removed_and_must_be_there(app: App, zoo: dict[str, str]) -> None:
    assert (
        run(app, "update_memory", memory_id=zoo["okapi"], topic_id=zoo["topic"])["topic_id"]
        == zoo["topic"]
    )
    assert run(app, "update_memory", memory_id=zoo["okapi"], topic_id=None)["topic_id"] is None
    assert refused(app, "update_memory", memory_id=zoo["okapi"], topic_id=MISSING) == (
        -32004,
        "topic_id",
    )
    assert refused(app, "create_memory", title="x", content="y", topic_id=zoo["okapi"]) == (
        -32004,
        "topic_id",
    )


def test_an_update_that_says_nothing_or_names_nothing_is_refused(
    app: App, zoo: dict[str, str]
) -> None:
    assert refused(app, "update_memory", memory_id=zoo["zebra"]) == (-32005, "title")
    assert refused(app, "update_memory", memory_id=MISSING, title="x") == (-32004, "memory_id")
    assert refused(app, "update_memory", memory_id=zoo["topic"], title="x") == (-32004, "memory_id")


def test_metadata_may_have_any_names_even_those_of_other_fields(app: App) -> None:
    odd = {"summary": "mine", "topic_id": "mine", "metadata": {"deep": [1, None]}}
    made = run(app, "create_memory", title="t", content="c", metadata=odd)
    assert (made["metadata"], made["summary"], made["topic_id"]) == (odd, None, None)


def test_delete_takes_a_memory_out_of_every_read_path_and_only_an_explicit_status_lists_it(
    app: App, zoo: dict[str, str]
) -> None:
    gone = run(app, "delete_memory", memory_id=zoo["zebra"])
    assert gone == {"success": True, "message": gone["message"], "deleted_id": zoo["zebra"]}
    for tool in ("get_memory", "delete_memory", "update_memory"):
        more: dict[str, Any] = {"title": "x"} if tool == "update_memory" else {}
        assert refused(app, tool, memory_id=zoo["zebra"], **more) == (-32004, "memory_id")
    assert zoo["zebra"] not in ids(run(app, "list_memories")) + ids(
        run(app, "search_memories", query="zebra")
    )
    assert ids(run(app, "list_memories", status="deleted")) == [zoo["zebra"]]
    assert ids(run(app, "search_memories", query="zebra", status="deleted")) == [zoo["zebra"]]
    run(app, "restore_item", id=zoo["zebra"])
    assert run(app, "get_memory", memory_id=zoo["zebra"])["status"] == "active"


def test_a_retried_delete_returns_the_first_result(app: App, zoo: dict[str, str]) -> None:
    for tool, name in (("delete_memory", "memory_id"), ("delete_topic", "topic_id")):
        call = Call(ME, app.engine, idempotency_key=tool)
        first, second = (
            app.registry.run(tool, {name: zoo["zebra" if name == "memory_id" else "topic"]}, call)
            for _ in range(2)
        )
        assert first.ok
        assert second.body == first.body


def test_the_status_deleted_is_a_delete(app: App, zoo: dict[str, str]) -> None:
    assert (
        run(app, "update_memory", memory_id=zoo["okapi"], title="Last", status="deleted")["status"]
        == "deleted"
    )
    assert refused(app, "get_memory", memory_id=zoo["okapi"]) == (-32004, "memory_id")


@pytest.mark.parametrize(
    "arguments,wanted",
    [
        ({}, {"zebra", "okapi", "draft"}),
        ({"memory_type": "knowledge"}, {"zebra"}),
        ({"memory_type": "personal"}, set()),
        ({"tags": ["animal"]}, {"zebra", "okapi"}),
        ({"tags": ["animal", "stripes"]}, {"zebra"}),
        ({"project_ref": "savanna"}, {"okapi"}),
        ({"status": "draft"}, {"draft"}),
        ({"status": "active"}, {"zebra", "okapi"}),
        ({"topic_id": "topic"}, {"zebra"}),
        ({"topic_id": "nope"}, set()),
    ],
    ids=range(10),
)
def test_each_filter_narrows_lists_and_searches(
    app: App, zoo: dict[str, str], arguments: dict[str, Any], wanted: Any
) -> None:
    arguments = {
        name: zoo.get(value, value) if name == "topic_id" else value
        for name, value in arguments.items()
    }
    assert set(ids(run(app, "list_memories", **arguments))) == {zoo[name] for name in wanted}
    if "memory_type" in arguments:
        arguments["memory_types"] = [arguments.pop("memory_type"), "reference"]
    found = run(app, "search_memories", query="zebra", threshold=0, **arguments)
    active = wanted if "status" in arguments else wanted - {"draft"}
    assert set(ids(found)) == {zoo[name] for name in active}
    assert found["total_results"] == len(active)


def test_pages_neither_overlap_nor_skip_in_any_order(app: App) -> None:
    made = [create(app, title=f"{'b' if n % 2 else 'A'}{n}") for n in range(7)]
    for _ in range(2):
        run(app, "get_memory", memory_id=made[3])
    run(app, "get_memory", memory_id=made[5])
    for sort, first in (
        ("created_at", made[6]),
        ("title", made[5]),
        ("access_count", made[3]),
        ("last_accessed", made[5]),
        ("updated_at", made[6]),
    ):
        for order in ("desc", "asc"):
            pages = [
                run(app, "list_memories", sort=sort, order=order, page=page, limit=3)
                for page in (1, 2, 3, 4)
            ]
            seen = [id for page in pages for id in ids(page)]
            assert sorted(seen) == sorted(made)
            assert seen[0 if order == "desc" else -1] == first, sort
            assert pages[3]["data"] == []
            assert pages[1]["pagination"] == {"page": 2, "limit": 3, "total": 7, "pages": 3}
    assert refused(app, "list_memories", sort="content") == (-32602, "sort")
    assert refused(app, "list_memories", page=0) == (-32602, "page")
    assert refused(app, "list_memories", limit=101) == (-32602, "limit")


def test_a_search_has_a_threshold_a_limit_and_a_true_total(smart: App) -> None:
    create(smart, "Maria prefers tea to coffee.", title="Drinks")
    create(smart, "The invoice from March was paid twice.", title="Money")
    settled(smart)
    asked: dict[str, Any] = {"query": "what does Maria like to drink?"}
    strict, lax = (
        run(smart, "search_memories", **asked, threshold=threshold) for threshold in (0.7, 0.0)
    )
    assert [one["title"] for one in strict["results"]] == ["Drinks"]
    assert [one["title"] for one in lax["results"]] == ["Drinks", "Money"]
    assert run(smart, "search_memories", **asked)["total_results"] == strict["total_results"] == 1
    one = run(smart, "search_memories", **asked, threshold=0.0, limit=1)
    assert (len(one["results"]), one["total_results"]) == (1, 2)
    assert one["search_time_ms"] > 0
    run(smart, "set_config", key="search_threshold", value="0.0")
    assert run(smart, "search_memories", **asked)["total_results"] == 2, "the default is a setting"
    scores = [hit["similarity_score"] for hit in lax["results"]]
    assert scores == sorted(scores, reverse=True)


def test_bulk_delete_names_what_was_not_there(app: App, zoo: dict[str, str]) -> None:
    run(app, "delete_memory", memory_id=zoo["okapi"])
    body = run(
        app, "bulk_delete_memories", memory_ids=[zoo["zebra"], MISSING, zoo["okapi"], zoo["topic"]]
    )
    assert body == {"deleted_count": 1, "failed_ids": [MISSING, zoo["okapi"], zoo["topic"]]}
    assert refused(app, "bulk_delete_memories", memory_ids=[]) == (-32602, "memory_ids")
    assert refused(app, "bulk_delete_memories", memory_ids=["x"] * 101) == (-32005, "memory_ids")


@pytest.mark.parametrize(
    "field,key,good,bad",
    [
        ("title", "max_title_length", "x" * 500, "x" * 501),
        ("content", "max_content_length", "x " * 25_000, "x" * 50_001),
        ("summary", "max_summary_length", "x" * 1000, "x" * 1001),
        ("tags", "max_tags", ["a"], [f"{n}" for n in range(21)]),
        ("tags", "max_tag_length", ["x" * 50], ["x" * 51]),
        ("project_ref", "max_project_ref_length", "x" * 100, "x" * 101),
    ],
)
def test_limits_have_the_documented_values_and_are_settings(
    app: App, field: str, key: str, good: Any, bad: Any
) -> None:
    whole: dict[str, Any] = {"title": "t", "content": "c"}
    run(app, "create_memory", **{**whole, field: good})
    assert refused(app, "create_memory", **{**whole, field: bad}) == (-32005, field)
    id = create(app)
    assert refused(app, "update_memory", memory_id=id, **{field: bad}) == (-32005, field)
    run(app, "set_config", key=key, value="100" if field == "tags" else "60000")
    if key != "max_title_length":
        run(app, "create_memory", **{**whole, field: bad})
    assert refused(app, "create_memory", **{**whole, "title": "  "}) == (-32005, "title")
    assert refused(app, "search_memories", query="x" * 1001) == (-32005, "query")


def test_max_memories_is_enforced_on_create_per_user(app: App) -> None:
    create(app)
    run(app, "set_config", key="max_memories", value="1")
    assert refused(app, "create_memory", title="t", content="c") == (-32005, None)
    create_for_bob = run(app, "create_memory", Caller(user="bob"), title="t", content="c")
    assert create_for_bob["user_id"] == "bob"
    run(app, "bulk_delete_memories", memory_ids=[run(app, "list_memories")["data"][0]["id"]])
    create(app)


def test_other_families_see_the_same_memories_in_their_own_words(
    app: App, zoo: dict[str, str]
) -> None:
    plain = run(
        app, "remember", content="Quaggas are extinct.\nAll of them.", metadata={"source": "book"}
    )["id"]
    shown = run(app, "get_memory", memory_id=plain)
    assert (shown["title"], shown["memory_type"], shown["metadata"]) == (
        "Quaggas are extinct.",
        "context",
        {"source": "book"},
    )
    assert plain in ids(run(app, "list_memories", memory_type="context"))
    assert run(app, "update_memory", memory_id=plain, metadata={"new": 1})["metadata"] == {"new": 1}
    assert zoo["zebra"] in {hit["id"] for hit in run(app, "recall", query="zebra")["hits"]}


def test_secrets_are_redacted_and_reported(app: App) -> None:
    token = "gh" + "p_" + "Zx9" * 12
    made = run(app, "create_memory", title="t", content=f"use {token}")
    assert made["redactions"] == {"github-token": 1}
    assert token not in made["content"]


def test_statistics_count_what_the_user_has(app: App, zoo: dict[str, str]) -> None:
    for id in (zoo["okapi"], zoo["okapi"], zoo["zebra"]):
        run(app, "get_memory", memory_id=id)
    stats = run(app, "get_stats")
    assert stats == {
        "total_memories": 3,
        "total_topics": 1,
        "most_accessed_memory": zoo["okapi"],
        "memories_by_type": {
            "context": 1,
            "project": 0,
            "knowledge": 1,
            "reference": 0,
            "personal": 0,
            "workflow": 1,
        },
        "recent_memories": [zoo["draft"], zoo["okapi"], zoo["zebra"]],
    }
    assert run(app, "get_stats", Caller(user="bob"))["total_memories"] == 0


def test_a_retried_create_returns_the_first_memory(app: App) -> None:
    call = Call(ME, app.engine, idempotency_key="k")
    bodies = [
        app.registry.run("create_memory", {"title": "t", "content": "c"}, call).body
        for _ in range(2)
    ]
    assert bodies[0]["id"] == bodies[1]["id"]


def test_memories_outlive_a_rebuild_and_equal_the_log(tmp_path: Path, at: At) -> None:
    app = open_app(at(tmp_path))
    id = create(app, tags=["a"], metadata={"b": 1})
    run(app, "set_config", key="max_tags", value="7")
    app.engine.maintenance.rebuild()
    assert app.engine.maintenance.verify() == []
    assert run(app, "get_memory", memory_id=id)["metadata"] == {"b": 1}
    assert run(app, "get_config", key="max_tags")["value"] == 7
    app.close()


def test_a_threshold_of_null_is_refused(app: App) -> None:
    refused = app.registry.run(
        "search_memories", {"query": "tea", "threshold": None}, Call(ME, app.engine)
    )
    assert refused.error is not None
    assert refused.error.field == "threshold"
