"""Which known names a question means, also where it spells them otherwise."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from memolith.retrieval.ranking.ordinary_words import is_ordinary
from memolith.retrieval.ranking.sounds import Sound, sound_of

WHOLE_NAME = 1.0
PART_OF_NAME = 0.9
"""How certain one word of a longer name is, such as "John" for "John Smith"."""
ORDINARY_WITH_CAPITAL = 0.9
"""How certain an ordinary word is that is written like a name: "Did Will go?"."""
ORDINARY_AT_START = 0.5
"""The same where every word has a capital: "Will it rain?"."""
SAME_SOUND = 0.9
SAME_SOUND_OF_SHORT = 0.8
"""The same for names of three letters, of which many sound alike."""
NEARLY_SPELT = 0.9
PER_CHANGED_SHARE = 0.8
"""How much less certain another spelling is, times the share of its letters that are changed."""
OTHER_CONSONANTS = 0.8
"""A factor for a spelling that is heard: Rome is hardly a slip for Rose."""
ORDINARY_LIKE_NAME = 0.6
"""A factor for an ordinary word with a capital that only sounds like a name: Marry for Mary."""
IN_LOWER_CASE = 0.9
"""A factor for a misspelt word that is not written like a name."""
ONE_OF_SEVERAL = 0.6
"""A factor where a misspelt word is as near to several names."""
MIN_LETTERS = 3
MIN_CHANGED_LETTERS = 4
"""Shorter words are never taken for another spelling, only for the same sound."""
MIN_TWICE_CHANGED_LETTERS = 8
"""From this length on, two letters may differ."""
MIN_TITLE_WORDS = 3
"""A question of so many words, all with a capital, tells nothing by its capitals."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_SENTENCE_END = re.compile(r"[.!?:…]\s*[\"'“‘(]*$")
_MONTHS = frozenset(
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
_BEFORE_MONTH = frozenset(
    "in of since until till by during from last next this each every early mid late through to "
    "before after between and".split()
)


class MeantName(NamedTuple):
    """A known name that a question means."""

    name: str
    """The name as it is known."""
    written: str
    """How the question writes it."""
    certainty: float
    """From 0 to 1; 1 if the question has the whole name as it is known."""


class _Word(NamedTuple):
    """A word of a question."""

    written: str
    folded: str
    has_capital: bool
    starts_sentence: bool
    is_month: bool
    """Whether it stands for a month here: "in May", "Jan 5"."""


class _Match(NamedTuple):
    """A word of a question that stands for a word of a name."""

    place: int
    """Which word of the question."""
    certainty: float
    is_exact: bool


class KnownNames:
    """Known names, arranged so that a question is compared with few of them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._words_of: dict[str, tuple[str, ...]] = {}
        self._names_with: dict[str, list[str]] = defaultdict(list)
        for name in dict.fromkeys(names):
            words = tuple(_folded(word.group()) for word in _WORD.finditer(name))
            if words:
                self._words_of[name] = words
                for word in dict.fromkeys(words):
                    self._names_with[word].append(name)

    @cached_property
    def _by_sound(self) -> dict[Sound, list[str]]:
        """The words of names that sound alike."""
        found = defaultdict(list)
        for word in self._names_with:
            if len(word) >= MIN_LETTERS and _is_latin(word):
                found[sound_of(word)].append(word)
        return found

    @cached_property
    def _by_start(self) -> dict[tuple[str, int], list[tuple[str, int]]]:
        """The words of names by how they begin and how long they are, each with its letters."""
        found = defaultdict(list)
        for word in self._names_with:
            if len(word) >= MIN_CHANGED_LETTERS:
                found[_start_of(word), len(word)].append((word, _letters_of(word)))
        return found

    def meant_in(self, question: str) -> list[MeantName]:
        """Return the names that the question means, the most certain first."""
        words = _words_of_question(question)
        matches: dict[str, dict[int, _Match]] = defaultdict(dict)
        for place, word in enumerate(words):
            for name_word, match in self._matches_of(place, word):
                for name in self._names_with[name_word]:
                    position = self._words_of[name].index(name_word)
                    matches[name].setdefault(position, match)
        meant = [
            self._meant(name, list(found.values()), words)
            for name, found in matches.items()
            if self._is_enough(name, found, words)
        ]
        fullest = self._fullest(meant, matches)
        fullest.sort(key=lambda each: (-each.certainty, each.name))
        return fullest

    def _matches_of(self, place: int, word: _Word) -> list[tuple[str, _Match]]:
        """The words of names that a word of the question stands for."""
        if word.folded in self._names_with:
            if word.is_month:
                return []
            return [(word.folded, _Match(place, 1.0, is_exact=True))]
        if len(word.folded) < MIN_LETTERS or _is_plain(word):
            return []
        certainties = self._similar(word)
        if not certainties:
            return []
        best = max(certainties.values())
        nearest = [similar for similar, certainty in certainties.items() if certainty == best]
        if len(nearest) > 1:
            best *= ONE_OF_SEVERAL
        return [(similar, _Match(place, best, is_exact=False)) for similar in nearest]

    def _similar(self, word: _Word) -> dict[str, float]:
        """The words of names that are spelt or sound like a word, and how certainly."""
        certainties = self._alike_in_sound(word.folded)
        factor = 1.0
        if is_ordinary(word.folded):
            factor = ORDINARY_LIKE_NAME
        else:
            for name, changes in self._nearly_spelt(word.folded):
                certainty = _certainty_of_spelling(word.folded, name, changes)
                certainties[name] = max(certainty, certainties.get(name, 0.0))
        if not word.has_capital:
            factor *= IN_LOWER_CASE
        return {name: certainty * factor for name, certainty in certainties.items()}

    def _alike_in_sound(self, word: str) -> dict[str, float]:
        if not _is_latin(word):
            return {}
        certainties = {}
        for name in self._by_sound.get(sound_of(word), ()):
            is_short = min(len(word), len(name)) <= MIN_LETTERS
            certainties[name] = SAME_SOUND_OF_SHORT if is_short else SAME_SOUND
        return certainties

    def _nearly_spelt(self, word: str) -> Iterator[tuple[str, int]]:
        """The words of names with few other letters, and how many letters are changed."""
        letters = _letters_of(word)
        start = _start_of(word)
        most = _allowed_changes(len(word))
        for length in range(len(word) - most, len(word) + most + 1):
            allowed = _allowed_changes(min(length, len(word)))
            for name, letters_of_name in self._by_start.get((start, length), ()):
                # A change puts at most one letter in the place of another. This is a hundred times
                # quicker than the comparison of the words, and leaves few of them.
                if (letters ^ letters_of_name).bit_count() > 2 * allowed:
                    continue
                changes = changes_between(word, name, allowed)
                if changes <= allowed:
                    yield name, changes

    def _is_enough(self, name: str, found: dict[int, _Match], words: Sequence[_Word]) -> bool:
        """Whether these matches mean the name, and not only an ordinary word in it."""
        is_whole = len(found) == len(self._words_of[name])
        if is_whole and len(found) > 1:
            return True
        return any(
            not match.is_exact or _is_like_name(words[match.place], is_whole)
            for match in found.values()
        )

    def _meant(self, name: str, found: list[_Match], words: Sequence[_Word]) -> MeantName:
        places = sorted({match.place for match in found})
        written = " ".join(words[place].written for place in places)
        certainty = sum(match.certainty for match in found) / len(found)
        if len(found) < len(self._words_of[name]):
            certainty *= PART_OF_NAME
        elif len(found) == 1 and found[0].is_exact and is_ordinary(words[places[0]].folded):
            certainty = _certainty_of_ordinary(words[places[0]])
        return MeantName(name, written, round(certainty, 3))

    def _fullest(
        self, meant: list[MeantName], matches: dict[str, dict[int, _Match]]
    ) -> list[MeantName]:
        """Without the names of which another one has the same words of the question and more."""
        places = {
            each.name: frozenset(match.place for match in matches[each.name].values())
            for each in meant
        }
        return [
            each
            for each in meant
            if not any(places[each.name] < places[other.name] for other in meant)
        ]


def meant_names(question: str, names: Iterable[str]) -> list[MeantName]:
    """Return the names that a question means, the most certain first.

    Names are arranged once: a call with the same names again takes a fraction of a millisecond.
    """
    return _known_names(tuple(names)).meant_in(question)


@lru_cache(16)
def _known_names(names: tuple[str, ...]) -> KnownNames:
    return KnownNames(names)


def _words_of_question(question: str) -> list[_Word]:
    found = list(_WORD.finditer(question))
    written = [_POSSESSIVE.sub("", match.group()) for match in found]
    folded = [_folded(word) for word in written]
    capitals = [word[:1].isupper() for word in written]
    if len(capitals) >= MIN_TITLE_WORDS and all(capitals):
        # A headline: every word has a capital, so it says nothing.
        capitals = [False] * len(capitals)
    words = []
    for place, match in enumerate(found):
        starts = place == 0 or bool(_SENTENCE_END.search(question[: match.start()]))
        words.append(
            _Word(
                written[place],
                folded[place],
                capitals[place],
                starts,
                _is_month(folded, place),
            )
        )
    return words


def _is_month(words: Sequence[str], place: int) -> bool:
    if words[place] not in _MONTHS:
        return False
    before = words[place - 1] if place else ""
    after = words[place + 1] if place + 1 < len(words) else ""
    return before in _BEFORE_MONTH or before.isdigit() or after[:1].isdigit()


def _is_plain(word: _Word) -> bool:
    """Whether a word that is no known name is an ordinary word here, and no misspelt name."""
    if word.folded in _MONTHS:
        return True
    return is_ordinary(word.folded) and (not word.has_capital or word.starts_sentence)


def _is_like_name(word: _Word, is_whole: bool) -> bool:
    """Whether a word that stands in a known name is meant as a name.

    An ordinary word is, if it has a capital; at the start of a sentence only if it is all of the
    name.
    """
    if not is_ordinary(word.folded):
        return True
    return word.has_capital and (is_whole or not word.starts_sentence)


def _certainty_of_ordinary(word: _Word) -> float:
    return ORDINARY_AT_START if word.starts_sentence else ORDINARY_WITH_CAPITAL


def _certainty_of_spelling(word: str, name: str, changes: int) -> float:
    """How certainly a word with so many changed letters is a name."""
    share = (changes - 0.5) / min(len(word), len(name))
    certainty = NEARLY_SPELT - PER_CHANGED_SHARE * share
    if _is_latin(word) and sound_of(word).consonants != sound_of(name).consonants:
        certainty *= OTHER_CONSONANTS
    return certainty


def _allowed_changes(letters: int) -> int:
    if letters < MIN_CHANGED_LETTERS:
        return 0
    return 1 if letters < MIN_TWICE_CHANGED_LETTERS else 2


def changes_between(word: str, other: str, most: int) -> int:
    """Return how many letters are added, left out, changed or swapped with the next one.

    If there are more than `most`, the result is `most` + 1.
    """
    if abs(len(word) - len(other)) > most:
        return most + 1
    before_last: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(word, start=1):
        current = [row]
        for column, other_letter in enumerate(other, start=1):
            changes = min(
                last[column] + 1,
                current[column - 1] + 1,
                last[column - 1] + (letter != other_letter),
            )
            is_swapped = (
                row > 1
                and column > 1
                and letter == other[column - 2]
                and word[row - 2] == other_letter
            )
            if is_swapped:
                changes = min(changes, before_last[column - 2] + 1)
            current.append(changes)
        if min(current) > most:
            return most + 1
        before_last = last
        last = current
    return min(last[-1], most + 1)


@lru_cache(20_000)
def _start_of(word: str) -> str:
    """What two spellings of a name must begin with alike: the sound, or the letter elsewhere."""
    return sound_of(word).starts_with if _is_latin(word) else word[0]


@lru_cache(20_000)
def _letters_of(word: str) -> int:
    """The letters of a word as the bits of a number."""
    letters = 0
    for letter in word:
        letters |= 1 << (ord(letter) & 63)
    return letters


def _is_latin(word: str) -> bool:
    return word.isascii() and word.isalpha()


@lru_cache(20_000)
def _folded(word: str) -> str:
    """A word in lower case and without accents."""
    if word.isascii():
        return word.lower()
    parts = unicodedata.normalize("NFD", word.casefold())
    return "".join(letter for letter in parts if not unicodedata.combining(letter))
