"""Hits that a newer hit of the same question changes.

What was written is compared when it comes in, too (`superseding.py`); but two texts that answer one
question speak of the same thing more surely than any two texts, so less is asked of them here.
"""

import re
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

from memolith.domain.passages import PassageRef
from memolith.engine.change import MAX_COMPARED_CHARACTERS, announces_change, compare

MAX_COMPARED_HITS = 8
"""So many of the best hits are compared."""

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


def changed_by_newer(
    hits: Sequence[DatedText], terms_of: Callable[[str], Sequence[str]]
) -> dict[PassageRef, PassageRef]:
    """The hits that a newer one of the list changes, each with the newest that does."""
    by_age = sorted(hits[:MAX_COMPARED_HITS], key=lambda hit: (hit.at, hit.ref))
    changed = {}
    for older, newer in combinations(by_age, 2):
        if older.at < newer.at and _changes(newer.text, older.text, terms_of):
            changed[older.ref] = newer.ref
    return changed


def _changes(newer: str, older: str, terms_of: Callable[[str], Sequence[str]]) -> bool:
    if max(len(newer), len(older)) > MAX_COMPARED_CHARACTERS:
        return False
    ours = set(terms_of(older))
    theirs = set(terms_of(newer))
    shared = len(ours & theirs)
    if shared < MIN_SHARED_TERMS or shared < MIN_SHARED_SHARE * min(len(ours), len(theirs)):
        return False
    if announces_change(newer) or _NOW.search(newer):
        return True
    return compare(older, newer, SURE).kind == "conflict"
