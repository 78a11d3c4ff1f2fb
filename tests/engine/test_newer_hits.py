"""Which of the hits of a question a newer one changes."""

from memolith.domain.passages import PassageRef
from memolith.engine.newer_hits import DatedText, changed_by_newer
from memolith.storage.terms import query_terms

OLDER = PassageRef(1)
NEWER = PassageRef(2)


def changes(question: str, older: str, newer: str) -> bool:
    """Whether the newer text is taken for news about the older one."""
    hits = [
        DatedText(OLDER, "2026-03-01T09:00:00Z", older),
        DatedText(NEWER, "2026-03-08T09:00:00Z", newer),
    ]
    return changed_by_newer(query_terms(question), hits, query_terms) == {OLDER: NEWER}


def test_another_number_of_the_same_unit_is_news() -> None:
    assert changes(
        "How many homes are in the Leiden trial?",
        "The Leiden trial covers 200 homes, all on one street.",
        "The council found money: the Leiden trial grows to 350 homes.",
    )


def test_another_day_is_news() -> None:
    assert changes(
        "When is the review of the budget?",
        "The review of the budget is on 14 November.",
        "We need another week, so the review of the budget is on 21 November.",
    )


def test_another_number_of_another_thing_that_the_question_does_not_name_is_no_news() -> None:
    assert not changes(
        "What does a mug cost?",
        "For a mug customers pay 24 euros in the shop.",
        "For a bowl customers pay 31 euros in the shop.",
    )


def test_the_same_number_is_no_news() -> None:
    assert not changes(
        "How many homes are in the Leiden trial?",
        "The Leiden trial covers 200 homes, all on one street.",
        "The Leiden trial with its 200 homes is in the paper.",
    )


def test_a_long_text_is_no_news_about_a_short_one() -> None:
    older = "The Leiden trial covers 200 homes, all on one street."
    newer = "The council found money: the Leiden trial grows to 350 homes."
    assert changes("How many homes are in the Leiden trial?", older, newer)
    long = newer + " It also spoke about the harbour, the school and the new bridge." * 6
    assert not changes("How many homes are in the Leiden trial?", older, long)
