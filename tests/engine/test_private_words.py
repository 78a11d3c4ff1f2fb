"""What others keep for themselves leaves no trace in the scores of a search."""

from collections.abc import Sequence
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Query
from memolith.errors import NotFound
from memolith.ports.text_index import Statistics
from tests.conftest import note
from tests.stores import each_store

pytestmark = each_store
ANN = Caller("acme", "ann", "atlas")
BOB = Caller("acme", "bob", "budget")
WORD = "walrusque"
STEM = "walrusqu"


def fill(app: App) -> None:
    """What Ann sees: something of hers, of the tenant and of her project, with and without words."""
    write = app.engine.writing.remember
    write(ANN, note("The zebra sleeps in the shade of the old tree.", title="Zebras"))
    write(ANN, note(f"A {WORD} is a kind of walrus with a question."))
    write(BOB, note("The zebra and the okapi share one fence.", audience=Audience.ORG))
    write(BOB, note("No animals here, only numbers and sums.", audience=Audience.ORG))
    zoe = Caller("acme", "zoe", "atlas")
    write(zoe, note("Zoe's okapi.", audience=Audience.PROJECT, project="atlas"))


def keep_private(app: App) -> None:
    """What Ann does not see: it holds every word that she asks for, and more."""
    write = app.engine.writing.remember
    for number in range(5):
        write(BOB, note(f"The {WORD} zebra okapi number {number} " + "and so on " * number))
    write(BOB, note(f"{WORD} zebra", audience=Audience.PROJECT, project="budget"))
    talk = (Block(f"I am {WORD}.", speaker="Morgan"), Block("Yes, Morgan.", speaker="Zebra"))
    write(BOB, Draft("conversation", "talk", talk))


def answers(app: App, caller: Caller, mode: str) -> Sequence[Any]:
    """All that a search tells, for some questions."""
    told = []
    for text in (
        WORD,
        f"zebra {WORD}",
        "okapi fence",
        "unknown zebra",
        "what did Morgan say of the zebra",
        "numbers",
    ):
        found = app.engine.recall.search(caller, Query(text, mode=mode))
        hits = [(hit.item.title, hit.passage.text, hit.score, hit.reasons) for hit in found.hits]
        told.append((text, hits, found.total, found.warnings))
    return told


@pytest.mark.parametrize("mode", ["text", "hybrid"])
def test_the_scores_are_the_same_whatever_others_keep_for_themselves(app: App, mode: str) -> None:
    fill(app)
    before = answers(app, ANN, mode)
    assert any(hits for _, hits, _, _ in before)
    keep_private(app)
    assert answers(app, ANN, mode) == before
    # Whoever sees it gets other scores, so there was something to tell.
    assert answers(app, BOB, mode) != before


def test_with_a_model_the_scores_are_the_same_too(smart: App) -> None:
    fill(smart)
    smart.embeddings.embed_waiting()
    before = answers(smart, ANN, "hybrid")
    keep_private(smart)
    smart.embeddings.embed_waiting()
    assert answers(smart, ANN, "hybrid") == before


def test_who_sees_all_of_a_tenant_has_its_statistics(app: App) -> None:
    words = ["zebra", "okapi", "nothing"]
    app.engine.writing.remember(ANN, note("The zebra and the okapi."))
    app.engine.writing.remember(ANN, note("The zebra."))
    with app.store.reading("acme") as rows:
        assert rows.statistics_for(ANN, words) == rows.statistics("acme", words)
    keep_private(app)
    with app.store.reading("acme") as rows:
        admin = Caller("acme", "boss", admin=True)
        assert rows.statistics_for(admin, words) == rows.statistics("acme", words)


def test_the_statistics_count_what_a_caller_sees_forgotten_or_not(app: App) -> None:
    fill(app)
    keep_private(app)
    with app.store.reading("acme") as rows:
        seen = rows.statistics_for(ANN, ["zebra", "okapi", STEM, "sum", "morgan"])
    assert seen.passages == 5
    assert seen.frequencies == {"zebra": 2, "okapi": 2, STEM: 1, "sum": 1}
    [okapi] = app.engine.recall.search(ANN, Query("Zoe's okapi", mode="text", limit=1)).hits
    app.engine.writing.forget(ANN, okapi.item.id)
    with app.store.reading("acme") as rows:
        again = rows.statistics_for(ANN, ["okapi"])
        assert (again.passages, again.mean_length) == (seen.passages, seen.mean_length)
        nobody = rows.statistics_for(Caller("acme", "nobody"), ["zebra", STEM])
        nothing = rows.statistics_for(Caller("globex", "ann"), ["zebra"])
    assert nobody.frequencies == {"zebra": 1}
    assert nobody.passages == 2
    assert nothing == Statistics(0, 0.0, {})


def test_the_mean_length_is_that_of_the_tenant_where_all_is_visible(app: App) -> None:
    for number in range(1, 30):
        app.engine.writing.remember(ANN, note("word " * number * 7, audience=Audience.ORG))
    app.engine.writing.remember(BOB, note("two words", audience=Audience.ORG))
    with app.store.reading("acme") as rows:
        assert not rows.sees_all(ANN)
        assert rows.statistics_for(ANN, ["word"]) == rows.statistics("acme", ["word"])


def test_undo_brings_back_nothing_that_was_private_at_the_time(app: App) -> None:
    writing = app.engine.writing
    item = writing.remember(BOB, note(f"The {WORD}.")).item
    changed = writing.revise(BOB, item.id, Patch(blocks=(Block("Harmless."),)))
    shared = writing.revise(BOB, item.id, Patch(audience=Audience.ORG))
    later = writing.revise(BOB, item.id, Patch(title="For all"))
    for event in (changed.seq, shared.seq):
        with pytest.raises(NotFound, match="There is no event"):
            app.engine.history.undo(ANN, event)
    app.engine.history.undo(ANN, later.seq)
    _, blocks = app.engine.reading.read(ANN, item.id)
    assert [block.text for block in blocks] == ["Harmless."]
    app.engine.history.undo(BOB, changed.seq)


def test_the_overview_counts_the_waiting_work_of_its_tenant_alone(app: App) -> None:
    health = app.engine.maintenance.health
    before = health("acme")
    app.engine.writing.remember(Caller("globex", "eve"), note("Waits for its vector."))
    assert health("acme") == before
    assert health("globex")["pending"] == health()["pending"]
