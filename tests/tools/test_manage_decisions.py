"""Pairs that wait for a decision: which are listed, what a decision does, and how it is undone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.callers import SCOPES, Caller
from memolith.domain.items import Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.engine import decisions
from memolith.tools.call import Call
from tests.checked import body_of
from tests.conftest import ME, note
from tests.stores import dump, each_store

pytestmark = each_store
OLD = "The public API allows 600 requests per minute."
NEW = "The public API allows 900 requests per minute."
TEA = "Maria drinks green tea in the morning and reads the paper on her small balcony."
TEA_AGAIN = "Maria drinks green tea in the morning and reads the paper on her small sunny balcony."
BOB = replace(ME, user="bob")


def run(app: App, tool: str, caller: Caller = ME, /, **arguments: Any) -> Any:
    outcome = app.registry.run(tool, arguments, Call(caller, app.engine, scopes=SCOPES))
    assert outcome.ok, outcome.body
    return body_of(outcome)


def refused(app: App, tool: str, caller: Caller = ME, /, **arguments: Any) -> Any:
    outcome = app.registry.run(tool, arguments, Call(caller, app.engine, scopes=SCOPES))
    assert not outcome.ok
    return body_of(outcome)


def listed(app: App, caller: Caller = ME, **arguments: Any) -> list[tuple[str, str, str]]:
    """The pairs that wait: the kind, the older and the newer item."""
    pairs = run(app, "list_decisions", caller, **arguments)["pairs"]
    return [(pair["kind"], pair["first"]["id"], pair["second"]["id"]) for pair in pairs]


def remember(app: App, **texts: str) -> None:
    for id, text in texts.items():
        app.engine.writing.remember(ME, note(text, id=id))


def present(app: App) -> set[str]:
    """The ids of all items that are not forgotten."""
    return {item.id for item in app.engine.reading.list_items(ME, Filter()).items}


def decide(app: App, outcome: str, *pairs: tuple[str, str]) -> Any:
    named = [{"first": first, "second": second} for first, second in pairs]
    return run(app, "decide", pairs=named, outcome=outcome)


@pytest.fixture
def tea(app: App) -> App:
    """Two memories that say the same."""
    remember(app, a=TEA, b=TEA_AGAIN)
    return app


@pytest.fixture
def limit(smart: App) -> App:
    """Two memories, of which the newer one contradicts the older one."""
    remember(smart, old=OLD, new=NEW)
    smart.embeddings.embed_waiting()
    return smart


def test_near_copies_wait_as_soon_as_they_are_written(tea: App) -> None:
    (pair,) = run(tea, "list_decisions")["pairs"]
    assert pair["kind"] == "duplicate"
    assert 0.6 <= pair["similarity"] < 1
    assert "nearly the same words" in pair["reason"]
    assert (pair["first"]["excerpt"], pair["second"]["excerpt"]) == (TEA, TEA_AGAIN)
    assert pair["first"]["created_at"] < pair["second"]["created_at"]
    assert (pair["first"]["version"], pair["first"]["cut"]) == (1, False)


def test_the_same_words_are_told_apart_from_nearly_the_same(app: App) -> None:
    remember(app, a=TEA, b=TEA.upper())
    (pair,) = run(app, "list_decisions")["pairs"]
    assert (pair["similarity"], pair["reason"]) == (1.0, "Both have the same words.")


def test_a_contradiction_waits_with_what_differs(limit: App) -> None:
    (pair,) = run(limit, "list_decisions")["pairs"]
    assert (pair["kind"], pair["first"]["id"], pair["second"]["id"]) == (
        "contradiction",
        "old",
        "new",
    )
    assert pair["reason"] == "number: 600 requests became 900 requests"
    assert 0.3 < pair["similarity"] <= 1


def test_copies_that_differ_in_a_number_are_no_duplicates(app: App) -> None:
    remember(app, a=OLD, b=NEW)
    assert listed(app) == []


def test_what_is_imported_or_revised_is_compared_when_it_gets_its_vector(smart: App) -> None:
    remember(smart, a=TEA, b="Something else entirely.")
    smart.engine.writing.revise(ME, "b", Patch(blocks=(Block(TEA_AGAIN),)))
    smart.embeddings.embed_waiting()
    assert listed(smart) == [("duplicate", "a", "b")]
    smart.engine.writing.revise(ME, "a", Patch(blocks=(Block("Maria is away."),)))
    assert listed(smart) == []


def test_a_text_that_stands_there_often_makes_few_pairs(app: App) -> None:
    remember(app, **{f"copy{number}": TEA for number in range(10)})
    assert run(app, "list_decisions", limit=100)["total"] <= 3 * 10


def test_pages_and_kinds_are_chosen(limit: App) -> None:
    remember(limit, a=TEA, b=TEA_AGAIN)
    everything = [("duplicate", "a", "b"), ("contradiction", "old", "new")]
    assert listed(limit) == everything
    assert listed(limit, kind="duplicate") == everything[:1]
    assert listed(limit, kind="contradiction") == everything[1:]
    assert listed(limit, limit=1) == everything[:1]
    assert listed(limit, offset=1) == everything[1:]
    assert run(limit, "list_decisions", limit=1)["total"] == 2


def test_counting_ends_somewhere_and_says_so(tea: App, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(tea, c="The cellar key hangs by the door.", d="The cellar key hangs by the door.")
    monkeypatch.setattr(decisions, "MAX_COUNTED", 1)
    page = run(tea, "list_decisions")
    assert page["total"] == 1
    assert "more pairs" in page["warnings"][0]


def test_a_long_text_is_cut(app: App) -> None:
    long = "The otter swims. " * 200
    remember(app, a=long, b=long)
    (pair,) = run(app, "list_decisions")["pairs"]
    assert pair["first"]["cut"]
    assert len(pair["first"]["excerpt"]) == 2000


def test_others_see_no_pair_of_mine(tea: App) -> None:
    assert listed(tea, BOB) == []
    body = refused(tea, "decide", BOB, pairs=[{"first": "a", "second": "b"}], outcome="keep_first")
    assert "There is no item" in str(body)


def test_a_pair_of_items_that_different_people_see_does_not_wait(app: App) -> None:
    remember(app, a=TEA)
    app.engine.writing.remember(BOB, note(TEA, id="b"))
    assert listed(app) == []
    assert listed(app, replace(ME, admin=True)) == []


@pytest.mark.parametrize(("outcome", "gone"), [("keep_first", "b"), ("keep_second", "a")])
def test_one_is_kept_and_the_other_forgotten_until_it_is_undone(
    tea: App, outcome: str, gone: str
) -> None:
    done = decide(tea, outcome, ("a", "b"))
    assert done["outcome"] == outcome
    (event,) = done["events"]
    assert done["decided"] == [{"first": "a", "second": "b", "events": [event]}]
    assert listed(tea) == []
    assert present(tea) == {"a", "b"} - {gone}
    (*_, last) = tea.engine.history.events(ME, gone)
    assert last.data["kept"] != gone
    run(tea, "undo_event", event=event)
    assert listed(tea) == [("duplicate", "a", "b")]


def test_both_are_kept_and_the_pair_does_not_come_back_until_it_is_undone(limit: App) -> None:
    assert run(limit, "recall", query="requests per minute", limit=2)["hits"][-1].get(
        "superseded_by"
    )
    done = decide(limit, "keep_both", ("old", "new"))
    assert listed(limit) == []
    hits = run(limit, "recall", query="requests per minute")["hits"]
    assert len(hits) == 2
    assert not any("superseded_by" in hit for hit in hits), "neither replaces the other"
    run(limit, "undo_events", events=done["events"])
    assert listed(limit) == [("contradiction", "old", "new")]


def test_two_become_one_that_stands_for_both_until_it_is_undone(tea: App) -> None:
    before = present(tea)
    done = decide(tea, "merge", ("a", "b"))
    (pair,) = done["decided"]
    merged, blocks = tea.engine.reading.read(ME, pair["merged"])
    assert "green tea" in blocks[0].text
    assert merged.kind == "memory"
    assert present(tea) == {pair["merged"]}
    assert listed(tea) == []
    run(tea, "undo_events", events=done["events"])
    assert listed(tea) == [("duplicate", "a", "b")]
    assert present(tea) == before


def test_the_title_of_two_that_become_one_stays(app: App) -> None:
    for id in ("a", "b"):
        app.engine.writing.remember(ME, note(TEA, id=id, title="Tea"))
    (pair,) = decide(app, "merge", ("a", "b"))["decided"]
    merged, _ = app.engine.reading.read(ME, pair["merged"])
    assert merged.title == "Tea"


def test_two_that_contradict_each_other_are_not_made_one(app: App) -> None:
    remember(app, old=OLD, new=NEW)
    body = refused(app, "decide", pairs=[{"first": "old", "second": "new"}], outcome="merge")
    assert "contradict each other" in str(body)
    assert present(app) == {"old", "new"}


def test_only_memories_are_merged(app: App) -> None:
    for id in ("a", "b"):
        app.engine.writing.remember(ME, note(TEA, id=id, kind="concept", title=f"Tea {id}"))
    body = refused(app, "decide", pairs=[{"first": "a", "second": "b"}], outcome="merge")
    assert "Only memories can be merged" in str(body)


def test_several_pairs_are_decided_at_once_and_undone_at_once(tea: App) -> None:
    remember(tea, c="The cellar key hangs by the door.", d="The cellar key hangs by the door!")
    before = listed(tea)
    assert len(before) == 2
    done = decide(tea, "keep_second", ("a", "b"), ("c", "d"))
    assert len(done["events"]) == 2
    assert listed(tea) == []
    undone = run(tea, "undo_events", events=done["events"])
    assert undone["undone"] == sorted(done["events"], reverse=True)
    assert listed(tea) == before


def test_the_last_copy_of_a_text_is_never_forgotten(app: App) -> None:
    remember(app, a=TEA, b=TEA, c=TEA)
    done = decide(app, "keep_first", ("a", "b"), ("b", "c"), ("a", "c"))
    assert done["skipped"] == [{"first": "b", "second": "c"}]
    assert present(app) == {"a"}


def test_a_memory_in_two_pairs_is_merged_once(app: App) -> None:
    remember(app, a=TEA, b=TEA, c=TEA)
    done = decide(app, "merge", ("a", "b"), ("b", "c"))
    assert [pair["first"] for pair in done["decided"]] == ["a"]
    assert done["skipped"] == [{"first": "b", "second": "c"}]


def test_any_two_items_can_be_decided(app: App) -> None:
    remember(app, a="Otters hold hands.", b="The cellar key hangs by the door.")
    assert decide(app, "keep_first", ("a", "b"))["events"]


def test_all_or_none_is_decided(tea: App) -> None:
    before = dump(tea.store)
    pairs = [{"first": "a", "second": "b"}, {"first": "a", "second": "nothing"}]
    assert "nothing" in str(refused(tea, "decide", pairs=pairs, outcome="keep_first"))
    assert dump(tea.store) == before


def test_a_pair_has_two_items(tea: App) -> None:
    body = refused(tea, "decide", pairs=[{"first": "a", "second": "a"}], outcome="keep_both")
    assert "two different items" in str(body)


def test_events_are_undone_all_or_none(tea: App) -> None:
    (event,) = decide(tea, "keep_first", ("a", "b"))["events"]
    before = dump(tea.store)
    refused(tea, "undo_events", events=[event, 999])
    assert dump(tea.store) == before


@pytest.mark.parametrize("id", ["a", "b"])
def test_a_pair_goes_with_either_item(tea: App, id: str) -> None:
    tea.engine.writing.forget(ME, id)
    assert listed(tea) == []
    tea.engine.writing.restore(ME, id)
    assert listed(tea) == [("duplicate", "a", "b")]
    tea.engine.writing.erase(ME, id)
    assert listed(tea) == []


def test_what_was_archived_does_not_wait(tea: App) -> None:
    tea.engine.writing.revise(ME, "a", Patch(status="archived"))
    assert listed(tea) == []
