"""The tools of OpenMemory, on the same memories as all others."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from memolith.bootstrap import App
from memolith.domain.callers import Audience, Caller
from memolith.engine.usage import Client
from memolith.tools.call import Call
from memolith.tools.registry import Outcome
from tests.checked import body_of, error_of
from tests.conftest import ME, note
from tests.stores import each_store

pytestmark = each_store


def attempt(app: App, tool: str, caller: Caller = ME, **arguments: Any) -> Outcome:
    call = Call(caller, app.engine, client=Client("key", "cursor"))
    return app.registry.choose("openmemory").run(tool, arguments, call)


def ask(app: App, tool: str, caller: Caller = ME, **arguments: Any) -> Any:
    """What a model reads."""
    outcome = attempt(app, tool, caller, **arguments)
    assert outcome.ok, outcome.body
    assert body_of(outcome) == {"result": outcome.text}
    return outcome.text


def listed(app: App, caller: Caller = ME) -> list[str]:
    return [memory["memory"] for memory in json.loads(ask(app, "list_memories", caller))]


def test_facts_are_added_and_questions_are_not(app: App) -> None:
    answer = json.loads(ask(app, "add_memories", text="I keep bees. What do you keep?"))
    assert [result["memory"] for result in answer["results"]] == ["I keep bees."]


def test_a_text_is_kept_as_it_is_without_infer(app: App) -> None:
    ask(app, "add_memories", text="Why bees?", infer=False)
    assert listed(app) == ["Why bees?"]


def test_a_memory_knows_its_user_and_the_client(app: App) -> None:
    answer = json.loads(ask(app, "add_memories", text="I keep bees."))
    item, _ = app.engine.reading.read(ME, answer["results"][0]["id"])
    assert item.attributes["user_id"] == ME.user
    assert item.attributes["mcp_client"] == "cursor"


def test_a_search_finds_what_any_family_wrote(app: App) -> None:
    id = app.engine.writing.remember(ME, note("Bees live on the roof.")).item.id
    (found,) = json.loads(ask(app, "search_memory", query="bees"))["results"]
    assert (found["id"], found["memory"]) == (id, "Bees live on the roof.")
    assert 0 < found["score"] <= 1


def test_the_newest_memory_is_listed_first(app: App) -> None:
    for text in ("I keep bees.", "I sell honey."):
        ask(app, "add_memories", text=text)
    assert listed(app) == ["I sell honey.", "I keep bees."]


def test_memories_are_deleted_by_their_ids(app: App) -> None:
    ids = [app.engine.writing.remember(ME, note(text)).item.id for text in ("One.", "Two.")]
    answer = ask(app, "delete_memories", memory_ids=[ids[0], "nothing"])
    assert answer == "Successfully deleted 1 memories"
    assert listed(app) == ["Two."]


def test_ids_that_nobody_knows_are_refused(app: App) -> None:
    outcome = attempt(app, "delete_memories", memory_ids=["nothing"])
    assert error_of(outcome).field == "memory_ids"
    assert outcome.text == "No accessible memories found with provided IDs"


def test_all_means_the_own_memories_alone(app: App) -> None:
    other = replace(ME, user="other")
    app.engine.writing.remember(other, note("Shared.", audience=Audience.ORG))
    app.engine.writing.remember(ME, note("Mine."))
    ask(app, "delete_all_memories")
    assert listed(app) == []
    assert listed(app, other) == ["Shared."]


def test_what_was_deleted_can_be_restored(app: App) -> None:
    id = app.engine.writing.remember(ME, note("Mine.")).item.id
    ask(app, "delete_all_memories")
    app.engine.writing.restore(ME, id)
    assert listed(app) == ["Mine."]


def test_more_facts_than_are_kept_at_once_are_refused_and_leave_no_trace(app: App) -> None:
    text = " ".join(f"Zebra number {number} lives in the north." for number in range(501))
    outcome = attempt(app, "add_memories", text=text)
    assert "in parts" in error_of(outcome).message
    assert listed(app) == []
