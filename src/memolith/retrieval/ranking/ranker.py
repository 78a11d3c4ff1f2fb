"""How a hit gets its place: text and meaning together, then boosts for what stands around it."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from memolith.domain.passages import PassageRef, item_row_of
from memolith.ports.ranker import Asked, Evidence, Ranked
from memolith.retrieval.ranking.calibration import cosine_of, similarity_of
from memolith.retrieval.ranking.dates import Period, asks_when, has_time_words, named_periods
from memolith.retrieval.ranking.pairs import most_similar_pairs
from memolith.retrieval.ranking.weights import (
    ANSWER_WEIGHT,
    BM25_B,
    BM25_K1,
    BOOSTED_TERM_WEIGHT,
    DATE_FADE_DAYS,
    DATE_WEIGHT,
    ENTITY_WEIGHT,
    GROUP_DECAY,
    GROUP_PASSAGES,
    GROUP_WEIGHT,
    NEXT_NEIGHBOUR_WEIGHT,
    PREVIOUS_NEIGHBOUR_WEIGHT,
    SPEAKER_WEIGHT,
    TEXT_SHARE_OF_SIMILARITY,
    TIME_WORDS_WEIGHT,
)

QUESTION_MARK_CHARS = 120
"""A passage is a question if it has a question mark in its last characters."""


class HybridRanker:
    """Ranks by words and meaning together; weights.py has the weights."""

    def similarity(self, cosine: float) -> float:
        """Return what a cosine is worth by itself."""
        return similarity_of(cosine)

    def cosine(self, similarity: float) -> float:
        """Return the smallest cosine that is worth a similarity."""
        return cosine_of(similarity)

    def pairs(
        self,
        vectors: Sequence[tuple[PassageRef, bytes]],
        threshold: float,
        most: int,
        tell: Callable[[int, int], None],
    ) -> list[tuple[PassageRef, PassageRef, float]]:
        """Return the most similar pairs with their similarities, the best first."""
        return most_similar_pairs(vectors, threshold, most, tell)

    def judge(self, asked: Asked, pool: Sequence[Evidence]) -> list[Ranked]:
        """Score each candidate by itself, in the order of the pool.

        Of the boosts, only that of the entities in the passage counts.
        """
        terms = _TermWeights.of(asked)
        judged = [_judged(evidence, terms) for evidence in pool]
        if not asked.entities:
            return judged
        return [
            _with_entities(ranked, evidence, asked.entities)
            for ranked, evidence in zip(judged, pool, strict=True)
        ]

    def rank(self, asked: Asked, pool: Sequence[Evidence]) -> list[Ranked]:
        """Score the candidates with all boosts, the best first."""
        judged = self.judge(asked, pool)
        surroundings = _Surroundings.of(asked, judged)
        boosts = [_boosts(ranked, surroundings) for ranked in judged]
        totals = [
            ranked.order + sum(boost.values()) for ranked, boost in zip(judged, boosts, strict=True)
        ]
        group_boosts = _group_boosts(judged, totals)
        ranking = []
        for ranked, boost, total in zip(judged, boosts, totals, strict=True):
            group_boost = group_boosts[item_row_of(ranked.ref)]
            ranking.append(
                Ranked(
                    ref=ranked.ref,
                    passage=ranked.passage,
                    order=total + group_boost,
                    similarity=ranked.similarity,
                    reasons={**ranked.reasons, **boost, "group": group_boost},
                )
            )
        ranking.sort(key=lambda ranked: (-ranked.order, ranked.ref))
        return ranking


class _TermWeights(NamedTuple):
    """How much each term of the question counts."""

    weights: dict[str, float]
    """The inverse document frequencies."""
    mean_length: float
    """The mean number of words of a passage."""
    sum_of_known: float
    """What the terms that occur in any passage can give at most."""
    sum_of_all: float

    @classmethod
    def of(cls, asked: Asked) -> "_TermWeights":
        passages = asked.statistics.passages
        frequencies = asked.statistics.frequencies
        weights = {}
        for term in asked.terms:
            frequency = frequencies.get(term, 0)
            weight = math.log(1 + (passages - frequency + 0.5) / (frequency + 0.5))
            if term in asked.boosted:
                weight *= BOOSTED_TERM_WEIGHT
            weights[term] = weight
        known = [weight for term, weight in weights.items() if frequencies.get(term)]
        return cls(weights, asked.statistics.mean_length, sum(known), sum(weights.values()))


class _Surroundings(NamedTuple):
    """What the boosts of a candidate depend on, beside the candidate itself."""

    candidates: Mapping[int, Ranked]
    """All candidates by their references."""
    only_speaker: str | None
    """The person whom the question names, if it names one only."""
    periods: list[Period]
    """The dates that the question names."""
    asks_when: bool

    @classmethod
    def of(cls, asked: Asked, judged: Sequence[Ranked]) -> "_Surroundings":
        years = sorted({int(ranked.passage.at[:4]) for ranked in judged})
        return cls(
            candidates={ranked.ref: ranked for ranked in judged},
            only_speaker=asked.named[0] if len(asked.named) == 1 else None,
            periods=named_periods(asked.text, years),
            asks_when=asks_when(asked.text),
        )


def _judged(evidence: Evidence, terms: _TermWeights) -> Ranked:
    ref, passage, words, cosine = evidence
    raw = _bm25(words, terms)
    text = raw / terms.sum_of_known if terms.sum_of_known else 0.0
    text_share = min(1.0, raw / terms.sum_of_all) if terms.sum_of_all else 0.0
    if cosine is None:
        # A passage without a vector is judged by its text alone.
        meaning = text_share
        order = text_share + text
        reasons = {"text": text}
    else:
        meaning = max(cosine, 0.0)
        order = cosine + text
        reasons = {"text": text, "cosine": cosine}
    similarity = similarity_of(1 - (1 - meaning) * (1 - TEXT_SHARE_OF_SIMILARITY * text_share))
    return Ranked(ref, passage, order, round(similarity, 4), reasons)


def _bm25(words: Sequence[str], terms: _TermWeights) -> float:
    """The text score of a passage by Okapi BM25."""
    norm = BM25_K1
    if terms.mean_length:
        norm = BM25_K1 * (1 - BM25_B + BM25_B * len(words) / terms.mean_length)
    weights = terms.weights
    found = [word for word in words if word in weights]
    counts = [(weight, found.count(term)) for term, weight in weights.items()]
    return sum(weight * times * (BM25_K1 + 1) / (times + norm) for weight, times in counts if times)


def _with_entities(
    ranked: Ranked, evidence: Evidence, entities: Sequence[frozenset[str]]
) -> Ranked:
    """Boost a candidate by the share of the question's entities that it names."""
    _, _, words, _ = evidence
    has_words = frozenset(words).issuperset
    named = sum(has_words(entity) for entity in entities)
    boost = ENTITY_WEIGHT * named / len(entities)
    return ranked._replace(
        order=ranked.order + boost, reasons={**ranked.reasons, "entities": boost}
    )


def _boosts(ranked: Ranked, surroundings: _Surroundings) -> dict[str, float]:
    """What a passage gains from its neighbours, its speaker and its time."""
    boosts = {"neighbours": _neighbour_boost(ranked, surroundings.candidates)}
    only_speaker = surroundings.only_speaker
    if only_speaker is not None and ranked.passage.speaker == only_speaker:
        boosts["speaker"] = SPEAKER_WEIGHT
    if surroundings.periods:
        day = date.fromisoformat(ranked.passage.at[:10])
        distance_days = min(period.days_from(day) for period in surroundings.periods)
        boosts["date"] = DATE_WEIGHT * math.exp(-distance_days / DATE_FADE_DAYS)
    if surroundings.asks_when and has_time_words(ranked.passage.text):
        boosts["when"] = TIME_WORDS_WEIGHT
    return boosts


def _neighbour_boost(ranked: Ranked, candidates: Mapping[int, Ranked]) -> float:
    """What a passage gains from those before and after it, if they are candidates, too."""
    boost = 0.0
    before = candidates.get(ranked.ref - 1)
    if before is not None:
        is_question = "?" in before.passage.text[-QUESTION_MARK_CHARS:]
        weight = ANSWER_WEIGHT if is_question else PREVIOUS_NEIGHBOUR_WEIGHT
        boost += weight * before.order
    after = candidates.get(ranked.ref + 1)
    if after is not None:
        boost += NEXT_NEIGHBOUR_WEIGHT * after.order
    return boost


def _group_boosts(judged: Sequence[Ranked], totals: Sequence[float]) -> dict[int, float]:
    """By how much an item lifts its passages, by the row of the item."""
    scores: dict[int, list[float]] = defaultdict(list)
    for ranked, total in zip(judged, totals, strict=True):
        scores[item_row_of(ranked.ref)].append(total)
    boosts = {}
    for item_row, of_item in scores.items():
        best = sorted(of_item, reverse=True)[:GROUP_PASSAGES]
        decayed = sum(score * GROUP_DECAY**place for place, score in enumerate(best))
        boosts[item_row] = GROUP_WEIGHT * decayed
    return boosts
