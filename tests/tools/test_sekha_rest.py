"""The REST routes of Sekha: what each does, and that every argument changes the outcome."""

import json
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.queries import Filter
from memolith.engine.validation import folder_path
from memolith.tools.call import Call
from memolith.tools.registry import Registry
from memolith.tools.sekha.rest import arguments as rest_arguments
from memolith.tools.sekha.rest.api import sekha_api
from memolith.tools.sekha.rest.upkeep import EXPORT_BATCH
from tests.checked import body_of, error_of
from tests.conftest import ME, show_everything
from tests.programs.served import thread
from tests.stores import each_store

pytestmark = each_store
NOBODY = "123e4567-e89b-12d3-a456-426614174000"
ROUTES = Registry([], [route.tool for route in sekha_api.routes])


def run(app: App, route: str, **arguments: Any) -> dict[str, Any]:
    """What a route answers."""
    outcome = ROUTES.run(route, arguments, Call(ME, app.engine))
    assert outcome.ok, outcome.body
    return body_of(outcome)


def refused(app: App, route: str, **arguments: Any) -> tuple[int, str]:
    """The status and the words with which a route refuses."""
    outcome = ROUTES.run(route, arguments, Call(ME, app.engine))
    assert not outcome.ok, outcome.body
    body = body_of(outcome)
    assert body["code"] == error_of(outcome).status
    return body["code"], body["error"]


def core(app: App, id: str) -> dict[str, Any]:
    """An item as the core family shows it."""
    outcome = app.registry.run("fetch", {"ids": [id]}, Call(ME, app.engine))
    item: dict[str, Any] = body_of(outcome)["items"][0]
    return item


def create(app: App, label: str = "Parser", *texts: str, **more: Any) -> str:
    """The id of a new conversation."""
    said = [{"role": "user", "content": text} for text in texts or ("The parser is in Rust.",)]
    return str(run(app, "create_conversation", label=label, messages=said, **more)["id"])


def labels(answer: dict[str, Any]) -> set[str]:
    return {result["label"] for result in answer["results"]}


# Conversations


def test_a_new_conversation_is_an_item_of_the_one_store(app: App) -> None:
    id = create(app, folder="/work", importance_score=7.5, metadata={"client": "app"})
    item = core(app, id)
    assert (item["kind"], item["title"]) == ("conversation", "Parser")
    assert item["metadata"] == {
        "folder": "/work",
        "importance_score": 7.5,
        "metadata": {"client": "app"},
    }


def test_a_conversation_is_read_with_its_messages_and_metadata(app: App) -> None:
    message = {
        "role": "system",
        "content": "Be brief.",
        "timestamp": "2026-02-03T04:05:06Z",
        "metadata": {"mood": "calm"},
    }
    id = run(app, "create_conversation", label="A", messages=[message], metadata={"x": 1})["id"]
    read = run(app, "get_conversation", conversation_id=id)
    assert read["messages"] == [
        {**message, "id": f"{id}#0", "timestamp": "2026-02-03T04:05:06.000000Z"}
    ]
    assert (read["metadata"], read["message_count"], read["archived"]) == ({"x": 1}, 1, False)


def test_the_parts_of_a_message_come_back_and_their_text_is_found(app: App) -> None:
    parts = [
        {"type": "text", "text": "A zebra at the river."},
        {"type": "image_url", "image_url": {"url": "https://example.com/z.png", "detail": "low"}},
    ]
    id = run(app, "create_conversation", label="A", messages=[{"role": "user", "content": parts}])[
        "id"
    ]
    assert run(app, "get_conversation", conversation_id=id)["messages"][0]["content"] == parts
    found = run(app, "query_messages", query="zebra river")["results"]
    assert found[0]["content"] == "A zebra at the river."


def test_an_importance_below_one_is_kept_as_one(app: App) -> None:
    id = create(app, importance_score=0.0)
    assert run(app, "get_conversation", conversation_id=id)["importance_score"] == 1


def test_label_and_folder_change_together_or_the_label_alone(app: App) -> None:
    id = create(app, folder="/a")
    run(app, "update_label", conversation_id=id, label="B")
    assert core(app, id)["metadata"]["folder"] == "/a"
    run(app, "update_label", conversation_id=id, label="C", folder="/b")
    assert (core(app, id)["title"], core(app, id)["metadata"]["folder"]) == ("C", "/b")


def test_a_new_folder_leaves_the_label(app: App) -> None:
    id = create(app, folder="/a")
    changed = run(app, "update_folder", conversation_id=id, folder="/b/c")
    assert (changed["label"], changed["folder"]) == ("Parser", "/b/c")


def test_a_pinned_conversation_has_the_highest_importance(app: App) -> None:
    id = create(app)
    run(app, "pin_conversation", conversation_id=id)
    read = run(app, "get_conversation", conversation_id=id)
    assert (read["pinned"], read["importance_score"]) == (True, 10)


def test_an_archived_conversation_is_archived_in_core(app: App) -> None:
    id = create(app)
    run(app, "archive_conversation", conversation_id=id)
    assert core(app, id)["status"] == "archived"


def test_a_deleted_conversation_is_gone_and_can_be_restored(app: App) -> None:
    id = create(app)
    run(app, "delete_conversation", conversation_id=id)
    assert refused(app, "get_conversation", conversation_id=id)[0] == 404
    app.registry.run("restore", {"id": id}, Call(ME, app.engine))
    assert run(app, "get_conversation", conversation_id=id)["label"] == "Parser"


@pytest.mark.parametrize(
    ("route", "arguments"),
    [
        ("get_conversation", {}),
        ("update_label", {"label": "x"}),
        ("update_folder", {"folder": "/x"}),
        ("pin_conversation", {}),
        ("archive_conversation", {}),
        ("delete_conversation", {}),
        ("summarize", {}),
        ("suggest_labels", {}),
        ("memory_get_context", {}),
        ("memory_update", {"label": "x"}),
    ],
)
def test_an_unknown_conversation_is_not_found(
    app: App, route: str, arguments: dict[str, str]
) -> None:
    status, error = refused(app, route, conversation_id=NOBODY, **arguments)
    assert status == 404
    assert NOBODY in error


def test_a_list_is_narrowed_by_each_filter(app: App) -> None:
    create(app, "A", folder="/x/y")
    pinned = create(app, "B", folder="/z")
    archived = create(app, "C", folder="/x")
    run(app, "pin_conversation", conversation_id=pinned)
    run(app, "archive_conversation", conversation_id=archived)
    assert labels(run(app, "list_conversations")) == {"A", "B", "C"}
    assert labels(run(app, "list_conversations", label="A")) == {"A"}
    assert labels(run(app, "list_conversations", folder="/x")) == {"A", "C"}
    assert labels(run(app, "list_conversations", pinned=True)) == {"B"}
    assert labels(run(app, "list_conversations", pinned=False)) == {"A", "C"}
    assert labels(run(app, "list_conversations", archived=True)) == {"C"}
    assert labels(run(app, "list_conversations", archived=False)) == {"A", "B"}


def test_pages_of_a_list_neither_overlap_nor_skip(app: App) -> None:
    for label in "ABC":
        create(app, label)
    pages = [run(app, "list_conversations", page=page, page_size=2) for page in (1, 2)]
    assert [len(page["results"]) for page in pages] == [2, 1]
    assert labels(pages[0]) | labels(pages[1]) == {"A", "B", "C"}
    assert {page["total"] for page in pages} == {3}


def test_conversations_are_counted_by_label_and_folder(app: App) -> None:
    create(app, "A", folder="/x")
    create(app, "A", folder="/y")
    create(app, "B", folder="/x")
    assert run(app, "count_conversations")["count"] == 3
    assert run(app, "count_conversations", label="A")["count"] == 2
    assert run(app, "count_conversations", label="A", folder="/x")["count"] == 1


# Searches


@pytest.mark.parametrize(
    "filters",
    [
        {"labels": ["A", "nobody"]},
        {"label": "A"},
        {"folders": ["/x", "/nowhere"]},
        {"folder": "/x"},
    ],
)
def test_a_search_is_narrowed_by_filters(app: App, filters: dict[str, Any]) -> None:
    create(app, "A", "The zebra sleeps.", folder="/x/y")
    create(app, "B", "The zebra eats.", folder="/z")
    assert labels(run(app, "query_messages", query="zebra", filters=filters)) == {"A"}
    assert labels(run(app, "search_memory", query="zebra", filters=filters)) == {"A"}


def test_a_folder_that_nobody_has_finds_nothing(app: App) -> None:
    create(app, "A", "The zebra sleeps.")
    found = run(app, "query_messages", query="zebra", filters={"folders": ["/nowhere"]})
    assert found["results"] == []


def test_dates_narrow_a_search(app: App) -> None:
    for day in ("01", "09"):
        message = {
            "role": "user",
            "content": "The zebra sleeps.",
            "timestamp": f"2026-03-{day}T12:00:00Z",
        }
        run(app, "create_conversation", label=day, messages=[message])
    late = run(app, "query_messages", query="zebra", filters={"start_date": "2026-03-05"})
    early = run(app, "query_messages", query="zebra", filters={"end_date": "2026-03-05"})
    assert (labels(late), labels(early)) == ({"09"}, {"01"})


def test_limit_and_offset_choose_a_page_of_hits(app: App) -> None:
    for label in "ABC":
        create(app, label, f"The zebra {label} sleeps.")
    pages = [run(app, "query_messages", query="zebra", limit=2, offset=n) for n in (0, 2)]
    assert [len(page["results"]) for page in pages] == [2, 1]
    assert [page["page"] for page in pages] == [1, 2]


def test_a_search_by_words_finds_what_has_them(app: App) -> None:
    create(app, "A", "The zebra sleeps.")
    create(app, "B", "The lion wakes.")
    assert labels(run(app, "full_text_search", query="zebra", limit=1)) == {"A"}


def test_a_search_may_be_one_object_as_the_readme_has_it(app: App) -> None:
    create(app, "technical", "The zebra sleeps.")
    create(app, "other", "The zebra eats.")
    wanted = {"query": "zebra", "limit": 5, "labels": ["technical"]}
    assert labels(run(app, "search_memory", query=wanted)) == {"technical"}


def test_a_context_keeps_to_its_budget_and_its_folders(app: App) -> None:
    show_everything(app)
    create(app, "A", "The zebra sleeps at night.", folder="/a")
    create(app, "B", "The zebra eats at noon.", folder="/b")
    whole = run(app, "assemble_context", query="zebra")
    assert set(whole["labels"]) == {"A", "B"}
    small = run(app, "assemble_context", query="zebra", context_budget=8)
    assert len(small["messages"]) == 1
    assert small["token_count"] <= 8
    outside = run(app, "assemble_context", query="zebra", excluded_folders=["/a"])
    assert outside["labels"] == ["B"]


def test_preferred_labels_come_first_in_a_context(app: App) -> None:
    show_everything(app)
    create(app, "A", "Zebra zebra zebra.")
    create(app, "B", "The zebra eats grass at noon, and a lion looks on.")
    preferred = run(app, "assemble_context", query="zebra", preferred_labels=["B"])
    assert preferred["labels"] == ["B", "A"]


def test_figures_are_of_the_conversations_that_pass(app: App) -> None:
    create(app, "A", "One.", "Two.", folder="/x", importance_score=4)
    create(app, "B", "Three.", folder="/y", importance_score=8)
    figures = run(app, "memory_figures")
    assert (figures["total_conversations"], figures["total_messages"]) == (2, 3)
    assert (figures["labels"], figures["folders"]) == ({"A": 1, "B": 1}, {"/x": 1, "/y": 1})
    assert (figures["total_tokens"], figures["average_importance"]) == (4, 6.0)
    assert run(app, "memory_figures", filters={"labels": ["A"]})["total_messages"] == 2
    past = run(app, "memory_figures", filters={"end_date": "2020-01-01"})
    assert past["total_conversations"] == 0


def test_paths_of_folders_are_read_once_however_many_folders_there_are(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        create(app, folder=f"/folder {number}")
    read: list[str] = []

    def counted(path: str) -> str:
        read.append(path)
        return folder_path(path)

    monkeypatch.setattr(rest_arguments, "folder_path", counted)
    excluded = [f"/nothing {number}" for number in range(30)]
    run(app, "assemble_context", query="parser", excluded_folders=excluded)
    assert read == excluded


@pytest.mark.parametrize(
    ("folder", "path", "is_inside"),
    [
        ("/a/b", "/", True),
        ("/a/b", "/a", True),
        ("/a/b", "/a/b", True),
        ("/a/b", "/a/b/c", False),
        ("/ab", "/a", False),
        ("notes", "/", True),
    ],
)
def test_a_folder_lies_below_itself_and_what_leads_to_it(
    folder: str, path: str, is_inside: bool
) -> None:
    assert rest_arguments.is_below(folder, {path, "/elsewhere"}) is is_inside


def test_stats_are_in_the_envelope_and_of_a_folder(app: App) -> None:
    create(app, "A", folder="/x")
    create(app, "B", folder="/y")
    assert run(app, "get_stats")["data"]["folders"] == ["/x", "/y"]
    assert run(app, "get_stats", folder="/x")["data"]["total_conversations"] == 1


# What a reader of texts says


def test_a_summary_names_its_writer_and_its_level_the_days(app: App) -> None:
    messages = [
        {"role": "user", "content": text, "timestamp": f"2026-03-{day}T12:00:00Z"}
        for day, text in (
            ("01", "We chose the red paint for the gate."),
            ("20", "The gate opens at nine."),
            ("26", "The hinges of the gate were oiled."),
            ("27", "The gate was painted red."),
        )
    ]
    id = run(app, "create_conversation", label="Gate", messages=messages)["id"]
    counts = [
        run(app, "summarize", conversation_id=id, level=level)["message_count"]
        for level in ("daily", "weekly", "monthly")
    ]
    assert counts == [1, 2, 4]
    assert run(app, "summarize", conversation_id=id)["generated_by"] == "built-in"


def test_labels_are_suggested_from_the_text_and_from_known_ones(app: App) -> None:
    create(app, "zebra")
    id = create(app, "Conversation", "The zebra crosses the savanna. The savanna is dry.")
    answer = run(app, "suggest_labels", conversation_id=id)
    known = {entry["label"]: entry["is_existing"] for entry in answer["suggestions"]}
    assert (known["zebra"], known["savanna"]) == (True, False)
    assert answer["top_suggestion"] == answer["suggestions"][0]
    assert answer["suggested_by"] == "built-in"


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("Fine.", 5.0),
        ("Is it fine?", 5.5),
        ("An urgent decision.", 7.0),
        ("```x = 1```", 7.0),
        ("so it is " * 20, 6.0),
        ("urgent " * 9, 10.0),
    ],
)
def test_a_message_is_scored_by_rules(app: App, text: str, score: float) -> None:
    id = create(app, "A", text)
    answer = run(app, "score_message", message_id=f"{id}#0")
    assert (answer["importance_score"], answer["scored_by"]) == (score, "built-in")


@pytest.mark.parametrize("suffix", ["#1", "#x", "", "#-1", "#" + "9" * 5000])
def test_a_message_that_is_not_there_is_not_found(app: App, suffix: str) -> None:
    assert refused(app, "score_message", message_id=create(app) + suffix)[0] == 404


# Upkeep


def test_a_dry_run_recommends_and_changes_nothing(app: App) -> None:
    create(app, "minor", importance_score=2)
    create(app, "major", importance_score=8)
    report = run(app, "prune_dry_run", threshold_days=0)
    advice = {entry["label"]: entry["recommendation"] for entry in report["suggestions"]}
    assert advice == {"minor": "archive", "major": "keep"}
    assert (report["recommended_archive"], report["recommended_keep"]) == (1, 1)
    assert run(app, "prune_dry_run", threshold_days=1)["suggestions"] == []
    assert run(app, "list_conversations", archived=True)["total"] == 0


def test_pruning_archives_all_or_none(app: App) -> None:
    one = create(app)
    two = create(app)
    status, error = refused(app, "prune_execute", conversation_ids=[one, NOBODY])
    assert (status, NOBODY in error) == (404, True)
    assert core(app, one)["status"] == "active"
    assert run(app, "prune_execute", conversation_ids=[one, two])["archived"] == 2
    assert core(app, two)["status"] == "archived"


def test_an_export_has_what_the_filters_choose_in_either_format(app: App) -> None:
    create(app, "A", "The zebra sleeps.", folder="/x")
    create(app, "B", "The lion wakes.", folder="/y")
    markdown = run(app, "export_conversations", folder="/x")
    assert markdown["conversation_count"] == 1
    assert str(markdown["content"]).startswith("# A\n")
    assert "The zebra sleeps." in str(markdown["content"])
    found = run(app, "export_conversations", label="B", format="json")
    records = json.loads(str(found["content"]))
    assert [record["messages"][0]["content"] for record in records] == ["The lion wakes."]
    none = run(app, "export_conversations", label="None", format="json")
    assert json.loads(str(none["content"])) == []
    assert str(run(app, "export_conversations", label="None")["content"]) == ""


def test_an_export_is_made_while_it_is_sent(app: App) -> None:
    labels = [f"Talk {number}" for number in range(EXPORT_BATCH + 3)]
    for label in labels:
        create(app, label, "Hello.")
    pieces = run(app, "export_conversations", format="json")["content"].pieces()
    first = next(pieces)
    # What is gone before its turn comes is left out.
    oldest = app.engine.reading.list_all(ME, Filter(kinds=("conversation",)))[-1]
    app.engine.writing.forget(ME, oldest.id)
    records = json.loads(first + "".join(pieces))
    assert [record["label"] for record in records] == labels[:0:-1]


def test_an_export_over_http_is_one_json_object(tmp_path: Path) -> None:
    odd = 'A "quoted" text,\nwith \\ and Köln 漢 \u2028'
    with thread(tmp_path) as served:
        for number in range(3):
            body = {"label": f"L{number}", "messages": [{"role": "user", "content": odd}]}
            served.ask("POST", "/sekha/api/v1/conversations", served.admin, body)
        answer = served.ask("GET", "/sekha/api/v1/export?format=json", served.admin)
    exported = answer.json()
    assert answer.headers["content-type"] == "application/json"
    assert (exported["format"], exported["conversation_count"]) == ("json", 3)
    records = json.loads(exported["content"])
    assert [record["messages"][0]["content"] for record in records] == [odd] * 3


def test_a_key_that_only_reads_cannot_send_texts_to_a_model(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": "Hello"}]}
    with thread(tmp_path) as served:
        answers = {
            scope: served.ask(
                "POST", "/sekha/v1/chat/completions", served.key("k", "local", scope), body
            )
            for scope in ("read", "write")
        }
    assert answers["read"].status_code == 403
    assert answers["write"].status_code == 200


def test_vectors_that_are_missing_are_made(smart: App) -> None:
    create(smart)
    assert smart.engine.maintenance.outbox_counts("local")["pending"] > 0
    assert run(smart, "rebuild_embeddings")["status"] == "completed"
    assert smart.engine.maintenance.outbox_counts("local")["pending"] == 0


# The bridge


def test_a_reply_without_a_model_quotes_what_was_said_and_says_so(app: App) -> None:
    messages = [
        {"role": "system", "content": "The parser is written in Rust. It rains today."},
        {"role": "user", "content": "What is the parser written in?"},
    ]
    reply = run(app, "complete", messages=messages, model="gpt-4")
    content = reply["choices"][0]["message"]["content"]
    assert "The parser is written in Rust." in content
    assert "rains" not in content
    assert reply["model"] == "built-in"
    assert reply["warnings"] == ["The model 'gpt-4' is not set up here; answered by built-in."]


def test_a_reply_is_as_long_as_it_may_be(app: App) -> None:
    messages = [{"role": "user", "content": "What is the parser written in?"}]
    reply = run(app, "complete", messages=messages, max_tokens=4)
    assert reply["usage"]["completion_tokens"] <= 4


def test_a_text_becomes_a_vector_of_the_model_that_searches_use(smart: App) -> None:
    answer = run(smart, "embed", text="The zebra sleeps.", model="nomic-embed-text")
    assert len(answer["embedding"]) == answer["dimension"]
    assert sum(number * number for number in answer["embedding"]) == pytest.approx(1, abs=1e-3)
    assert "nomic-embed-text" in answer["warnings"][0]


def test_without_a_model_there_are_no_vectors(app: App) -> None:
    assert refused(app, "embed", text="The zebra sleeps.")[0] == 503


def test_a_streamed_reply_is_the_same_in_pieces(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": "Hello"}], "stream": True}
    with thread(tmp_path) as served:
        answer = served.ask("POST", "/sekha/v1/chat/completions", served.admin, body)
        whole = served.ask(
            "POST", "/sekha/v1/chat/completions", served.admin, {**body, "stream": False}
        )
    assert answer.headers["content-type"].startswith("text/event-stream")
    *events, end = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    pieces = [json.loads(event)["choices"][0]["delta"].get("content", "") for event in events]
    assert end == "[DONE]"
    assert "".join(pieces) == whole.json()["choices"][0]["message"]["content"]


# The server, and the tools as Sekha's MCP server wants them


def test_the_tools_are_sent_as_a_list(tmp_path: Path) -> None:
    with thread(tmp_path) as served:
        tools = served.ask("GET", "/sekha/api/v1/mcp/tools", served.admin).json()
    assert [tool["name"] for tool in tools][:2] == ["memory_store", "memory_search"]


def test_the_routes_answer_without_the_prefix_too(tmp_path: Path) -> None:
    with thread(tmp_path) as served:
        assert served.ask("GET", "/api/v1/conversations/count", served.admin).json()["count"] == 0
        assert served.ask("GET", "/version", served.admin).json()["name"] == "memolith"


def test_a_stored_conversation_tells_how_many_messages_it_has(app: App) -> None:
    message: dict[str, Any] = {"role": "user", "content": "One.", "timestamp": None, "metadata": {}}
    data = run(
        app, "memory_store", label="A", folder="/x", messages=[message] * 2, importance_score=2.5
    )["data"]
    assert data["message_count"] == 2
    assert core(app, data["conversation_id"])["metadata"]["importance_score"] == 2.5


def test_a_search_of_the_wrapper_takes_labels_and_gives_similarities(app: App) -> None:
    create(app, "A", "The zebra sleeps.")
    create(app, "B", "The zebra eats.")
    data = run(app, "memory_search", query="zebra", filter_labels=["B"], limit=5)["data"]
    assert [(hit["label"], hit["similarity"] > 0) for hit in data["results"]] == [("B", True)]


def test_an_update_of_the_wrapper_names_each_changed_field(app: App) -> None:
    id = create(app)
    data = run(
        app, "memory_update", conversation_id=id, label="B", folder="/x", importance_score=3.0
    )["data"]
    assert data["updated_fields"] == ["label", "folder", "importance_score"]
    assert (core(app, id)["title"], core(app, id)["metadata"]["importance_score"]) == ("B", 3)


def test_an_update_of_the_wrapper_without_a_change_is_refused(app: App) -> None:
    assert refused(app, "memory_update", conversation_id=create(app)) == (
        400,
        "Say what to change: label, folder or importance_score.",
    )


def test_a_context_of_the_wrapper_has_the_messages(app: App) -> None:
    data = run(app, "memory_get_context", conversation_id=create(app, "A", "One.", "Two."))["data"]
    assert [message["content"] for message in data["messages"]] == ["One.", "Two."]


def test_a_suggestion_of_the_wrapper_has_an_age_and_a_reason(app: App) -> None:
    create(app, "minor", importance_score=2)
    create(app, "major", importance_score=8)
    data = run(app, "memory_prune", threshold_days=0)["data"]
    assert [(entry["label"], entry["age_days"]) for entry in data["suggestions"]] == [("minor", 0)]
    assert "importance is 2 of 10" in data["suggestions"][0]["reason"]
    both = run(app, "memory_prune", threshold_days=0, importance_threshold=9)["data"]
    assert both["total_suggestions"] == 2


# All routes

MESSAGES = [{"role": "user", "content": "The gate opens."}]
READS: dict[str, dict[str, Any]] = {
    "assemble_context": {"query": "gate"},
    "complete": {"messages": MESSAGES},
    "count_conversations": {},
    "embed": {"text": "The gate opens."},
    "export_conversations": {},
    "full_text_search": {"query": "gate"},
    "get_conversation": {"conversation_id": "ID"},
    "get_stats": {},
    "get_version": {},
    "list_conversations": {},
    "list_mcp_tools": {},
    "memory_figures": {},
    "memory_get_context": {"conversation_id": "ID"},
    "memory_prune": {},
    "memory_search": {"query": "gate"},
    "prune_dry_run": {},
    "query_messages": {"query": "gate"},
    "score_message": {"message_id": "ID#0"},
    "search_memory": {"query": "gate"},
    "suggest_labels": {"conversation_id": "ID"},
    "summarize": {"conversation_id": "ID"},
}


def test_routes_that_read_leave_the_log_as_long_as_it_was(smart: App) -> None:
    assert {tool.name for tool in ROUTES.tools if tool.read_only} == READS.keys()
    id = create(smart)
    before = smart.engine.maintenance.event_count("local")
    for route, arguments in READS.items():
        named = json.loads(json.dumps(arguments).replace("ID", id))
        run(smart, route, **named)
        assert smart.engine.maintenance.event_count("local") == before, route
