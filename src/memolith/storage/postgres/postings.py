"""The text index of PostgreSQL: the terms of a passage as a tsvector."""

from typing import TypedDict

from memolith.storage.terms import IndexedText

FIRST_POSITIONS = {"body": 1, "extra": 9001, "scope": 15001}
"""Where each column begins among the positions of a tsvector, which end at 16383."""

WEIGHTS = {"body": "A", "extra": "B", "scope": "C"}
"""The weight that marks the terms of each column."""


class PostingColumns(TypedDict):
    """The columns of the table `posting` that follow from a text."""

    terms: str
    length: int


def posting_columns(text: IndexedText) -> PostingColumns:
    """What the text index holds of a passage; the scope does not count in its length."""
    lexemes: list[str] = []
    for column, terms in text._asdict().items():
        first = FIRST_POSITIONS[column]
        weight = WEIGHTS[column]
        lexemes += [f"{term}:{first + number}{weight}" for number, term in enumerate(terms.split())]
    return {"terms": " ".join(lexemes), "length": text.length}
