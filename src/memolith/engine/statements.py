"""What texts state: whether two of them say the same or contradict each other, which vectors cannot tell."""

import re
from collections import Counter
from typing import NamedTuple

from memolith.domain.blocks import text_of
from memolith.domain.callers import Caller
from memolith.domain.chunking import chunk
from memolith.domain.items import Similar
from memolith.domain.queries import Filter
from memolith.engine.tables import TABLES
from memolith.ports.store import Reader

_WORD = re.compile(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")
_NEGATIONS, _DATES, _NUMBERS = (
    frozenset(TABLES[name].split()) for name in ("negations", "dates", "numbers")
)
SHINGLE_WORDS = 3
NEAR_COPY = 0.6
_SENTENCE = re.compile(
    r"(?<!Dr\.)(?<!Mr\.)(?<!Ms\.)(?<!Mrs\.)(?<!vs\.)(?<!e\.g\.)(?<!i\.e\.)(?<=[.!?])\s+|\s*\n\s*"
)


class Facts(NamedTuple):
    """The words of a text that a small change turns into another statement."""

    numbers: tuple[str, ...]
    dates: tuple[str, ...]
    names: tuple[str, ...]
    words: tuple[str, ...]
    negations: tuple[str, ...]

    @property
    def telling(self) -> frozenset[str]:
        return frozenset((*self.numbers, *self.dates, *self.names, *self.negations))


def facts(text: str) -> Facts:
    words = _WORD.findall(text.replace("’", "'"))
    lower = [word.lower() for word in words]
    return Facts(
        numbers=tuple(word for word in lower if word in _NUMBERS or any(c.isdigit() for c in word)),
        dates=tuple(word for word in lower if word in _DATES),
        names=tuple(
            word.removesuffix("'s").lower()
            for word in words
            if word[0].isupper() and word.lower() not in _DATES and len(word) > 1
        ),
        words=tuple(word.removesuffix("'s") for word in lower),
        negations=tuple(word for word in lower if word in _NEGATIONS or word.endswith("n't")),
    )


def contradicts(first: str, second: str) -> bool:
    """Whether the texts differ in a number, a date, a name or a negation, so that one is not a copy of the other."""
    one, two = facts(first), facts(second)
    pairs = (
        (one.numbers, two.numbers, two.numbers, one.numbers),
        (one.dates, two.dates, two.dates, one.dates),
        (one.names, two.words, two.names, one.words),
    )
    # Two negations cancel each other. Each side must have a word, or one more of it, that the other lacks: a lone one
    # was merely added or dropped.
    return len(one.negations) % 2 != len(two.negations) % 2 or any(
        Counter(first) - Counter(among) and Counter(second) - Counter(others)
        for first, among, second, others in pairs
    )


def near_copies(
    rows: Reader, caller: Caller, kind: str, text: str, but: str = ""
) -> tuple[Similar, ...]:
    """The items of a kind, but one, with a text or with most of its word sequences, the nearest first."""
    pieces, among = chunk(text), Filter(kinds=(kind,))
    if not (ids := rows.items_like(caller, pieces[0], len(pieces), among) - {but}):
        return ()
    titles, texts = rows.items(caller.tenant, ids), rows.passages_of(caller.tenant, ids)
    found = []
    for id in ids:
        exact = same(other := text_of(texts[id]), text)
        if (share := 1.0 if exact else round(overlap(text, other), 3)) >= NEAR_COPY:
            found.append(Similar(id, titles[id].title, share, exact))
    return tuple(sorted(found, key=lambda one: (not one.exact, -one.similarity, one.id)))


def overlap(first: str, second: str) -> float:
    """The share of three-word sequences that two texts have in common."""
    one, two = shingles(first), shingles(second)
    return len(one & two) / len(one | two) if one and two else 0.0


def shingles(text: str) -> set[tuple[str, ...]]:
    """The three-word sequences of a text; a shorter text is one sequence."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return {
        tuple(words[n : n + SHINGLE_WORDS]) for n in range(max(1, len(words) - SHINGLE_WORDS + 1))
    }


def same(first: str, second: str) -> bool:
    """Whether two texts are equal but for case and white space."""
    return first.casefold().split() == second.casefold().split()


def sentences(text: str) -> list[str]:
    return [one for one in _SENTENCE.split(text) if one.strip()]
