"""The REST routes of mem0: what each does, and that every argument changes the outcome."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.queries import Found, Query
from memolith.engine.recall import Recall
from memolith.tools.call import Call
from memolith.tools.mem0.api import mem0_api
from memolith.tools.registry import Registry
from tests.checked import body_of, error_of
from tests.conftest import ME, note, show_everything
from tests.interchange import foreign_files
from tests.interchange.test_importers import imported
from tests.stores import each_store

pytestmark = each_store
ROUTES = Registry([], [route.tool for route in mem0_api.routes])
TALK = [
    {"role": "system", "content": "You are a helpful assistant."},
    {"role": "user", "content": "I drink tea every morning. What about you?"},
    {"role": "assistant", "content": "I answer in short sentences."},
]


def run(app: App, route: str, **arguments: Any) -> dict[str, Any]:
    """What a route answers."""
    outcome = ROUTES.run(route, arguments, Call(ME, app.engine))
    assert outcome.ok, outcome.body
    return body_of(outcome)


def refused(app: App, route: str, **arguments: Any) -> str | None:
    """The field that a route refuses."""
    return error_of(ROUTES.run(route, arguments, Call(ME, app.engine))).field


def add(app: App, text: str, user: str = "ann", **more: Any) -> str:
    """The id of a memory that is kept word for word."""
    said = [{"role": "user", "content": text}]
    answer = run(app, "add", messages=said, user_id=user, infer=False, **more)
    return str(answer["results"][0]["id"])


def found(app: App, **filters: Any) -> set[str]:
    """The memories that pass some filters."""
    return {memory["id"] for memory in run(app, "get_all", filters=filters)["results"]}


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({"user_id": "ann"}, ["I drink tea every morning."]),
        ({"agent_id": "bot"}, ["I answer in short sentences."]),
        ({"user_id": "ann", "agent_id": "bot"}, ["I drink tea every morning."]),
        (
            {"user_id": "ann", "infer": False},
            ["I drink tea every morning. What about you?", "I answer in short sentences."],
        ),
    ],
)
def test_what_is_added_depends_on_who_speaks_and_on_infer(
    app: App, arguments: dict[str, Any], wanted: list[str]
) -> None:
    answer = run(app, "add", messages=TALK, **arguments)
    assert [result["memory"] for result in answer["results"]] == wanted


@pytest.mark.parametrize("scope", ["user_id", "agent_id", "app_id", "run_id"])
def test_a_memory_belongs_to_whom_it_names(app: App, scope: str) -> None:
    answer = run(app, "add", messages=TALK, infer=False, **{scope: "x"})
    memory = run(app, "get", memory_id=answer["results"][0]["id"])
    assert memory[scope] == "x"
    assert len(found(app, **{scope: "x"})) == 2


def test_the_owner_may_be_named_in_filters(app: App) -> None:
    answer = run(app, "add", messages=TALK, filters={"user_id": "ann"})
    assert run(app, "get", memory_id=answer["results"][0]["id"])["user_id"] == "ann"


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("user_id", {}),
        ("user_id", {"user_id": "ann", "filters": {"user_id": "ben"}}),
        ("filters", {"filters": {"channel": "chat"}}),
        ("metadata", {"user_id": "ann", "metadata": {"expires_at": "never"}}),
        ("expiration_date", {"user_id": "ann", "expiration_date": "tomorrow"}),
        ("custom_instructions", {"user_id": "ann", "custom_instructions": "Only food."}),
    ],
)
def test_what_cannot_be_added_is_refused_by_name(
    app: App, field: str, arguments: dict[str, Any]
) -> None:
    assert refused(app, "add", messages=TALK, **arguments) == field


def test_a_memory_has_metadata_categories_and_an_expiration_date(app: App) -> None:
    id = add(app, "Tea is good.", metadata={"room": "a"}, expiration_date="2999-01-31")
    app.engine.writing.tag(ME, id, ["food"])
    memory = run(app, "get", memory_id=id)
    assert memory["metadata"] == {"room": "a"}
    assert memory["categories"] == ["food"]
    assert memory["expiration_date"] == "2999-01-31"


def test_only_memories_are_shown(app: App) -> None:
    entity = app.engine.writing.remember(ME, Draft("entity", "Ann")).item
    assert refused(app, "get", memory_id=entity.id) == "memory_id"


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ({"user_id": "ann"}, "ab"),
        ({"user_id": "*"}, "abc"),
        ({"user_id": {"in": ["ben", "eve"]}}, "c"),
        ({"user_id": {"ne": "ben"}}, "ab"),
        ({"AND": [{"user_id": "ann"}, {"cups": 3}]}, "a"),
        ({"AND": [{"user_id": "ann"}, {"AND": [{"cups": {"lt": 3}}]}]}, "b"),
        ({"OR": [{"user_id": "ben"}, {"user_id": "ann", "cups": 3}]}, "ac"),
        ({"user_id": "*", "NOT": [{"cups": 3}, {"user_id": "ben"}]}, "b"),
        ({"user_id": "*", "cups": {"gte": 2, "lte": 3}}, "a"),
        ({"user_id": "*", "cups": {"gt": 1}}, "a"),
        ({"user_id": "*", "metadata": {"room": {"contains": "itch"}}}, "a"),
        ({"user_id": "*", "room": {"icontains": "KITCHEN"}}, "a"),
        ({"user_id": "*", "room": {"eq": "kitchen"}}, "a"),
        ({"user_id": "*", "categories": {"in": ["food"]}}, "c"),
        ({"user_id": "*", "categories": {"contains": "food"}}, "c"),
        ({"user_id": "*", "categories": {"icontains": "FOOD"}}, "c"),
        ({"user_id": "*", "created_at": {"gte": "2999-01-01"}}, ""),
        ({"user_id": "*", "updated_at": {"lt": "2999-01-01"}}, "abc"),
    ],
)
def test_filters_mean_what_mem0_says(app: App, filters: dict[str, Any], wanted: str) -> None:
    ids = {
        "a": add(app, "Ann has three cups.", metadata={"cups": 3, "room": "kitchen"}),
        "b": add(app, "Ann has one cup.", metadata={"cups": 1}),
        "c": add(app, "Ben has none.", "ben"),
    }
    app.engine.writing.tag(ME, ids["c"], ["food"])
    assert found(app, **filters) == {ids[name] for name in wanted}


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"cups": 3},
        {"user_id": {"like": "a"}},
        {"user_id": "a", "AND": "b"},
        {"user_id": "a", "metadata": 1},
    ],
)
def test_a_filter_that_means_nothing_is_refused(app: App, filters: dict[str, Any]) -> None:
    assert refused(app, "get_all", filters=filters) == "filters"


def test_pages_follow_one_another(app: App) -> None:
    ids = [add(app, f"Fact {number}.") for number in range(3)]
    first = run(app, "get_all", filters={"user_id": "ann"}, page_size=2)
    second = run(app, "get_all", filters={"user_id": "ann"}, page_size=2, page=2)
    assert [memory["id"] for memory in first["results"] + second["results"]] == ids[::-1]
    assert (first["previous"], first["next"]) == (None, "/v3/memories/?page=2&page_size=2")
    assert (second["previous"], second["next"]) == ("/v3/memories/?page=1&page_size=2", None)


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ({"start_date": "2999-01-01"}, 0),
        ({"start_date": "2000-01-01"}, 1),
        ({"end_date": "2000-01-01"}, 0),
        ({"end_date": "2999-01-01T00:00:00Z"}, 1),
        ({"categories": ["food", "drink"]}, 1),
        ({"categories": ["music"]}, 0),
    ],
)
def test_a_list_is_limited_by_dates_and_categories(
    app: App, arguments: dict[str, Any], count: int
) -> None:
    app.engine.writing.tag(ME, add(app, "Tea is good."), ["food"])
    assert run(app, "get_all", filters={"user_id": "ann"}, **arguments)["count"] == count


def test_expired_memories_are_shown_when_asked_for(app: App) -> None:
    id = add(app, "A sale.", expiration_date="2020-01-01")
    assert found(app, user_id="ann") == set()
    shown = run(app, "get_all", filters={"user_id": "ann"}, show_expired=True)["results"]
    assert [memory["id"] for memory in shown] == [id]


def test_a_search_stays_with_its_user_and_its_filters(app: App) -> None:
    show_everything(app)
    tea = add(app, "Green tea is good.", metadata={"cups": 3})
    add(app, "Black tea is good.", metadata={"cups": 1})
    add(app, "White tea is good.", "ben")
    for more in (
        {"filters": {"user_id": "ann", "cups": 3}},
        {"filters": {"user_id": "ann"}, "metadata": {"cups": 3}},
        {"filters": {"user_id": "ann"}, "top_k": 1},
    ):
        answer = run(app, "search", query="green tea", **more)
        assert [memory["id"] for memory in answer["results"]] == [tea]


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ({}, 1),
        ({"threshold": 1.0}, 0),
        ({"categories": ["music"]}, 0),
        ({"keyword_search": True}, 1),
        ({"filters": {"user_id": "ann", "cups": 9}}, 0),
    ],
)
def test_a_search_is_limited_by_its_arguments(
    app: App, arguments: dict[str, Any], count: int
) -> None:
    show_everything(app)
    add(app, "Green tea is good.")
    asked = {"query": "tea", "filters": {"user_id": "ann"}, **arguments}
    assert len(run(app, "search", **asked)["results"]) == count


def test_only_the_fields_that_are_asked_for_come(app: App) -> None:
    add(app, "Green tea is good.")
    asked = {"filters": {"user_id": "ann"}, "fields": ["memory"]}
    assert set(run(app, "get_all", **asked)["results"][0]) == {"id", "memory"}
    assert set(run(app, "search", query="tea", **asked)["results"][0]) == {"id", "memory", "score"}


def test_an_update_changes_what_it_names(app: App) -> None:
    id = add(app, "Dee lives in Rome.", metadata={"room": "a"}, expiration_date="2999-01-31")
    changed = run(app, "update", memory_id=id, text="Dee lives in Paris.", metadata={"floor": 2})
    assert changed["memory"] == "Dee lives in Paris."
    assert changed["metadata"] == {"room": "a", "floor": 2}
    assert changed["expiration_date"] == "2999-01-31"
    assert run(app, "update", memory_id=id, expiration_date=None)["expiration_date"] is None


def test_a_deleted_memory_can_be_restored(app: App) -> None:
    id = add(app, "Eve likes jazz.")
    run(app, "delete", memory_id=id)
    assert refused(app, "get", memory_id=id) is None
    app.engine.writing.restore(ME, id)
    assert run(app, "get", memory_id=id)["memory"] == "Eve likes jazz."


def test_all_memories_of_one_user_are_deleted(app: App) -> None:
    add(app, "Fay likes rock.", "fay")
    kept = add(app, "Gus likes pop.", "gus")
    other = app.engine.writing.remember(ME, note("No memory of mem0.")).item
    run(app, "delete_all", user_id="fay")
    assert found(app, user_id="*") == {kept}
    run(app, "delete_all", user_id="*")
    assert found(app, user_id="*") == set()
    assert app.engine.reading.read(ME, other.id)
    assert refused(app, "delete_all") == "user_id"


def test_the_history_tells_what_changed(app: App) -> None:
    id = add(app, "Hal is five.")
    run(app, "update", memory_id=id, text="Hal is six.")
    run(app, "delete", memory_id=id)
    events = run(app, "history", memory_id=id)["history"]
    assert [event["event"] for event in events] == ["ADD", "UPDATE", "DELETE"]
    assert (events[0]["old_memory"], events[0]["new_memory"]) == (None, "Hal is five.")
    assert (events[1]["old_memory"], events[1]["new_memory"]) == ("Hal is five.", "Hal is six.")


def test_a_batch_is_done_wholly_or_not_at_all(app: App) -> None:
    id = add(app, "Ivy has a cat.")
    change = [{"memory_id": id, "text": "Ivy has a dog."}, {"memory_id": "nothing", "text": "x"}]
    assert ROUTES.run("batch_update", {"memories": change}, Call(ME, app.engine)).ok is False
    assert refused(app, "batch_delete", memories=[{"memory_id": id}, {"memory_id": "x"}]) == (
        "memories"
    )
    assert run(app, "get", memory_id=id)["memory"] == "Ivy has a cat."
    run(app, "batch_update", memories=change[:1])
    assert run(app, "get", memory_id=id)["memory"] == "Ivy has a dog."
    run(app, "batch_delete", memories=[{"memory_id": id}])
    assert found(app, user_id="ann") == set()


def test_feedback_is_kept_with_the_memory(app: App) -> None:
    id = add(app, "Jo plays chess.")
    run(app, "feedback", memory_id=id, feedback="NEGATIVE", feedback_reason="It was Kim.")
    metadata = run(app, "get", memory_id=id)["metadata"]
    assert metadata == {"feedback": "NEGATIVE", "feedback_reason": "It was Kim."}


def test_users_are_counted_and_deleted(app: App) -> None:
    add(app, "Lea likes figs.", "lea", app_id="kitchen")
    add(app, "Lea likes jam.", "lea")
    users = run(app, "users")["results"]
    assert [(one["type"], one["name"], one["total_memories"]) for one in users] == [
        ("app", "kitchen", 1),
        ("user", "lea", 2),
    ]
    run(app, "delete_user", entity_type="app", entity_id="kitchen")
    assert [one["total_memories"] for one in run(app, "users")["results"]] == [1]
    assert refused(app, "delete_user", entity_type="app", entity_id="kitchen") == "entity_id"


def test_what_was_imported_from_mem0_is_here(app: App, tmp_path: Path) -> None:
    imported(app, foreign_files.mem0(tmp_path))
    memory = run(app, "get_all", filters={"user_id": "ann"})["results"][0]
    assert memory["memory"] == foreign_files.MEM0["memory"]
    assert memory["categories"] == ["food"]
    assert memory["metadata"]["room"] == "kitchen"


@pytest.fixture
def replaced(smart: App) -> dict[str, str]:
    """An old and a new memory, which has replaced it."""
    old = add(smart, "The public API allows 600 requests per minute.")
    new = add(smart, "The public API allows 900 requests per minute.")
    smart.embeddings.embed_waiting()
    return {"old": old, "new": new}


def test_only_the_latest_memories_come_when_asked_for(smart: App, replaced: dict[str, str]) -> None:
    asked = {"filters": {"user_id": "ann"}, "latest_only": True}
    listed = run(smart, "get_all", **asked)["results"]
    assert [memory["id"] for memory in listed] == [replaced["new"]]
    hits = run(smart, "search", query="API requests per minute", **asked)["results"]
    assert [memory["id"] for memory in hits] == [replaced["new"]]


@pytest.mark.parametrize("delete_linked", [True, False])
def test_a_memory_takes_those_with_it_that_it_replaced(
    smart: App, replaced: dict[str, str], delete_linked: bool
) -> None:
    run(smart, "delete", memory_id=replaced["new"], delete_linked=delete_linked)
    assert found(smart, user_id="ann") == (set() if delete_linked else {replaced["old"]})


def test_a_reranked_search_is_a_deep_one(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool | None] = []
    search = Recall.search

    def listen(recall: Recall, caller: Caller, query: Query) -> Found:
        asked.append(query.deep)
        return search(recall, caller, query)

    monkeypatch.setattr(Recall, "search", listen)
    for rerank in (True, False):
        run(app, "search", query="tea", filters={"user_id": "ann"}, rerank=rerank)
    assert asked == [True, None]
