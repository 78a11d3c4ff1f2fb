"""One line of the training data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from training.sources.repository import Repository

MAX_QUESTION_CHARS = 400
MAX_PASSAGE_CHARS = 700
MAX_BEFORE_CHARS = 300
MIN_QUESTION_CHARS = 8
MIN_PASSAGE_CHARS = 12
MAX_PASSAGES = 5
MAX_NEGATIVES = 6


@dataclass(frozen=True)
class Pair:
    """A question, the passages that answer it, and passages that only look as if they did."""

    question: str
    passages: tuple[str, ...]
    negatives: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    """What stands before each passage, one text a passage. Empty when there is no such thing."""

    def as_line(self, source: str) -> Mapping[str, object]:
        """The pair as it is written: `q`, `p`, and where there are any `n` and `c`, then `s`."""
        line: dict[str, object] = {"q": self.question, "p": list(self.passages)}
        if self.negatives:
            line["n"] = list(self.negatives)
        if any(self.before):
            line["c"] = list(self.before)
        line["s"] = source
        return line


Builder = Callable[[Repository], Iterator[Pair]]
"""Reads one repository and yields its pairs, always in the same order."""


def usable(pair: Pair) -> Pair | None:
    """The pair with every text cut to its limit, or None when too little is left of it."""
    question = pair.question[:MAX_QUESTION_CHARS].strip()
    passages = tuple(text[:MAX_PASSAGE_CHARS].strip() for text in pair.passages[:MAX_PASSAGES])
    if len(question) < MIN_QUESTION_CHARS or not passages:
        return None
    if any(len(text) < MIN_PASSAGE_CHARS for text in passages):
        return None
    if question in passages:
        return None
    cut_negatives = (text[:MAX_PASSAGE_CHARS].strip() for text in pair.negatives)
    negatives = [text for text in dict.fromkeys(cut_negatives) if text and text not in passages]
    before = tuple(text[-MAX_BEFORE_CHARS:].strip() for text in pair.before[:MAX_PASSAGES])
    return Pair(question, passages, tuple(negatives[:MAX_NEGATIVES]), before)
