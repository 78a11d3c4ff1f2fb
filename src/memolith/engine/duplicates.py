"""Nearly the same, or a contradiction? Vectors cannot tell; the words that carry facts can."""

import re
from collections import Counter
from typing import NamedTuple

from memolith.engine.chunks import chunk
from memolith.engine.events import text_of
from memolith.engine.model import Caller, Filter, Similar
from memolith.engine.ports import Reader

_WORD = re.compile(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")
_NEGATIONS = frozenset("not no never none nobody nothing neither nor cannot without hardly dont doesnt didnt isnt "
                       "wasnt cant wont no-one nowhere unable".split())
_DATES = frozenset("january february march april may june july august september october november december monday "
                   "tuesday wednesday thursday friday saturday sunday today yesterday tomorrow morning evening night "
                   "spring summer autumn winter".split())
_NUMBERS = frozenset("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
                     "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
                     "hundred thousand million billion first second third fourth fifth sixth once twice half quarter "
                     "dozen".split())
SHINGLE = 3
NEAR = 0.6


class Facts(NamedTuple):
    """The words of a text that a small change turns into another statement."""

    numbers: tuple[str, ...]
    dates: tuple[str, ...]
    names: tuple[str, ...]
    words: tuple[str, ...]
    negations: tuple[str, ...]

    @property
    def telling(self) -> frozenset[str]:
        """Every word that carries a fact."""
        return frozenset((*self.numbers, *self.dates, *self.names, *self.negations))


def facts(text: str) -> Facts:
    """The facts of a text."""
    words = _WORD.findall(text.replace("’", "'"))
    lower = [word.lower() for word in words]
    return Facts(numbers=tuple(word for word in lower if word in _NUMBERS or any(c.isdigit() for c in word)),
                 dates=tuple(word for word in lower if word in _DATES),
                 names=tuple(word.removesuffix("'s").lower() for word in words
                             if word[0].isupper() and word.lower() not in _DATES and len(word) > 1),
                 words=tuple(word.removesuffix("'s") for word in lower),
                 negations=tuple(word for word in lower if word in _NEGATIONS or word.endswith("n't")))


def contradicts(first: str, second: str) -> bool:
    """Whether the texts differ in a number, a date, a name or a negation, so that one is not a copy of the other."""
    one, two = facts(first), facts(second)
    pairs = ((one.numbers, two.numbers, two.numbers, one.numbers), (one.dates, two.dates, two.dates, one.dates),
             (one.names, two.words, two.names, one.words))
    # Two negations cancel each other. Each side must have a word, or one more of it, that the other lacks: a lone one
    # was merely added or dropped.
    return len(one.negations) % 2 != len(two.negations) % 2 or any(
        Counter(first) - Counter(among) and Counter(second) - Counter(others) for first, among, second, others in pairs)


def known(rows: Reader, caller: Caller, kind: str, text: str, but: str = "") -> tuple[Similar, ...]:
    """The items of a kind, but one, with a text or with most of its word sequences, the nearest first."""
    pieces, among = chunk(text), Filter(kinds=(kind,))
    ids = {*rows.same_text(caller, pieces[0], len(pieces), among), *rows.alike(caller, pieces[0], among)} - {but}
    if not ids:
        return ()
    titles, texts = rows.items(caller.tenant, ids), rows.passages_of(caller.tenant, ids)
    found = []
    for id in ids:
        exact = same(other := text_of(texts[id]), text)
        if (share := 1.0 if exact else round(overlap(text, other), 3)) >= NEAR:
            found.append(Similar(id, titles[id].title, share, exact))
    return tuple(sorted(found, key=lambda one: (not one.exact, -one.similarity, one.id)))


def overlap(first: str, second: str) -> float:
    """The share of three-word sequences that two texts have in common."""
    one, two = shingles(first), shingles(second)
    return len(one & two) / len(one | two) if one and two else 0.0


def shingles(text: str) -> set[tuple[str, ...]]:
    """The three-word sequences of a text; a shorter text is one sequence."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return {tuple(words[n:n + SHINGLE]) for n in range(max(1, len(words) - SHINGLE + 1))}


def same(first: str, second: str) -> bool:
    """Whether two texts are equal but for case and white space."""
    return first.casefold().split() == second.casefold().split()
