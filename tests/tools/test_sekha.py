"""The Sekha family: the documented examples, every parameter, and the absence of the defects of the
first one.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.tools.call import Call
from tests.checked import body_of, error_of, present
from tests.conftest import ME, note
from tests.programs.served import Served, thread
from tests.stores import each_store

pytestmark = each_store
OAUTH = [
    {"role": "user", "content": "Let's design the authentication API"},
    {"role": "assistant", "content": "Great! I recommend OAuth 2.0 with short-lived tokens."},
]
NOBODY = "123e4567-e89b-12d3-a456-426614174000"


def run(app: App, tool: str, caller: Caller = ME, **arguments: Any) -> dict[str, Any]:
    outcome = app.registry.run(tool, arguments, Call(caller, app.engine))
    assert outcome.ok, outcome.body
    if not tool.startswith("memory_"):
        return body_of(outcome)
    assert outcome.body["success"] is True
    assert outcome.body["error"] is None
    data: dict[str, Any] = body_of(outcome)["data"]
    return data


def refused(app: App, tool: str, **arguments: Any) -> tuple[int, str]:
    """The HTTP status of an error and its words."""
    outcome = app.registry.run(tool, arguments, Call(ME, app.engine))
    assert not outcome.ok, outcome.body
    assert outcome.body.keys() == {"success", "data", "error"}
    assert (outcome.body["success"], outcome.body["data"]) == (False, None)
    return error_of(outcome).status, body_of(outcome)["error"]


def store(app: App, label: str, *texts: str, **more: Any) -> str:
    """The id of a new conversation in which two take turns."""
    said = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
    return str(run(app, "memory_store", label=label, messages=said, **more)["conversation_id"])


def found(app: App, query: str, **more: Any) -> list[str]:
    return [hit["content"] for hit in run(app, "memory_search", query=query, **more)["results"]]


def days_ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def aged(app: App, *conversations: tuple[str, float, int, list[str]]) -> None:
    """Bring in conversations of the past, the oldest first: id and label, age in days, importance,
    texts.
    """
    app.engine.maintenance.import_(
        ME,
        [
            json.dumps(
                {
                    "event": {
                        "seq": 1,
                        "stream": id,
                        "version": 1,
                        "type": "remembered",
                        "actor": "local",
                        "at": days_ago(age),
                        "key": None,
                        "data": {
                            "kind": "conversation",
                            "title": id,
                            "status": "active",
                            "owner": "local",
                            "audience": "user",
                            "attributes": {"folder": "/", "importance_score": importance},
                            "blocks": [{"text": text, "speaker": "user"} for text in texts],
                        },
                    }
                }
            )
            for id, age, importance, texts in conversations
        ],
    )


def suggested(app: App, **more: Any) -> list[str]:
    return [one["conversation_id"] for one in run(app, "memory_prune", **more)["suggestions"]]


# Storing and reading back


def test_the_documented_store_example_answers_as_documented(app: App) -> None:
    made = run(
        app,
        "memory_store",
        label="API Design Discussion",
        folder="/work/backend",
        messages=OAUTH,
        importance_score=7,
    )
    assert made == {
        "conversation_id": made["id"],
        "id": made["id"],
        "label": "API Design Discussion",
        "folder": "/work/backend",
    }
    about = run(app, "memory_get_context", conversation_id=made["id"])
    assert about == {
        "conversation_id": made["id"],
        "label": "API Design Discussion",
        "status": "active",
        "folder": "/work/backend",
        "importance_score": 7,
        "word_count": 13,
        "session_count": 1,
        "created_at": about["created_at"],
        "updated_at": about["created_at"],
    }


def test_a_folder_may_be_left_out_and_is_a_tidy_path(app: App) -> None:
    made = run(app, "memory_store", label="Plain", messages=OAUTH)
    assert made["folder"] == "/"
    about = run(app, "memory_get_context", conversation_id=made["id"])
    assert (about["folder"], about["importance_score"]) == ("/", 5)
    assert (
        run(app, "memory_store", label="A", messages=OAUTH, folder="work//backend/")["folder"]
        == "/work/backend"
    )
    assert (
        "folder"
        in refused(app, "memory_store", label="A", messages=OAUTH, folder="/work/../etc")[1]
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"label": " "},
        {"label": "x" * 501},
        {"messages": []},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "", "content": "x"}]},
        {"messages": [{"role": "user", "content": ""}]},
        {"messages": [{"role": "user", "content": "x", "mood": "glad"}]},
        {"importance_score": 0},
        {"importance_score": 11},
        {"importance_score": 5.5},
        {"folder": "/" + "x" * 501},
        {"messages": [{"role": "user", "content": "x", "timestamp": "soon"}]},
    ],
)
def test_a_bad_conversation_is_refused_by_name_and_leaves_no_trace(
    app: App, wrong: dict[str, Any]
) -> None:
    status, words = refused(app, "memory_store", **{"label": "Fine", "messages": OAUTH, **wrong})
    assert status == 400
    assert next(iter(wrong)) in words
    assert run(app, "memory_stats")["total_conversations"] == 0


def test_timestamps_and_metadata_of_messages_are_kept_and_not_replaced_by_now(app: App) -> None:
    said = [
        {
            "role": "user",
            "content": "Hello",
            "timestamp": "2026-01-20T15:30:00+01:00",
            "metadata": {"mood": "glad"},
        },
        {"role": "assistant", "content": "Good day", "timestamp": "2026-01-21T08:00:00"},
    ]
    made = run(app, "memory_store", label="Dated", messages=said)["id"]
    messages = run(app, "memory_export", conversation_id=made)["messages"]
    assert [one["timestamp"] for one in messages] == [
        "2026-01-20T14:30:00.000000Z",
        "2026-01-21T08:00:00.000000Z",
    ]
    assert [one.get("metadata") for one in messages] == [{"mood": "glad"}, None]
    hit = run(app, "memory_search", query="hello")["results"][0]
    assert (hit["timestamp"], hit["metadata"]["mood"]) == ("2026-01-20T14:30:00.000000Z", "glad")


def test_secrets_are_redacted_and_told(app: App) -> None:
    made = run(
        app,
        "memory_store",
        label="Keys",
        messages=[{"role": "user", "content": "the key is ghp_" + "a1B2" * 9}],
    )
    assert made["redactions"]
    assert (
        "[REDACTED]"
        in run(app, "memory_export", conversation_id=made["id"])["messages"][0]["content"]
    )


# Searching


def test_a_hit_has_what_is_documented_and_its_neighbours(app: App) -> None:
    made = run(
        app,
        "memory_store",
        label="API Design",
        folder="/work/backend",
        messages=[*OAUTH, {"role": "user", "content": "Then so be it."}],
    )["id"]
    body = run(app, "memory_search", query="tokens", limit=1)
    assert (body["query"], body["limit"]) == ("tokens", 1)
    hit = body["results"][0]
    assert hit.keys() == {
        "conversation_id",
        "message_id",
        "score",
        "content",
        "label",
        "folder",
        "timestamp",
        "metadata",
    }
    assert (hit["conversation_id"], hit["content"]) == (made, OAUTH[1]["content"])
    assert (hit["label"], hit["folder"], hit["metadata"]["role"]) == (
        "API Design",
        "/work/backend",
        "assistant",
    )
    beside = hit["metadata"]["context"]
    assert (beside["before"]["content"], beside["after"]["content"]) == (
        OAUTH[0]["content"],
        "Then so be it.",
    )
    assert hit["message_id"] == f"{made}#1"
    assert hit["metadata"]["updated_at"] >= hit["timestamp"]


def test_filters_of_folder_and_label_do_match(app: App) -> None:
    for label, folder in (
        ("Plan", "/work"),
        ("Design", "/work/backend"),
        ("Else", "/workshop"),
        ("Home", "/home"),
    ):
        store(app, label, f"a zebra in {folder}", folder=folder)
    assert sorted(found(app, "zebra", filters={"folder": "/work"})) == [
        "a zebra in /work",
        "a zebra in /work/backend",
    ]
    assert (
        len(found(app, "zebra", filters={"folder": "/"}))
        == len(found(app, "zebra", filters=None))
        == 4
    )
    assert found(app, "zebra", filters={"label": "Design"}) == ["a zebra in /work/backend"]
    assert found(app, "zebra", filters={"label": "Desig"}) == []


def test_every_filter_changes_what_is_found(app: App) -> None:
    old = {"role": "user", "content": "an old zebra", "timestamp": "2026-01-10T12:00:00Z"}
    new = {"role": "assistant", "content": "a new zebra", "timestamp": "2026-02-10T12:00:00Z"}
    one = run(app, "memory_store", label="One", messages=[old], importance_score=3)["id"]
    two = run(app, "memory_store", label="Two", messages=[new], importance_score=8)["id"]
    run(app, "memory_update", conversation_id=one, status="archived")
    assert sorted(found(app, "zebra")) == ["a new zebra", "an old zebra"]
    for chosen, wanted in (
        ({"status": "archived"}, "an old zebra"),
        ({"status": "active"}, "a new zebra"),
        ({"role": "assistant"}, "a new zebra"),
        ({"importance_min": 5}, "a new zebra"),
        ({"importance_max": 7.5}, "an old zebra"),
        ({"date_from": "2026-02-01"}, "a new zebra"),
        ({"date_to": "2026-01-10"}, "an old zebra"),
        ({"conversation_id": two}, "a new zebra"),
        ({"date_from": "2026-01-10T11:00:00", "date_to": "2026-01-31"}, "an old zebra"),
    ):
        assert found(app, "zebra", filters=chosen) == [wanted], chosen


@pytest.mark.parametrize(
    "wrong",
    [
        {"colour": "red"},
        {"status": "gone"},
        {"date_from": "soon"},
        {"date_to": ""},
        {"importance_min": 11},
        {"folder": "/a/.."},
    ],
)
def test_an_unknown_or_senseless_filter_is_refused_by_name(app: App, wrong: dict[str, Any]) -> None:
    status, words = refused(app, "memory_search", query="zebra", filters=wrong)
    assert status == 400
    assert next(iter(wrong)) in words


def test_an_unknown_filter_is_told_the_names_that_there_are(app: App) -> None:
    _, words = refused(app, "memory_search", query="zebra", filters={"foo": 1})
    assert "folder" in words
    assert "importance_min" in words


def test_the_offset_pages_through_all_matches_without_overlap(app: App) -> None:
    for n in range(23):
        store(app, f"Talk {n}", f"zebra number {n}", "indeed")
    pages = [
        run(app, "memory_search", query="zebra number", limit=10, offset=offset)
        for offset in range(0, 60, 10)
    ]
    ids = [hit["message_id"] for page in pages for hit in page["results"]]
    assert len(ids) == len(set(ids)) == pages[0]["total_results"]
    assert {page["total_results"] for page in pages} == {len(ids)}
    assert sum("zebra" in hit["content"] for page in pages for hit in page["results"]) == 23
    assert [len(page["results"]) for page in pages[:2]] == [10, 10]


def test_a_long_message_is_one_hit_however_many_passages_it_has(app: App) -> None:
    long = " ".join(f"Sentence {n} tells of the zebra and of {n} other animals." for n in range(60))
    made = run(
        app, "memory_store", label="Long", messages=[{"role": "user", "content": long}, *OAUTH]
    )["id"]
    body = run(app, "memory_search", query="zebra", limit=100)
    assert [hit["message_id"] for hit in body["results"]].count(f"{made}#0") == 1
    assert body["total_results"] == len(body["results"])
    assert (
        run(app, "memory_search", query="zebra", limit=1)["total_results"] == body["total_results"]
    )
    assert (
        next(hit for hit in body["results"] if hit["message_id"].endswith("#0"))["content"] == long
    )


def test_the_total_counts_each_message_once_also_beyond_those_that_were_weighed(app: App) -> None:
    for n in range(30):
        store(app, f"Short {n}", *(f"The zebra of keeper {n} ate {m} apples." for m in range(5)))
    store(
        app,
        "Long",
        *(
            "The zebra ran. "
            + "It is a long story about grass and wind. " * 80
            + "The zebra slept."
            for _ in range(4)
        ),
    )
    assert run(app, "memory_search", query="zebra", limit=3)["total_results"] == 30 * 5 + 4
    assert len(found(app, "zebra", limit=100)) == 100


def test_a_search_that_cannot_be_done_is_an_error_and_not_an_empty_list(app: App) -> None:
    assert refused(app, "memory_search", query="x" * 10_001)[0] == 400
    assert "query" in refused(app, "memory_search", query=" ")[1]
    assert refused(app, "memory_search", query="zebra", limit=101)[0] == 400


def test_scores_are_calibrated_and_better_for_what_fits_better(smart: App) -> None:
    assert present(smart.embedder).wait(60)
    store(smart, "Auth", "We decided to use OAuth 2.0 with JWT tokens for the login.")
    store(smart, "Garden", "The tomatoes need more water in July.")
    smart.upkeep.run()
    hits = run(smart, "memory_search", query="What did we decide about authentication?")["results"]
    assert hits[0]["label"] == "Auth"
    assert smart.engine.recall.floor <= hits[0]["score"] <= 1
    assert all(hit["score"] < hits[0]["score"] / 2 for hit in hits[1:])


def test_only_conversations_are_found_and_only_those_of_the_caller(app: App) -> None:
    app.engine.writing.remember(ME, note("a zebra that is a memory"))
    store(app, "Mine", "a zebra in a talk")
    assert found(app, "zebra") == ["a zebra in a talk"]
    other = Caller(user="somebody else")
    assert run(app, "memory_search", caller=other, query="zebra")["results"] == []
    assert run(app, "memory_stats", caller=other)["total_conversations"] == 0


def test_a_conversation_of_another_family_is_one_here_too(app: App) -> None:
    made = run(app, "remember", content="a zebra was seen", kind="conversation", title="Seen")["id"]
    about = run(app, "memory_get_context", conversation_id=made)
    assert (about["label"], about["folder"], about["importance_score"]) == ("Seen", "/", 5)
    assert found(app, "zebra", filters={"importance_min": 5, "folder": "/"}) == ["a zebra was seen"]
    assert suggested(app, threshold_days=0) == [made]


# Updating


def test_every_field_that_is_reported_as_updated_was_written(app: App) -> None:
    made = store(app, "Draft", "hello")
    body = run(
        app,
        "memory_update",
        conversation_id=made,
        label="Completed: API Design",
        folder="/work/archive/2026-q1",
        status="archived",
        importance_score=8,
    )
    assert body == {
        "conversation_id": made,
        "updated_fields": ["label/folder", "status", "importance_score"],
        "message": "Conversation updated successfully",
    }
    about = run(app, "memory_get_context", conversation_id=made)
    assert {
        "label": "Completed: API Design",
        "folder": "/work/archive/2026-q1",
        "status": "archived",
        "importance_score": 8,
    }.items() <= about.items()
    assert about["updated_at"] > about["created_at"]


@pytest.mark.parametrize(
    "change, fields",
    [
        ({"label": "New"}, ["label/folder"]),
        ({"folder": "/new"}, ["label/folder"]),
        ({"status": "archived"}, ["status"]),
        ({"importance_score": 9}, ["importance_score"]),
    ],
)
def test_one_change_leaves_the_rest_as_it_was(
    app: App, change: dict[str, Any], fields: list[Any]
) -> None:
    made = store(app, "Old", "hello", folder="/old")
    before = run(app, "memory_get_context", conversation_id=made)
    assert run(app, "memory_update", conversation_id=made, **change)["updated_fields"] == fields
    after = run(app, "memory_get_context", conversation_id=made)
    assert {
        name: value
        for name, value in after.items()
        if before[name] != value and name != "updated_at"
    } == change


def test_an_update_of_nothing_and_of_nobody_is_refused(app: App) -> None:
    made = store(app, "Old", "hello")
    assert refused(app, "memory_update", conversation_id=made)[0] == 400
    app.engine.writing.remember(ME, note("a memory", id="memory"))
    for tool, more in (
        ("memory_update", {"label": "New"}),
        ("memory_get_context", {}),
        ("memory_export", {}),
    ):
        for id in (NOBODY, "memory"):
            assert refused(app, tool, conversation_id=id, **more)[0] == 404


# Pruning


def test_prune_suggests_by_last_access_and_importance_and_changes_nothing(app: App) -> None:
    aged(
        app,
        ("ancient", 400, 2, ["x" * 500]),
        ("old", 100, 3, ["An old talk", "with two messages"]),
        ("dear", 100, 7, ["dear"]),
        ("pinned", 100, 10, ["pinned"]),
        ("fresh", 10, 1, ["fresh"]),
    )
    before = app.engine.history.last(ME, "old")
    body = run(app, "memory_prune", threshold_days=90, importance_threshold=5.0)
    assert [one["conversation_id"] for one in body["suggestions"]] == ["ancient", "old"]
    old = body["suggestions"][1]
    assert old == {
        "conversation_id": "old",
        "conversation_label": "old",
        "last_accessed": old["last_accessed"],
        "message_count": 2,
        "token_estimate": 7,
        "importance_score": 3.0,
        "preview": "An old talk",
        "recommendation": "archive",
    }
    assert old["last_accessed"][:10] == days_ago(100)[:10]
    ancient = body["suggestions"][0]
    assert (ancient["preview"], ancient["token_estimate"]) == ("x" * 100, 125)
    assert ancient["recommendation"] == "delete"
    assert (body["threshold_days"], body["importance_threshold"]) == (90, 5.0)
    assert (body["total_suggestions"], body["estimated_token_savings"]) == (2, 132)
    assert app.engine.history.last(ME, "old") == before


def test_the_thresholds_of_prune_are_heeded(app: App) -> None:
    aged(
        app,
        ("old", 100, 4, ["old"]),
        ("dear", 100, 7, ["dear"]),
        ("pinned", 100, 10, ["p"]),
        ("fresh", 5, 3, ["f"]),
    )
    assert suggested(app) == ["old"]
    assert suggested(app, importance_threshold=3.9) == []
    assert suggested(app, importance_threshold=4) == ["old"]
    assert suggested(app, importance_threshold=10) == ["old", "dear"]
    assert suggested(app, threshold_days=0) == ["fresh", "old"]
    assert suggested(app, threshold_days=101) == []


def test_what_was_read_or_archived_is_not_suggested(app: App) -> None:
    aged(app, ("read", 100, 3, ["read"]), ("done", 100, 3, ["done"]), ("old", 100, 3, ["old"]))
    run(app, "memory_get_context", conversation_id="read")
    run(app, "memory_update", conversation_id="done", status="archived")
    assert suggested(app) == ["old"]
    app.engine.reading.flush_accesses()
    assert suggested(app) == ["old"]


def test_prune_needs_no_model_and_no_network(app: App) -> None:
    aged(app, ("old", 100, 3, ["The first message."]))
    assert app.embedder is None
    assert run(app, "memory_prune")["suggestions"][0]["preview"] == "The first message."


# Context and export


def test_words_are_counted_and_sessions_too(app: App) -> None:
    made = store(app, "Count", "two words", "und drei Wörter", "日本語")
    assert run(app, "memory_get_context", conversation_id=made)["word_count"] == 2 + 3 + 3
    run(
        app,
        "append_messages",
        conversation_id=made,
        messages=[{"role": "user", "content": "one more session"}],
    )
    about = run(app, "memory_get_context", conversation_id=made)
    assert (about["word_count"], about["session_count"]) == (11, 2)
    app.engine.history.undo(ME, app.engine.history.last(ME, made).seq)
    about = run(app, "memory_get_context", conversation_id=made)
    assert (about["word_count"], about["session_count"]) == (8, 1)
    app.engine.history.undo(ME, app.engine.history.last(ME, made).seq)
    about = run(app, "memory_get_context", conversation_id=made)
    assert (about["word_count"], about["session_count"]) == (11, 2)


@pytest.mark.parametrize(
    "metadata, field",
    [
        ({"importance_score": "high"}, "importance_score"),
        ({"importance_score": True}, "importance_score"),
        ({"importance_score": None}, "importance_score"),
        ({"importance_score": 11}, "importance_score"),
        ({"folder": 3}, "folder"),
        ({"folder": None}, "folder"),
        ({"folder": "../up"}, "folder"),
    ],
)
def test_a_conversation_by_another_family_cannot_break_the_statistics(
    app: App, metadata: dict[str, Any], field: str
) -> None:
    outcome = app.registry.run(
        "remember",
        {"content": "zebra", "kind": "conversation", "metadata": metadata},
        Call(ME, app.engine),
    )
    assert (outcome.ok, outcome.body.get("field")) == (False, field)
    assert run(app, "memory_stats")["total_conversations"] == 0


def test_a_conversation_by_another_family_has_a_folder_and_an_importance(app: App) -> None:
    for metadata in ({}, {"folder": "work//"}):
        app.registry.run(
            "remember",
            {"content": "zebra", "kind": "conversation", "metadata": metadata},
            Call(ME, app.engine),
        )
    assert run(app, "memory_stats") == {
        "total_conversations": 2,
        "average_importance": 5.0,
        "folders": ["/", "/work"],
    }


def test_an_export_loses_nothing_of_what_was_stored(app: App) -> None:
    said = [
        {
            "role": "user",
            "content": "  indented\n\n```\ncode\n```\n",
            "timestamp": "2026-01-01T00:00:00.000000Z",
            "metadata": {"a": [1, {"b": None}]},
        },
        {"role": "Zoë 🦓", "content": "x" * 9000, "timestamp": "2026-01-02T00:00:00.000000Z"},
    ]
    made = run(app, "memory_store", label="Whole", messages=said, folder="/f", importance_score=9)[
        "id"
    ]
    body = run(app, "memory_export", conversation_id=made)
    assert body["messages"] == said
    assert (body["format"], body["include_metadata"], "markdown" in body) == ("json", True, False)
    about = run(app, "memory_get_context", conversation_id=made)
    assert body["conversation"] == {"id": about.pop("conversation_id"), **about}


def test_the_format_of_an_export_is_rendered_and_not_only_echoed(app: App) -> None:
    made = store(app, "API Design", "Shall we?", "We shall.", folder="/work")
    body = run(app, "memory_export", conversation_id=made, format="markdown")
    assert body["format"] == "markdown"
    text = body["markdown"]
    assert text.startswith("# API Design\n")
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# API Design",
        "### 1. user",
        "### 2. assistant",
    ]
    assert "/work" in text
    assert "Shall we?" in text
    assert body["messages"][0]["content"] == "Shall we?"


def test_the_metadata_of_an_export_can_be_left_out(app: App) -> None:
    made = run(
        app,
        "memory_store",
        label="API Design",
        folder="/work",
        messages=[{**OAUTH[0], "metadata": {"mood": "glad"}}],
    )["id"]
    body = run(
        app, "memory_export", conversation_id=made, format="markdown", include_metadata=False
    )
    assert "conversation" not in body
    assert body["include_metadata"] is False
    assert body["messages"][0].keys() == {"role", "content", "timestamp"}
    assert "/work" not in body["markdown"]
    assert OAUTH[0]["content"] in body["markdown"]


# Statistics


def test_statistics_count_all_or_one_folder_with_those_below_or_one_label(app: App) -> None:
    assert run(app, "memory_stats") == {
        "total_conversations": 0,
        "average_importance": 0.0,
        "folders": [],
    }
    store(app, "A", "one", folder="/work", importance_score=4)
    store(app, "B", "two", folder="/work/backend", importance_score=7)
    store(app, "A", "three", folder="/workshop", importance_score=10)
    assert run(app, "memory_stats") == {
        "total_conversations": 3,
        "average_importance": 7.0,
        "folders": ["/work", "/work/backend", "/workshop"],
    }
    assert run(app, "memory_stats", folder="/work/") == {
        "total_conversations": 2,
        "average_importance": 5.5,
        "folders": ["/work"],
    }
    assert run(app, "memory_stats", label="A") == {
        "total_conversations": 2,
        "average_importance": 7.0,
        "labels": ["A"],
    }
    assert run(app, "memory_stats", label="a") == {
        "total_conversations": 0,
        "average_importance": 0.0,
        "labels": [],
    }


def test_folder_and_label_exclude_each_other(app: App) -> None:
    assert refused(app, "memory_stats", folder="/work", label="A") == (
        400,
        "Cannot specify both folder and label",
    )


def test_a_deleted_conversation_is_in_no_list_search_count_or_suggestion(app: App) -> None:
    made = store(app, "Gone", "a zebra")
    run(app, "forget", id=made)
    assert found(app, "zebra") == suggested(app, threshold_days=0) == []
    assert run(app, "memory_stats")["total_conversations"] == 0
    assert refused(app, "memory_export", conversation_id=made)[0] == 404


# What the document leaves out


def test_messages_are_appended_with_their_time_and_metadata(app: App) -> None:
    made = store(app, "Growing", "hello")
    run(
        app,
        "append_messages",
        conversation_id=made,
        messages=[
            {
                "role": "user",
                "content": "later",
                "timestamp": "2026-05-01T10:00:00Z",
                "metadata": {"n": 1},
            }
        ],
    )
    assert run(app, "memory_export", conversation_id=made)["messages"][1] == {
        "role": "user",
        "content": "later",
        "timestamp": "2026-05-01T10:00:00.000000Z",
        "metadata": {"n": 1},
    }


def test_conversations_are_listed_by_folder_and_status_and_paged(app: App) -> None:
    ids = [
        store(app, f"Talk {n}", "hello", folder=folder)
        for n, folder in enumerate(("/a", "/a/b", "/ab"))
    ]
    run(app, "memory_update", conversation_id=ids[0], status="archived")

    def listed(**arguments: Any) -> list[str]:
        return [
            one["conversation_id"]
            for one in run(app, "list_conversations", **arguments)["conversations"]
        ]

    assert listed() == [ids[0], ids[2], ids[1]]
    assert listed(folder="/a") == [ids[0], ids[1]]
    assert listed(status="active") == [ids[2], ids[1]]
    assert listed(limit=1, offset=1) == [ids[2]]
    shown = run(app, "list_conversations", limit=1)
    assert shown["total"] == 3
    assert {
        "label": "Talk 0",
        "folder": "/a",
        "importance_score": 5,
        "status": "archived",
        "message_count": 1,
    }.items() <= shown["conversations"][0].items()


def test_a_deleted_conversation_is_gone_and_can_be_restored(app: App) -> None:
    made = store(app, "Gone", "a zebra")
    run(app, "delete_conversation", conversation_id=made)
    assert found(app, "zebra") == []
    run(app, "restore_item", id=made)
    assert found(app, "zebra") == ["a zebra"]
    app.engine.writing.remember(ME, note("a memory", id="memory"))
    for tool, more in (("delete_conversation", {}), ("append_messages", {"messages": OAUTH})):
        outcome = app.registry.run(
            tool, {"conversation_id": "memory", **more}, Call(ME, app.engine)
        )
        assert outcome.body["field"] == "conversation_id"


# Over the wire


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with thread(tmp_path_factory.mktemp("served")) as server:
        yield server


def over_curl(server: Served, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if shutil.which("curl") is None:
        return dict(server.tool(tool, arguments).json())
    ran = subprocess.run(
        [
            "curl",
            "-sS",
            "-X",
            "POST",
            f"{server.url}/mcp/tools/{tool}",
            "-H",
            f"Authorization: Bearer {server.admin}",
            "-H",
            "Content-Type: application/json",
            "-d",
            json.dumps(arguments),
        ],
        capture_output=True,
        check=True,
        timeout=60,
    )
    return dict(json.loads(ran.stdout))


@pytest.mark.stores("sqlite")
@pytest.mark.parametrize(
    "way", [over_curl, lambda server, *call: server.call(*call)[1]], ids=["curl", "mcp"]
)
def test_the_three_documented_workflows(tmp_path: Path, way: Any) -> None:
    with thread(tmp_path) as server:

        def ask(tool: str, **arguments: Any) -> dict[str, Any]:
            body = way(server, tool, arguments)
            assert body["success"] is True, body
            return dict(body["data"])

        # Store and retrieve.
        made = ask(
            "memory_store",
            label="OAuth Implementation Discussion",
            folder="/work/backend/auth",
            messages=[{**one, "timestamp": "2026-01-20T15:30:00"} for one in OAUTH],
            importance_score=3,
        )
        hits = ask(
            "memory_search",
            query="OAuth implementation decisions",
            filters={"folder": "/work"},
            limit=5,
        )
        assert hits["results"][0]["conversation_id"] == made["id"]
        # Memory organization.
        assert ask("memory_stats", folder="/work")["total_conversations"] == 1
        assert (
            ask("memory_prune", threshold_days=90, importance_threshold=4.0)["total_suggestions"]
            == 0
        )
        for one in ask("memory_prune", threshold_days=0, importance_threshold=4.0)["suggestions"]:
            ask(
                "memory_update",
                conversation_id=one["conversation_id"],
                folder="/archive/2025",
                status="archived",
            )
        assert ask("memory_get_context", conversation_id=made["id"])["status"] == "archived"
        # Data export.
        january = ask(
            "memory_search",
            query="OAuth authentication",
            filters={"folder": "/archive", "date_from": "2026-01-01", "date_to": "2026-01-31"},
        )["results"]
        texts = [
            ask("memory_export", conversation_id=id, format="markdown")["markdown"]
            for id in dict.fromkeys(hit["conversation_id"] for hit in january)
        ]
        assert len(texts) == 1
        assert OAUTH[1]["content"] in texts[0]


@pytest.mark.stores("sqlite")
@pytest.mark.parametrize(
    "key, body, status",
    [
        (None, b"{}", 401),
        ("wrong", b"{}", 401),
        ("admin", b"{", 400),
        ("admin", b"[1]", 400),
        ("admin", b'{"limit": 1}', 400),
        ("admin", b'{"query": "x", "surprise": 1}', 400),
        ("admin", b'{"query": "x"}', 200),
    ],
)
def test_rest_answers_with_the_documented_status_and_always_with_the_envelope(
    served: Served, key: str | None, body: bytes, status: int
) -> None:
    answer = served.ask(
        "POST", "/mcp/tools/memory_search", served.admin if key == "admin" else key, body
    )
    assert answer.status_code == status
    assert answer.json()["success"] is (status == 200)
    assert {"success", "data", "error"} <= answer.json().keys()


@pytest.mark.stores("sqlite")
def test_an_unknown_conversation_is_404_with_a_json_body(served: Served) -> None:
    answer = served.tool("memory_get_context", {"conversation_id": NOBODY})
    assert answer.status_code == 404
    assert answer.json()["error"]
    assert served.call("memory_get_context", {"conversation_id": NOBODY}) == (False, answer.json())
