"""The REST routes of LanOnasis: what each does, and that every argument changes the outcome."""

from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.tools.call import Call
from memolith.tools.lanonasis.rest.api import lanonasis_api
from memolith.tools.lanonasis.rest.arguments import tidied
from memolith.tools.registry import Registry
from tests.checked import body_of, error_of
from tests.conftest import ME
from tests.stores import each_store

pytestmark = each_store
NOBODY = "123e4567-e89b-12d3-a456-426614174000"
ROUTES = Registry([], [route.tool for route in lanonasis_api.routes])


def run(app: App, route: str, **arguments: Any) -> dict[str, Any]:
    """What a route answers."""
    outcome = ROUTES.run(route, arguments, Call(ME, app.engine))
    assert outcome.ok, outcome.body
    return body_of(outcome)


def refused(app: App, route: str, **arguments: Any) -> tuple[int, dict[str, Any]]:
    """The status and the body with which a route refuses."""
    outcome = ROUTES.run(route, arguments, Call(ME, app.engine))
    assert not outcome.ok, outcome.body
    return error_of(outcome).status, body_of(outcome)


def core(app: App, id: str) -> dict[str, Any]:
    """An item as the core family shows it."""
    outcome = app.registry.run("fetch", {"ids": [id]}, Call(ME, app.engine))
    item: dict[str, Any] = body_of(outcome)["items"][0]
    return item


def create(app: App, content: str = "Otters hold hands.", **more: Any) -> str:
    """The id of a new memory."""
    return str(run(app, "post_memory", title="Otters", content=content, **more)["id"])


def ids(answer: dict[str, Any], field: str) -> list[str]:
    return [entry["id"] for entry in answer[field]]


# Memories


def test_a_new_memory_is_an_item_of_the_one_store(app: App) -> None:
    id = create(app, memory_type="knowledge", tags=["sea"], metadata={"from": "app"})
    item = core(app, id)
    assert (item["kind"], item["title"], item["tags"]) == ("memory", "Otters", ["sea"])


def test_a_text_is_tidied_if_the_client_wants_it(app: App) -> None:
    id = create(app, "One. \n\n\n\nTwo.\n", preprocessing={"cleanContent": True})
    assert run(app, "get_one_memory", memory_id=id)["content"] == "One.\n\nTwo."


def test_metadata_read_out_of_a_text_say_who_read_it(app: App) -> None:
    id = create(
        app,
        "Maria Keller works at Acme on the parser.",
        metadata={"own": 1},
        preprocessing={"extractMetadata": True},
    )
    metadata = run(app, "get_one_memory", memory_id=id)["metadata"]
    assert metadata["own"] == 1
    assert metadata["intelligence"]["method"] == "built-in"
    assert "Maria Keller" in metadata["intelligence"]["entities"]


def test_a_wish_how_to_cut_a_text_is_answered_with_a_warning(app: App) -> None:
    wish = {"chunking": {"strategy": "sentence", "maxChunkSize": 500, "overlap": 10}}
    made = run(app, "post_memory", title="A", content="B.", preprocessing=wish)
    assert made["warnings"] == [
        "memolith cuts texts by itself, so preprocessing.chunking changed nothing."
    ]


@pytest.mark.parametrize("organization", ["local", None])
def test_the_organisation_of_the_key_is_accepted(app: App, organization: str | None) -> None:
    create(app, organization_id=organization)


@pytest.mark.parametrize(
    ("route", "arguments"),
    [
        ("post_memory", {"title": "A", "content": "B"}),
        ("search_memory", {"query": "A"}),
        ("post_bulk_delete", {"memory_ids": ["a"]}),
        ("post_topic", {"name": "A"}),
    ],
)
def test_another_organisation_is_refused(
    app: App, route: str, arguments: dict[str, object]
) -> None:
    status, body = refused(app, route, organization_id="acme", **arguments)
    assert (status, body["code"]) == (404, "NOT_FOUND")
    assert body["details"][0]["field"] == "organization_id"
    assert body["error"] == body["message"] == body["details"][0]["message"]


def test_a_list_is_narrowed_by_tags_with_commas_between(app: App) -> None:
    both = create(app, "One.", tags=["a", "b"])
    create(app, "Two.", tags=["a"])
    assert ids(run(app, "get_memories", tags="a,b"), "data") == [both]


def test_a_list_has_pages(app: App) -> None:
    first, second = create(app, "One."), create(app, "Two.")
    answer = run(app, "get_memories", page=2, limit=1, sort="created_at", order="asc")
    assert ids(answer, "data") == [second] != [first]
    assert answer["pagination"] == {"page": 2, "limit": 1, "total": 2, "pages": 2}


@pytest.mark.parametrize(
    "narrowed",
    [
        {"memory_type": "personal"},
        {"project_ref": "zoo"},
        {"status": "archived"},
    ],
)
def test_a_list_is_narrowed_by_each_argument(app: App, narrowed: dict[str, str]) -> None:
    create(app, "One.")
    kept = create(app, "Two.")
    run(app, "put_memory", memory_id=kept, **narrowed)
    assert ids(run(app, "get_memories", **narrowed), "data") == [kept]


def test_both_methods_that_search_get_their_fields(app: App) -> None:
    id = create(app)
    answer = run(app, "search_memory", query="otters hands")
    assert ids(answer, "results") == [id]
    assert (answer["total"], answer["total_results"]) == (1, 1)
    assert (answer["query"], answer["search_mode"]) == ("otters hands", "hybrid")
    assert answer["threshold"] == 0.7
    assert answer["search_time_ms"] == answer["execution_time_ms"]
    assert "matching_chunks" not in answer["results"][0]


def test_a_search_shows_the_piece_that_matched(app: App) -> None:
    create(app)
    [hit] = run(app, "search_memory", query="otters", include_chunks=True)["results"]
    assert hit["matching_chunks"] == [
        {"index": 0, "content": "Otters hold hands.", "similarity": hit["similarity_score"]}
    ]


@pytest.mark.parametrize(
    "narrowed",
    [
        {"type": "personal"},
        {"memory_types": ["personal"]},
        {"tags": ["sea"]},
        {"filters": {"tags": ["sea"]}},
        {"project_ref": "zoo"},
        {"filters": {"project_id": "zoo"}},
        {"filters": {"date_range": {"to": "2000-01-01"}}},
        {"filters": {"date_range": {"from": "2999-01-01"}}},
        {"status": "archived"},
        {"threshold": 1.0},
    ],
)
def test_a_search_is_narrowed_by_each_argument(app: App, narrowed: dict[str, Any]) -> None:
    create(app)
    assert ids(run(app, "search_memory", query="otters", **narrowed), "results") == []


def test_a_search_finds_the_memories_of_a_project_by_its_id(app: App) -> None:
    outcome = app.registry.run("create_project", {"name": "zoo"}, Call(ME, app.engine))
    kept = create(app, project_ref="zoo")
    create(app, "Otters swim.")
    answer = run(
        app, "search_memory", query="otters", filters={"project_id": body_of(outcome)["id"]}
    )
    assert ids(answer, "results") == [kept]


def test_a_date_that_is_none_is_refused_by_its_name(app: App) -> None:
    filters = {"date_range": {"from": "soon"}}
    status, body = refused(app, "search_memory", query="otters", filters=filters)
    assert (status, body["code"]) == (400, "VALIDATION_ERROR")
    assert body["details"][0]["field"] == "filters.date_range.from"


def test_a_search_by_meaning_alone_is_refused_where_there_is_no_model(app: App) -> None:
    create(app)
    status, _ = refused(app, "search_memory", query="otters", search_mode="vector")
    assert status == 400


def test_a_memory_changes_and_a_null_takes_its_project_away(app: App) -> None:
    id = create(app, project_ref="zoo")
    changed = run(app, "put_memory", memory_id=id, title="Fish", project_ref=None, rechunk=True)
    assert (changed["title"], changed["project_ref"]) == ("Fish", None)
    assert core(app, id)["title"] == "Fish"


def test_new_vectors_alone_leave_a_memory_as_it_is(app: App) -> None:
    id = create(app)
    before = core(app, id)
    assert run(app, "put_memory", memory_id=id, regenerate_embedding=True)["id"] == id
    assert core(app, id)["version"] == before["version"]


def test_a_change_of_nothing_is_refused(app: App) -> None:
    status, body = refused(app, "put_memory", memory_id=create(app), rechunk=False)
    assert (status, body["error"]) == (400, "Say what to change.")


def test_deleted_memories_are_gone(app: App) -> None:
    first, second = create(app, "One."), create(app, "Two.")
    assert run(app, "delete_one_memory", memory_id=first)["deleted_id"] == first
    answer = run(app, "post_bulk_delete", memory_ids=[second, NOBODY])
    assert answer == {"deleted_count": 1, "failed_ids": [NOBODY]}
    assert ids(run(app, "get_memories"), "data") == []


def test_an_unknown_memory_is_not_found(app: App) -> None:
    for route in ("get_one_memory", "delete_one_memory"):
        status, body = refused(app, route, memory_id=NOBODY)
        assert (status, body["code"]) == (404, "NOT_FOUND")
        assert NOBODY in body["message"]


def test_the_figures_count_memories_by_type(app: App) -> None:
    create(app, memory_type="personal")
    stats = run(app, "get_memory_stats")
    assert (stats["total_memories"], stats["memories_by_type"]["personal"]) == (1, 1)


# Topics


def test_a_topic_is_an_item_of_the_one_store(app: App) -> None:
    more = {"description": "All of it", "color": "#112233", "icon": "fish"}
    topic = run(app, "post_topic", name="Sea", **more)
    assert {name: topic[name] for name in more} == more
    assert (topic["user_id"], topic["is_system"], topic["metadata"]) == ("local", False, {})
    assert core(app, topic["id"])["kind"] == "topic"
    assert run(app, "get_topic", topic_id=topic["id"]) == topic


def test_topics_are_a_list_or_a_tree(app: App) -> None:
    sea = run(app, "post_topic", name="Sea")["id"]
    kelp = run(app, "post_topic", name="Kelp", parent_topic_id=sea)["id"]
    create(app, topic_id=kelp)
    assert ids(run(app, "get_topics"), "topics") == [sea, kelp]
    [top] = run(app, "get_topics", include_hierarchy=True)["topics"]
    assert (top["id"], top["memory_count"]) == (sea, 0)
    [below] = top["children"]
    assert (below["id"], below["memory_count"], below["children"]) == (kelp, 1, [])


def test_a_topic_has_pages_of_memories(app: App) -> None:
    sea = run(app, "post_topic", name="Sea")["id"]
    kelp = run(app, "post_topic", name="Kelp", parent_topic_id=sea)["id"]
    old, new = create(app, "One.", topic_id=sea), create(app, "Two.", topic_id=sea)
    first = run(app, "get_topic_memories", topic_id=sea, limit=1)
    second = run(app, "get_topic_memories", topic_id=sea, limit=1, offset=1)
    assert (ids(first, "memories"), ids(second, "memories")) == ([new], [old])
    assert (first["topic"]["id"], first["total_memories"]) == (sea, 2)
    assert first["subtopics"] == [{"id": kelp, "name": "Kelp", "memory_count": 0}]


def test_a_topic_changes_and_goes(app: App) -> None:
    id = run(app, "post_topic", name="Sea")["id"]
    assert run(app, "put_topic", topic_id=id, name="Ocean")["name"] == "Ocean"
    assert run(app, "delete_one_topic", topic_id=id) == {"success": True, "deleted_id": id}
    assert refused(app, "get_topic", topic_id=id)[0] == 404


def test_a_topic_with_others_below_it_stays(app: App) -> None:
    sea = run(app, "post_topic", name="Sea")["id"]
    run(app, "post_topic", name="Kelp", parent_topic_id=sea)
    status, body = refused(app, "delete_one_topic", topic_id=sea)
    assert (status, body["code"]) == (409, "CONFLICT")


# Figures


def test_reads_changes_and_deletions_are_counted(app: App) -> None:
    id, other = create(app), create(app, "Two.")
    run(app, "get_one_memory", memory_id=id)
    run(app, "search_memory", query="otters")
    run(app, "put_memory", memory_id=id, title="New")
    run(app, "delete_one_memory", memory_id=other)
    patterns = run(app, "get_access_patterns")
    assert patterns["total_accesses"] == 2
    assert patterns["by_type"] == {"read": 2, "update": 1, "delete": 1}
    assert patterns["by_method"] == {"api": 0, "search": 1, "direct": 1}
    [most] = patterns["most_accessed"]
    assert (most["memory_id"], most["title"], most["access_count"]) == (id, "New", 2)
    assert sum(hour["count"] for hour in patterns["access_by_hour"]) == 2


@pytest.mark.parametrize("range", [{"from": "2999-01-01"}, {"to": "2000-01-01"}])
def test_accesses_are_counted_within_a_range(app: App, range: dict[str, str]) -> None:
    run(app, "get_one_memory", memory_id=create(app))
    patterns = run(app, "get_access_patterns", **range)
    assert (patterns["total_accesses"], patterns["most_accessed"]) == (0, [])


def test_the_extended_figures_count_texts_and_tags(app: App) -> None:
    create(app, memory_type="project", project_ref="zoo", tags=["sea"])
    run(app, "search_memory", query="otters")
    stats = run(app, "get_extended_stats")
    assert (stats["total_memories"], stats["by_type"]["project"]) == (1, 1)
    assert stats["by_project"] == [{"project_id": "zoo", "project_name": "zoo", "count": 1}]
    assert stats["storage"]["total_chunks"] == 1
    assert stats["storage"]["avg_memory_size_kb"] > 0
    assert stats["activity"] == {"created_today": 1, "updated_today": 1, "searched_today": 1}
    assert stats["top_tags"] == [{"tag": "sea", "count": 1}]


def test_figures_of_searches_are_not_offered(app: App) -> None:
    status, body = refused(app, "get_search_analytics", group_by="week")
    assert status == 404
    assert "writes down no searches" in body["error"]


def test_the_server_is_healthy(app: App) -> None:
    health = run(app, "get_health")
    assert health["services"]["database"] == "healthy"
    assert health["timestamp"]


def test_tidying_keeps_indentation() -> None:
    assert tidied("\na:\n    b  \n\n\n    c\n") == "a:\n    b\n\n    c"
