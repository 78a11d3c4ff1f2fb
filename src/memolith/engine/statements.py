"""What texts state: whether two of them say the same or contradict each other."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from memolith.domain.blocks import text_of
from memolith.domain.callers import Caller
from memolith.domain.chunking import chunk
from memolith.domain.items import Similar
from memolith.domain.queries import Filter
from memolith.ports.store import Reader

_WORD = re.compile(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")
NEGATIONS = frozenset(
    (
        "not",
        "no",
        "never",
        "none",
        "nobody",
        "nothing",
        "neither",
        "nor",
        "cannot",
        "without",
        "hardly",
        "dont",
        "doesnt",
        "didnt",
        "isnt",
        "wasnt",
        "cant",
        "wont",
        "no-one",
        "nowhere",
        "unable",
    )
)
DATE_WORDS = frozenset(
    (
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "today",
        "yesterday",
        "tomorrow",
        "morning",
        "evening",
        "night",
        "spring",
        "summer",
        "autumn",
        "winter",
    )
)
NUMBER_WORDS = frozenset(
    (
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
        "thirty",
        "forty",
        "fifty",
        "sixty",
        "seventy",
        "eighty",
        "ninety",
        "hundred",
        "thousand",
        "million",
        "billion",
        "first",
        "second",
        "third",
        "fourth",
        "fifth",
        "sixth",
        "once",
        "twice",
        "half",
        "quarter",
        "dozen",
    )
)
FIRST_SCRIPT_WITHOUT_SPACES = "\u0e00"
"""Thai, Chinese, Japanese and others begin here; those before have spaces between words."""
SHINGLE_WORDS = 3
"""Texts are compared by sequences of this many words."""
MAX_COMPARED_CHARACTERS = 10_000
"""Of a longer text, its beginning and its end are compared while others wait for a write."""
NEAR_COPY = 0.6
"""Two texts with this share of word sequences in common say nearly the same."""
_SENTENCE_END = re.compile(
    r"(?<!Dr\.)(?<!Mr\.)(?<!Ms\.)(?<!Mrs\.)(?<!vs\.)(?<!e\.g\.)(?<!i\.e\.)(?<=[.!?])\s+"
    # Only from the first blank on: trying every blank of a long row takes the square of its length.
    r"|(?<!\s)\s*\n\s*"
)


class Facts(NamedTuple):
    """The words of a text that make a different statement when one of them changes."""

    numbers: tuple[str, ...]
    dates: tuple[str, ...]
    names: tuple[str, ...]
    words: tuple[str, ...]
    negations: tuple[str, ...]

    @property
    def telling(self) -> frozenset[str]:
        """All but the common words."""
        return frozenset((*self.numbers, *self.dates, *self.names, *self.negations))


def facts(text: str) -> Facts:
    """The numbers, dates, names and negations of a text, and all of its words."""
    words = _WORD.findall(text.replace("’", "'"))
    lowered = [word.lower() for word in words]
    return Facts(
        numbers=tuple(word for word in lowered if _is_number(word)),
        dates=tuple(word for word in lowered if word in DATE_WORDS),
        names=tuple(word.removesuffix("'s").lower() for word in words if _is_name(word)),
        words=tuple(word.removesuffix("'s") for word in lowered),
        negations=tuple(word for word in lowered if word in NEGATIONS or word.endswith("n't")),
    )


def _is_number(lowered: str) -> bool:
    return lowered in NUMBER_WORDS or any(character.isdigit() for character in lowered)


def _is_name(word: str) -> bool:
    return len(word) > 1 and word[0].isupper() and word.lower() not in DATE_WORDS


def contradicts(first: str, second: str) -> bool:
    """Whether two texts differ in a number, a date, a name or a negation."""
    return facts_contradict(facts(first), facts(second))


def facts_contradict(ours: Facts, theirs: Facts) -> bool:
    """Whether the facts of two texts differ."""
    # Two negations cancel each other.
    if len(ours.negations) % 2 != len(theirs.negations) % 2:
        return True
    # A word that only one side has was merely added or left out.
    if _lacks(ours.numbers, theirs.numbers) and _lacks(theirs.numbers, ours.numbers):
        return True
    if _lacks(ours.dates, theirs.dates) and _lacks(theirs.dates, ours.dates):
        return True
    return _lacks(ours.names, theirs.words) and _lacks(theirs.names, ours.words)


def _lacks(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether one of the words stands there more often than among the others."""
    return bool(Counter(words) - Counter(others))


def near_copies(rows: Reader, caller: Caller, kind: str, text: str) -> tuple[Similar, ...]:
    """The items of a kind with the same text or most of its word sequences, the nearest first."""
    pieces = chunk(text)
    ids = rows.items_like(caller, pieces[0], len(pieces), Filter(kinds=(kind,)))
    if not ids:
        return ()
    items = rows.items(caller.tenant, ids)
    passages = rows.passages_of(caller.tenant, ids)
    words = text.casefold().split()
    sequences = shingles(gist(text))
    copies = []
    for id in ids:
        other = text_of(passages[id])
        is_exact = other.casefold().split() == words
        similarity = 1.0
        if not is_exact:
            similarity = round(shared_share(sequences, shingles(gist(other))), 3)
        if similarity >= NEAR_COPY:
            copies.append(Similar(id, items[id].title, similarity, is_exact))
    copies.sort(key=lambda copy: (not copy.exact, -copy.similarity, copy.id))
    return tuple(copies)


def likeness(first: str, second: str) -> float:
    """How much two texts have in common by their words: 1 if these are the same."""
    if same(first, second):
        return 1.0
    return round(shared_share(shingles(gist(first)), shingles(gist(second))), 3)


def gist(text: str) -> str:
    """A text of bounded length that begins and ends as the given one."""
    if len(text) <= MAX_COMPARED_CHARACTERS:
        return text
    half = MAX_COMPARED_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"


def overlap(first: str, second: str) -> float:
    """The share of three-word sequences that two texts have in common."""
    return shared_share(shingles(first), shingles(second))


def shared_share(ours: set[tuple[str, ...]], theirs: set[tuple[str, ...]]) -> float:
    """The share of the sequences of two texts that both have."""
    if not ours or not theirs:
        return 0.0
    return len(ours & theirs) / len(ours | theirs)


def shingles(text: str) -> set[tuple[str, ...]]:
    """The three-word sequences of a text; a shorter text is one sequence."""
    words = [word.casefold() for word in _WORD.findall(text)]
    starts = range(max(1, len(words) - SHINGLE_WORDS + 1))
    return {tuple(words[start : start + SHINGLE_WORDS]) for start in starts}


def same(first: str, second: str) -> bool:
    """Whether two texts are equal but for case and white space."""
    return first.casefold().split() == second.casefold().split()


def names(text: str, name: str) -> bool:
    """Whether a text has this name as words of its own: `planned` does not name Ann."""
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        begins_a_word = not _continues(text[start - 1 : start], name[:1])
        ends_a_word = not _continues(name[-1:], text[end : end + 1])
        if begins_a_word and ends_a_word:
            return True
        start = text.find(name, start + 1)
    return False


def _continues(before: str, after: str) -> bool:
    """Whether two characters that follow one another belong to one word."""
    # Scripts such as Chinese and Japanese have no spaces between words.
    spaced = max(before, after) < FIRST_SCRIPT_WITHOUT_SPACES
    return spaced and _is_letter(before) and _is_letter(after)


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text."""
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()]
