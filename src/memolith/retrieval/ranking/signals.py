"""The signals of a hit: what speaks for a passage, each as a number of about 0 to 1.

All of them are computed here, from the question, the passage, the passages before and after it and
the statistics of the store. None depends on the other hits, on filters or on pages: so the same
passage has the same score for the same question wherever it is found.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from memolith.domain.passages import Passage, PassageRef, item_row_of, passage_ref
from memolith.ports.ranker import NEAR_REACH, SESSION_REACH, Asked, Surroundings
from memolith.retrieval.ranking.answer_types import asked_type, has_type
from memolith.retrieval.ranking.dates import Period, asks_when, has_time_words, named_periods
from memolith.retrieval.ranking.english_words import english_share, rarity
from memolith.retrieval.ranking.phrases import phrase_share

BM25_K1 = 0.9
"""How soon a word that comes again stops adding to the score of words."""

BM25_B = 0.4
"""How much long passages are held back: 0 not at all, 1 in proportion to their length."""

TYPICAL_LENGTH = 30.0
"""The mean length of a passage in words, where the store cannot tell."""

BOOSTED_TERM_WEIGHT = 1.5
"""Terms that the caller boosts count this many times."""

DATE_FADE_DAYS = 14
"""So many days from what the question names, the signal of the date has fallen to 37 %."""

SESSION_BEST = 3
"""So many of the best of them count."""

QUESTION_MARK_CHARACTERS = 120
"""A passage is a question if it has a question mark in its last characters."""

MAX_COUNTED_TERMS = 40
"""Of a question with more words, a passage is to have so many."""

ALL = 0.999
"""The share of the words from which on a passage has them all."""

RAREST = 10.0
"""About the rarity of a word that stands in one of 20,000 passages."""

ENGLISH_SHARE = 0.3
"""A question with this share of common English words is in English."""

MIN_WORDS_TO_TELL = 3
"""Fewer words may be names or terms of any language."""

_ASKS_FOR_NEWEST = re.compile(
    r"\b(current|currently|now|nowadays|latest|newest|still|today|these days|most recent"
    r"|up to date|at the moment|present)\b",
    re.I,
)
_ASKS_FOR_PAST = re.compile(
    r"\b(was|were|did|had|used to|before|previous|previously|former|formerly|earlier|originally"
    r"|first|old|initial|initially|until)\b",
    re.I,
)


class Words(NamedTuple):
    """How the words of a question weigh."""

    rarities: Mapping[str, float]
    mean_length: float
    whole: float
    """What a passage with all of them has."""
    known_share: float
    """The share of that whole that any passage of the store can have."""
    names: Collection[str]
    whole_without_names: float

    @classmethod
    def of(cls, asked: Asked) -> "Words":
        """The words of this question."""
        passages, mean_length, frequencies = asked.statistics
        rarities = {}
        for term in asked.terms:
            if term in asked.date_terms:
                # Dates are compared as dates: the 4th of March is not the 4th of May.
                continue
            weight = rarity(term, frequencies.get(term, 0), passages)
            rarities[term] = BOOSTED_TERM_WEIGHT * weight if term in asked.boosted else weight
        whole = _most(rarities.values())
        known = _most(weight for term, weight in rarities.items() if frequencies.get(term))
        names = asked.name_terms
        without_names = _most(weight for term, weight in rarities.items() if term not in names)
        return cls(
            rarities,
            mean_length or TYPICAL_LENGTH,
            whole,
            known / whole if whole else 0.0,
            names,
            without_names,
        )


def coverage(words: Words, present: Iterable[str]) -> float:
    """The share of the words of a question, without names of speakers, that some of them are."""
    whole = words.whole_without_names
    if not whole:
        return 0.0
    names = words.names
    return min(1.0, sum(words.rarities[term] for term in present if term not in names) / whole)


def _most(rarities: Iterable[float]) -> float:
    """What the most telling words have together: no passage holds more of a long question."""
    return sum(sorted(rarities, reverse=True)[:MAX_COUNTED_TERMS])


class Match(NamedTuple):
    """How many of the question's words a passage has."""

    share: float
    """By BM25, as a share of what the whole question could give."""
    coverage: float
    """The share of the words without names of speakers."""
    rarest: float
    """How telling the most telling of them is."""
    found: frozenset[str] = frozenset()
    """Which of the words it has."""


NO_MATCH = Match(0.0, 0.0, 0.0)


def match(words: Words, terms: Sequence[str]) -> Match:
    """Compare the words of a question with the terms of a passage."""
    rarities = words.rarities
    found = [term for term in terms if term in rarities]
    if not found:
        return NO_MATCH
    norm = BM25_K1 * (1 - BM25_B + BM25_B * len(terms) / words.mean_length)
    score = 0.0
    covered = 0.0
    rarest = 0.0
    present = frozenset(found)
    for term in present:
        times = found.count(term)
        weight = rarities[term]
        score += weight * times * (BM25_K1 + 1) / (times + norm)
        if term not in words.names:
            covered += weight
            rarest = max(rarest, weight)
    without_names = words.whole_without_names
    return Match(
        share=min(1.0, score / words.whole),
        coverage=min(1.0, covered / without_names) if without_names else 0.0,
        rarest=min(1.0, rarest / RAREST),
        found=present,
    )


class Question(NamedTuple):
    """What the signals need to know of a question."""

    asked: Asked
    words: Words
    speakers: Mapping[str, float]
    """The only speaker whom it names, and how sure that is; nobody if it names several."""
    periods: Sequence[Period]
    """The dates that it names."""
    asks_when: bool
    asks_for_type: str
    """What kind of answer it asks for, if that can be told; else empty."""
    asks_for_newest: bool
    asks_for_past: bool
    length: float
    foreign: float
    """How far it seems to be in another language than English, which the model knows little of."""

    @classmethod
    def of(cls, asked: Asked, years: Sequence[int]) -> "Question":
        """The question, for passages of these years."""
        sure = [speaker for speaker in asked.named if speaker.certainty >= 1.0]
        named = sure or list(asked.named)
        only = {named[0].name: named[0].certainty} if len(named) == 1 else {}
        return cls(
            asked=asked,
            words=Words.of(asked),
            speakers=only,
            periods=named_periods(asked.text, years),
            asks_when=asks_when(asked.text),
            asks_for_type=asked_type(asked.text),
            asks_for_newest=_ASKS_FOR_NEWEST.search(asked.text) is not None,
            asks_for_past=_ASKS_FOR_PAST.search(asked.text) is not None,
            length=math.log1p(len(asked.terms)) / 3,
            foreign=_foreign(asked.text),
        )


def _foreign(text: str) -> float:
    if len(text.split()) < MIN_WORDS_TO_TELL and text.isascii():
        return 0.0
    return max(0.0, 1 - english_share(text) / ENGLISH_SHARE)


class Signals:
    """Computes the signals of passages for one question."""

    def __init__(self, asked: Asked, known: Surroundings) -> None:
        self._known = known.evidence
        self._cosines = known.cosines
        self._superseded = known.superseded
        self._years = sorted({int(passage.at[:4]) for _, passage, _, _ in self._known.values()})
        self._question = Question.of(asked, self._years)
        self._matches: dict[PassageRef, Match] = {}

    def of(self, ref: PassageRef) -> dict[str, float]:
        """The signals of a passage by name; those of 0 may be left out."""
        _, passage, terms, cosine = self._known[ref]
        question = self._question
        own = self._match(ref)
        signals = {
            "words": own.share,
            "coverage": own.coverage,
            "rarest": own.rarest,
            "known": question.words.known_share,
            "question_length": question.length,
            "length": math.log1p(len(terms)) / 5,
        }
        if own.coverage >= ALL:
            asks_for_one = len(question.words.rarities) == 1
            signals["only_word" if asks_for_one else "all_words"] = 1.0
        if cosine is not None:
            signals["meaning"] = max(cosine, 0.0)
        if question.foreign:
            signals["foreign"] = question.foreign
            signals["foreign_meaning"] = question.foreign * max(cosine or 0.0, 0.0)
            signals["foreign_words"] = question.foreign * own.share
            signals["foreign_coverage"] = question.foreign * own.coverage
        self._add_neighbours(signals, ref)
        self._add_people_and_time(signals, passage)
        self._add_wishes(signals, passage, terms)
        return signals

    def _match(self, ref: PassageRef) -> Match:
        found = self._matches.get(ref)
        if found is None:
            _, _, terms, _ = self._known[ref]
            found = self._matches[ref] = match(self._question.words, terms)
        return found

    def _neighbour(self, ref: PassageRef, step: int) -> PassageRef | None:
        other = PassageRef(ref + step)
        if other in self._known and item_row_of(other) == item_row_of(ref):
            return other
        return None

    def _add_neighbours(self, signals: dict[str, float], ref: PassageRef) -> None:
        """What stands before and after the passage."""
        before = self._neighbour(ref, -1)
        after = self._neighbour(ref, 1)
        if before is None and after is None:
            signals["alone"] = 1.0
            return
        _, own, _, _ = self._known[ref]
        if own.speaker is not None:
            signals["dialogue"] = 1.0
        self._add_session(signals, ref)
        self._add_near_words(signals, ref)
        if before is not None:
            _, passage, _, cosine = self._known[before]
            kind = "previous"
            if "?" in passage.text[-QUESTION_MARK_CHARACTERS:]:
                # What follows a question may be the answer.
                signals["answers"] = 1.0
                kind = "answered"
            signals[f"{kind}_words"] = self._match(before).share
            signals[f"{kind}_meaning"] = max(cosine or 0.0, 0.0)
        if after is not None:
            _, _, _, cosine = self._known[after]
            signals["next_words"] = self._match(after).share
            signals["next_meaning"] = max(cosine or 0.0, 0.0)

    def _add_near_words(self, signals: dict[str, float], ref: PassageRef) -> None:
        """The share of the words that only stand a little before or after it."""
        own = self._match(ref).found
        near: set[str] = set()
        for step in range(-NEAR_REACH, NEAR_REACH + 1):
            other = self._neighbour(ref, step)
            if other is not None and step:
                near |= self._match(other).found
        near -= own
        if near:
            signals["near_words"] = coverage(self._question.words, near)

    def _add_session(self, signals: dict[str, float], ref: PassageRef) -> None:
        """What is said a little before and after: the best of it, and the mean of the best."""
        row = item_row_of(ref)
        first = max(ref - SESSION_REACH, passage_ref(row, 0))
        end = min(ref + SESSION_REACH + 1, passage_ref(row + 1, 0))
        cosine_of = self._cosines.get
        around = [cosine_of(PassageRef(other), 0.0) for other in range(first, ref)]
        around += [cosine_of(PassageRef(other), 0.0) for other in range(ref + 1, end)]
        best = sorted(around, reverse=True)[:SESSION_BEST]
        signals["session"] = max(best[0], 0.0)
        signals["session_mean"] = max(sum(best) / SESSION_BEST, 0.0)

    def _add_people_and_time(self, signals: dict[str, float], passage: Passage) -> None:
        question = self._question
        if question.speakers and passage.speaker is not None:
            certainty = question.speakers.get(passage.speaker)
            if certainty is None:
                signals["other_speaker"] = 1.0
            else:
                signals["speaker"] = certainty
        if question.periods:
            self._add_date(signals, passage)
        if question.asks_when and has_time_words(passage.text):
            signals["time_words"] = 1.0
        if question.asks_for_type and not has_type(question.asks_for_type, passage.text):
            signals["lacks_type"] = 1.0
        if passage.text.rstrip().endswith("?"):
            signals["is_question"] = 1.0
        if passage.item in self._superseded:
            if question.asks_for_newest:
                signals["superseded_now"] = 1.0
            elif not question.asks_for_past:
                signals["superseded"] = 1.0

    def _add_date(self, signals: dict[str, float], passage: Passage) -> None:
        """How near the day of the passage, or one that it names, is to what is asked about."""
        day = date.fromisoformat(passage.at[:10])
        distance_days = min(period.days_from(day) for period in self._question.periods)
        signals["date"] = math.exp(-distance_days / DATE_FADE_DAYS)
        if distance_days == 0:
            signals["on_date"] = 1.0
        if self._names_asked_date(passage.text):
            signals["mentions_date"] = 1.0

    def _names_asked_date(self, text: str) -> bool:
        """Whether a text names a day or month that the question asks about."""
        named = named_periods(text, self._years)
        asked = self._question.periods
        return any(period.holds(other) for period in asked for other in named)

    def _add_wishes(
        self, signals: dict[str, float], passage: Passage, terms: Sequence[str]
    ) -> None:
        """What the caller asks for beside the question itself: phrases and entities."""
        asked = self._question.asked
        if asked.phrases:
            signals["phrase"] = phrase_share(terms, asked.phrases)
        if asked.entities:
            present = frozenset(terms)
            named = sum(entity <= present for entity in asked.entities)
            signals["entities"] = named / len(asked.entities)
