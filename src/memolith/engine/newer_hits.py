"""Hits that a newer hit of the same question changes.

What was written is compared when it comes in, too (`superseding.py`); but two texts that answer one
question speak of the same thing more surely than any two texts, so less is asked of them here.
"""

import re
from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from typing import NamedTuple

from memolith.domain.passages import PassageRef
from memolith.engine.change import announces_change, compare, has_other_value

MAX_COMPARED_HITS = 8
"""So many of the best hits are compared."""

MAX_COMPARED_CHARACTERS = 400
"""A longer text says several things, and that one of them is new makes no other text old."""

MIN_SHARED_TERMS = 2
MIN_SHARED_SHARE = 0.18
"""So many of its words, and this share of them, a text shares with another one on its subject."""

_NOW = re.compile(
    r"\b(these days|nowadays|gave up|push(ed)?|swap|only every|from today|for now|at last)\b", re.I
)
"""Words that announce a change to what was said on the same subject, but not by themselves."""

SURE = 1.0
"""Stands in for the cosine: both are about the question."""


class DatedText(NamedTuple):
    """A hit as it is compared."""

    ref: PassageRef
    at: str
    text: str


class TermSets(NamedTuple):
    """The words of a question and of two hits."""

    asked: frozenset[str]
    older: frozenset[str]
    newer: frozenset[str]

    @property
    def speak_of_the_same(self) -> bool:
        """Whether the two hits share enough words."""
        shared = len(self.older & self.newer)
        fewer = min(len(self.older), len(self.newer))
        return shared >= MIN_SHARED_TERMS and shared >= MIN_SHARED_SHARE * fewer

    @property
    def answer_the_same(self) -> bool:
        """Whether the newer hit has all that the question and the older one have in common.

        The price of bowls is no news about that of mugs, though all other words are the same.
        """
        return self.asked & self.older <= self.newer


def changed_by_newer(
    asked: Collection[str],
    hits: Sequence[DatedText],
    terms_of: Callable[[str], Sequence[str]],
) -> dict[PassageRef, PassageRef]:
    """The hits that a newer one of the list changes, each with the newest that does.

    `asked` has the words of the question.
    """
    by_age = sorted(hits[:MAX_COMPARED_HITS], key=lambda hit: (hit.at, hit.ref))
    by_age = [hit for hit in by_age if len(hit.text) <= MAX_COMPARED_CHARACTERS]
    terms = {hit.ref: frozenset(terms_of(hit.text)) for hit in by_age}
    changed = {}
    for older, newer in combinations(by_age, 2):
        sets = TermSets(frozenset(asked), terms[older.ref], terms[newer.ref])
        if older.at < newer.at and _changes(newer.text, older.text, sets):
            changed[older.ref] = newer.ref
    return changed


def _changes(newer: str, older: str, terms: TermSets) -> bool:
    if not terms.speak_of_the_same:
        return False
    if announces_change(newer) or _NOW.search(newer):
        return True
    if compare(older, newer, SURE).kind == "conflict":
        return True
    return terms.answer_the_same and has_other_value(older, newer)
