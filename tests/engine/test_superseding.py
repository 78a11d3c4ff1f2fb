"""Items that a newer one on the same subject replaces: marks, and what a write is told."""

import json

import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Draft, Patch, Superseded
from memolith.domain.passages import Block
from memolith.domain.queries import Query
from memolith.engine.superseding import COMPARED_KINDS
from memolith.errors import Unavailable
from tests.conftest import ME, note
from tests.stores import each_store

pytestmark = each_store
OLD = "The public API allows 600 requests per minute."
NEW = "The public API allows 900 requests per minute."
ANN = Caller(user="ann")


def remember(app: App, text: str, id: str, caller: Caller = ME, **fields: object) -> None:
    app.engine.writing.remember(caller, note(text, id=id, **fields))


def marks(app: App, *ids: str) -> dict[str, Superseded]:
    """Which items are replaced, once all have their vectors."""
    app.embeddings.embed_waiting()
    with app.store.reading(ME.tenant) as rows:
        return dict(rows.superseded(ME.tenant, ids))


def test_a_newer_item_replaces_an_older_one_on_the_same_subject(smart: App) -> None:
    remember(smart, OLD, "old")
    remember(smart, "Maria prefers tea to coffee.", "tea")
    remember(smart, NEW, "new")
    found = marks(smart, "old", "new", "tea")
    newer, _ = smart.engine.reading.read(ME, "new")
    assert found == {"old": Superseded("new", newer.created_at)}


def test_the_date_of_the_text_tells_which_is_newer(smart: App) -> None:
    written = {"new": (NEW, "2026-05-02T00:00:00Z"), "old": (OLD, "2026-05-01T00:00:00Z")}
    for id, (text, at) in written.items():
        smart.engine.writing.remember(ME, Draft(id=id, blocks=(Block(text, at=at),)))
    found = marks(smart, "old", "new")
    assert found["old"].by == "new"
    assert found["old"].at.startswith("2026-05-02")
    assert "new" not in found


def test_imported_items_are_marked_too(smart: App) -> None:
    lines = [json.dumps({"content": text}) for text in (OLD, NEW)]
    smart.engine.maintenance.import_(ME, lines)
    page = smart.engine.reading.list_items(ME)
    assert len(marks(smart, *(item.id for item in page.items))) == 1


def test_different_facts_on_one_subject_replace_nothing(smart: App) -> None:
    remember(smart, "Anna likes tea.", "tea")
    remember(smart, "Anna likes hiking.", "hiking")
    remember(smart, "Invoice 17 is 300 EUR.", "seventeen")
    remember(smart, "Invoice 18 is 400 EUR.", "eighteen")
    assert marks(smart, "tea", "hiking", "seventeen", "eighteen") == {}


def test_items_of_others_are_not_compared(smart: App) -> None:
    remember(smart, OLD, "old", ANN, audience=Audience.ORG)
    remember(smart, NEW, "new", ME, audience=Audience.ORG)
    assert marks(smart, "old") == {}


@pytest.mark.parametrize(
    "fields", [{"project": "other"}, {"audience": Audience.ORG}, {"kind": "concept", "title": "A"}]
)
def test_items_that_others_see_or_of_another_kind_are_not_compared(
    smart: App, fields: dict[str, object]
) -> None:
    remember(smart, OLD, "old", ME, **fields)
    remember(smart, NEW, "new")
    assert marks(smart, "old") == {}


def test_a_concept_that_announces_a_change_means_none_with_another_title(smart: App) -> None:
    texts = {
        "Idempotency": "Repeating a request has the same effect as sending it once.",
        "Retry": "A failed request is sent again after a pause.",
    }
    for title, text in texts.items():
        remember(smart, text, title, kind="concept", title=title)
    assert marks(smart, *texts) == {}


def test_conversations_are_not_compared(smart: App) -> None:
    assert "conversation" not in COMPARED_KINDS
    remember(smart, OLD, "old", kind="conversation")
    remember(smart, NEW, "new", kind="conversation")
    assert marks(smart, "old") == {}


def test_a_changed_text_is_compared_anew(smart: App) -> None:
    remember(smart, OLD, "old")
    remember(smart, NEW, "new")
    assert marks(smart, "old")
    smart.engine.writing.revise(ME, "new", Patch(blocks=(Block("Maria prefers tea."),)))
    assert marks(smart, "old") == {}
    smart.engine.writing.revise(ME, "new", Patch(blocks=(Block(NEW),)))
    assert marks(smart, "old")


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("where does Olga live?", "new"),
        ("which city does Olga live in?", "new"),
        ("where did Olga live before?", "old"),
    ],
)
def test_the_newer_of_two_hits_comes_before_the_one_that_it_replaces(
    smart: App, question: str, first: str
) -> None:
    remember(smart, "Olga lives in Graz.", "old")
    remember(smart, "Olga moved to Linz in May.", "new")
    assert "old" in marks(smart, "old")
    hits = smart.engine.recall.search(ME, Query(question)).hits
    assert hits[0].item.id == first
    assert {hit.item.id for hit in hits} == {"old", "new"}


def test_a_newer_note_that_has_little_to_do_with_the_question_replaces_no_hit(smart: App) -> None:
    remember(smart, "Olga lives in Graz near the old castle.", "old")
    remember(smart, "Olga moved to Linz in May.", "new")
    assert "old" in marks(smart, "old")
    hits = smart.engine.recall.search(ME, Query("what is near the castle?")).hits
    assert hits[0].item.id == "old"


def test_a_rebuild_makes_the_marks_again(smart: App) -> None:
    remember(smart, OLD, "old")
    remember(smart, NEW, "new")
    before = marks(smart, "old")
    smart.engine.maintenance.rebuild()
    assert before
    assert marks(smart, "old") == before


def test_a_title_is_the_subject_of_a_text_without_a_verb(smart: App) -> None:
    remember(smart, "600 requests per minute", "old", title="API rate limit")
    remember(smart, "900 requests per minute", "new", title="API rate limit")
    assert marks(smart, "old")


def test_a_write_is_told_what_it_replaces(smart: App) -> None:
    remember(smart, OLD, "old", title="Limit")
    remember(smart, "Maria prefers tea to coffee.", "tea")
    smart.embeddings.embed_waiting()
    (conflict,) = smart.engine.conflicts(ME, note(NEW))
    assert (conflict.id, conflict.title) == ("old", "Limit")
    assert conflict.score > 0.8
    assert conflict.differs == "number: 600 requests became 900 requests"


def test_a_write_is_told_nothing_of_what_others_have(smart: App) -> None:
    remember(smart, OLD, "old", ANN)
    smart.embeddings.embed_waiting()
    assert smart.engine.conflicts(ME, note(NEW)) == ()


def test_a_write_is_told_what_it_replaces_before_that_has_a_vector(smart: App) -> None:
    remember(smart, OLD, "old")
    (conflict,) = smart.engine.conflicts(ME, note(NEW))
    assert conflict.id == "old"


def test_without_a_model_there_are_no_marks_and_no_conflicts(app: App) -> None:
    remember(app, OLD, "old")
    assert app.engine.conflicts(ME, note(NEW)) == ()


def test_a_write_is_not_stopped_when_the_comparison_fails(
    smart: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(smart, OLD, "old")
    smart.embeddings.embed_waiting()

    def fail() -> None:
        raise Unavailable("The model is away.")

    monkeypatch.setattr(smart.engine.recall, "meaning", fail)
    assert smart.engine.conflicts(ME, note(NEW)) == ()
