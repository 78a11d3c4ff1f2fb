"""Quoted phrases: which a question has, and which share of them a passage contains."""

import pytest

from memolith.retrieval.ranking.phrases import phrase_share, quoted_phrases


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("no quotes here", []),
        ('the book "Red Mars" again', ["Red Mars"]),
        ('"one" and "two" and "one"', ["one", "two"]),
        ("the book “Red Mars”", ["Red Mars"]),
        ("das Buch „Roter Mars“", ["Roter Mars"]),
        ("книга «Красный Марс»", ["Красный Марс"]),
        ("「赤い火星」を読む", ["赤い火星"]),
        ("it's five o'clock", []),
        ('a lonely " quote', []),
        ('nothing in "" or " "', []),
    ],
)
def test_phrases_are_what_stands_in_double_quotes(text: str, phrases: list[str]) -> None:
    assert quoted_phrases(text) == phrases


@pytest.mark.parametrize(
    ("words", "phrases", "share"),
    [
        ("i read red mar in june", ["red mar"], 1.0),
        ("the red planet is mar", ["red mar"], 0.0),
        ("red red mar", ["red mar"], 1.0),
        ("the last word is red", ["red mar"], 0.0),
        ("i read red mar in june", ["red mar", "blue mar"], 0.5),
        ("i read red mar", ["red mar", "read red"], 1.0),
        ("red mar", ["red mar"], 1.0),
        ("red", ["red mar"], 0.0),
        ("", ["red"], 0.0),
        ("red", [], 0.0),
        ("red", ["", "red"], 1.0),
        ("red", [""], 0.0),
    ],
)
def test_the_share_counts_phrases_that_stand_there_in_order(
    words: str, phrases: list[str], share: float
) -> None:
    assert phrase_share(words.split(), [phrase.split() for phrase in phrases]) == share
