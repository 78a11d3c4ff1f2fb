"""How the parts of a pack of context are chosen and put together within a budget of tokens."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memolith.domain.chunking import weigh
from memolith.domain.items import Item
from memolith.domain.passages import Passage
from memolith.domain.queries import Hit
from memolith.engine.statements import facts, shingles

MAX_REPEATED_SHARE = 0.8
"""A passage of which more stands in the pack already is left out."""
MAX_STEP_IN_PART = 3
"""Messages of a conversation that are at most so far apart stand in one part."""
LEFT_OUT = "…"
"""Stands in a part where messages are left out."""
TOKENS_OF_HEAD = 10
"""About how many tokens a passage takes beside its text."""
THRIFT = 0.6
"""How much the length of a passage counts when it is chosen: 0 not at all, 1 as much as its score.

Two short passages with a chance of 0.4 each are worth more than a long one with 0.5.
"""
MAX_FILLER_WORDS = 8
FILLER_WORDS = frozenset(
    "a ah alright all amazing and anytime appreciate awesome bye care cheers cool course done "
    "excellent fair fine for glad good goodbye got great haha hello hey hi hmm hope i it is later "
    "lol lovely luck makes me much my nice night noted of oh ok okay perfect please pleasure "
    "problem right roger see sense so soon sounds super sure take talk thank thanks that that's "
    "the then this thx to too understood very welcome well will wonderful wow you your you're "
    "danke gut notiert gerne merci gracias vale claro d'accord".split()
)
"""Words that say nothing alone. `Yes` and `no` are not among them: they may answer a question."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class Place(NamedTuple):
    """Where a passage stands: its item, and its ordinal there."""

    item: str
    ordinal: int


class Candidate(NamedTuple):
    """A passage that may go into a pack."""

    item: Item
    passage: Passage
    score: float
    """What a citation shows."""
    worth: float
    """How much it is expected to add."""
    beside: Place | None = None
    """The hit that it stands next to and is nothing without; None for a hit."""

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(self.item.id, self.passage.ordinal)

    @classmethod
    def of(cls, hit: Hit) -> "Candidate":
        """A hit of the question itself."""
        return cls(hit.item, hit.passage, hit.score, hit.score)


class Citation(NamedTuple):
    """Where a numbered part of the pack comes from."""

    number: int
    id: str
    title: str
    cite: str
    score: float
    at: str
    """When it was said."""
    updated_at: str
    """When its item was last changed."""


class Part(NamedTuple):
    """Passages of one item that stand together, in reading order."""

    members: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate:
        """The passage that the part is there for."""
        return max(self.members, key=lambda member: (member.beside is None, member.score))

    @property
    def cite(self) -> str:
        """Where in its item the part stands, for people."""
        first = self.members[0]
        if len(self.members) == 1:
            return cite(first.item, first.passage)
        numbers = _ranges([member.passage.block + 1 for member in self.members])
        word = "message" if numbers.isdigit() else "messages"
        days = sorted({member.passage.at[:10] for member in self.members})
        said = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        return f"{word} {numbers}, {said}"

    def head(self, number: int) -> str:
        """The line above the text."""
        source = ", ".join(part for part in (self.best.item.title, self.cite) if part)
        return f"[{number}] {source}".rstrip()

    @property
    def text(self) -> str:
        """What is said, a line for each message."""
        lines: list[str] = []
        before: Passage | None = None
        for member in self.members:
            passage = member.passage
            if before is not None and before.ordinal + 1 < passage.ordinal:
                lines.append(LEFT_OUT)
            lines.append(_spoken(passage))
            before = passage
        return "\n".join(lines)


class PackDraft:
    """A pack while it grows."""

    def __init__(self, budget_tokens: int) -> None:
        self.used = 0
        self.chosen: dict[Place, Candidate] = {}
        self._budget_tokens = budget_tokens
        self._sequences: set[tuple[str, ...]] = set()
        """The word sequences that stand in the pack already."""
        self._words: set[str] = set()

    @property
    def left(self) -> int:
        """How many tokens may still be added."""
        return self._budget_tokens - self.used

    def limit(self, tokens: int) -> None:
        """Let the pack have at most so many tokens, if its budget allowed more."""
        self._budget_tokens = min(self._budget_tokens, tokens)

    def fill(self, candidates: Iterable[Candidate]) -> None:
        """Add what fits: the best passage first, then what adds most for its length."""
        best_first = sorted(_merged(candidates), key=lambda one: -one.worth)
        rates = {one.place: _worth_per_token(one) for one in best_first}

        def rate(one: Candidate) -> float:
            own = rates[one.place]
            # What stands next to a hit comes after it.
            return own if one.beside is None else min(own, rates.get(one.beside, own))

        rest = sorted(best_first[1:], key=lambda one: (-rate(one), one.beside is not None))
        for candidate in (*best_first[:1], *rest):
            self.add(candidate)

    def add(self, candidate: Candidate) -> None:
        """Add a passage if it fits, says something, and is not there already."""
        place = candidate.place
        if place in self.chosen or is_filler(candidate.passage.text):
            return
        if candidate.beside is not None and candidate.beside not in self.chosen:
            return
        # Most do not fit once the pack is nearly full, and the rest takes longer to find out.
        if weigh(candidate.passage.text) > self.left:
            return
        sequences = shingles(candidate.passage.text)
        found = facts(candidate.passage.text)
        # A passage may be there already in a longer one, or spread over several. It is repeated
        # only if it brings another number, name or negation.
        repeated = len(sequences & self._sequences)
        if repeated > MAX_REPEATED_SHARE * len(sequences) and found.telling <= self._words:
            return
        tokens = self._tokens_more(candidate)
        if tokens > self.left:
            return
        self.chosen[place] = candidate
        self.used += tokens
        self._sequences |= sequences
        self._words.update(found.words)

    def _tokens_more(self, candidate: Candidate) -> int:
        """How many tokens the pack has more with this passage."""
        near = []
        if candidate.item.kind == "conversation":
            near = [one for one in self.chosen.values() if one.item.id == candidate.item.id]
        before = sum(_tokens(part) for part in parts_of(near))
        return sum(_tokens(part) for part in parts_of([*near, candidate])) - before

    def parts(self) -> list[Part]:
        """The parts, the one with the best passage first."""
        parts = parts_of(self.chosen.values())
        return sorted(parts, key=lambda part: -part.best.score)


def _merged(candidates: Iterable[Candidate]) -> list[Candidate]:
    """One candidate for each passage: a hit may stand next to another one, too."""
    merged: dict[Place, Candidate] = {}
    for candidate in candidates:
        known = merged.get(candidate.place)
        if known is None:
            merged[candidate.place] = candidate
            continue
        worth = max(known.worth, candidate.worth)
        kept = max(known, candidate, key=lambda one: (one.beside is None, one.worth))
        merged[candidate.place] = kept._replace(worth=worth)
    return list(merged.values())


def parts_of(candidates: Iterable[Candidate]) -> list[Part]:
    """Passages put together where they belong to one stretch of a conversation."""
    by_item: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_item[candidate.item.id].append(candidate)
    parts = []
    for members in by_item.values():
        members.sort(key=lambda member: member.passage.ordinal)
        stretch = members[:1]
        for member in members[1:]:
            step = member.passage.ordinal - stretch[-1].passage.ordinal
            if member.item.kind == "conversation" and step <= MAX_STEP_IN_PART:
                stretch.append(member)
            else:
                parts.append(Part(tuple(stretch)))
                stretch = [member]
        parts.append(Part(tuple(stretch)))
    return parts


def is_filler(text: str) -> bool:
    """Whether a text only thanks, greets or agrees, such as "Noted." and "Sounds good!"."""
    words = _WORD.findall(text.replace("’", "'").lower())
    return 0 < len(words) <= MAX_FILLER_WORDS and FILLER_WORDS.issuperset(words)


def cite(item: Item, passage: Passage) -> str:
    """Where in its item a passage stands, for people."""
    if passage.locator:
        return passage.locator
    if item.kind == "conversation":
        return f"message {passage.block + 1}, {passage.at[:10]}"
    if item.passages > 1:
        return f"part {passage.ordinal + 1} of {item.passages}"
    return ""


def _worth_per_token(candidate: Candidate) -> float:
    length = weigh(candidate.passage.text) + TOKENS_OF_HEAD
    return candidate.worth / math.pow(length, THRIFT)


def _tokens(part: Part) -> int:
    # The number of a part counts as one token, whatever it is.
    return weigh(part.head(1)) + weigh(part.text)


def _spoken(passage: Passage) -> str:
    text = passage.text.strip()
    return f"{passage.speaker}: {text}" if passage.speaker else text


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers in order as ranges: `3-5, 8`."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and number <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
