"""How a hit gets its place: text and meaning weighed together, then neighbours, names, dates and groups."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from memolith.engine.ports import Asked, Evidence, Place, Ranked
from memolith.retrieval.dates import Days, days_off, named_days, tells_time

K1, B = 0.9, 0.4
ANSWER, BEFORE, AFTER = 0.5, 0.1, 0.1
SPEAKER, DATE, WHEN, GROUP = 0.2, 0.2, 0.1, 0.3
FADE_DAYS = 14
TEXT_SHARE = 0.6
# Fitted to all-MiniLM-L6-v2: 0.70 drops what is clearly unrelated, 0.90 marks near-duplicates.
ANCHORS = ((0.0, 0.0), (0.28, 0.70), (0.86, 0.90), (1.0, 1.0))
_WHEN = re.compile(r"\s*(when|how long|since when|what (year|month|date|day)|which (year|month|week|day)|in which)",
                   re.I)


def similarity(cosine: float) -> float:
    """What a cosine is worth by itself."""
    return next((low + (high - low) * (max(cosine, 0.0) - left) / (right - left)
                 for (left, low), (right, high) in pairwise(ANCHORS) if cosine <= right), 1.0)


def cosine(similarity: float) -> float:
    """The least cosine that is worth so much, but for rounding."""
    return next(left + (right - left) * (similarity - low) / (high - low)
                for (left, low), (right, high) in pairwise(ANCHORS) if similarity <= high) - 1e-6


def pairs(vectors: Sequence[tuple[Place, bytes]], threshold: float, most: int,
          tell: Callable[[int, int], None]) -> list[tuple[Place, Place, float]]:
    """The most similar pairs, with what their cosine is worth."""
    if not vectors:
        return []
    # numpy costs 0.1 CPU seconds to import, and nothing before the first comparison needs it.
    from memolith.retrieval.vectors import closest
    found = closest([row for _, row in vectors], cosine(threshold), most, tell)
    return [(vectors[int(one)][0], vectors[int(two)][0], similarity(near)) for one, two, near in found.tolist()]


def judge(asked: Asked, pool: Sequence[Evidence]) -> list[Ranked]:
    """Each candidate by itself, without boosts, in the order given."""
    weights = _weights(asked)
    return [_judged(asked, evidence, weights) for evidence in pool]


def rank(asked: Asked, pool: Sequence[Evidence]) -> list[Ranked]:
    """Best first, with the boosts that neighbours, names and dates give."""
    judged = judge(asked, pool)
    places: dict[tuple[int, int], Ranked] = {one.place: one for one in judged}
    days = named_days(asked.text, sorted({int(one.passage.at[:4]) for one in judged}))
    asks_when = bool(_WHEN.match(asked.text))
    boosts = [_boosts(asked, one, places, days, asks_when) for one in judged]
    totals = [one.order + sum(boost.values()) for one, boost in zip(judged, boosts, strict=True)]
    groups = _groups(judged, totals)
    made = []
    for one, total, boost in zip(judged, totals, boosts, strict=True):
        group = groups[one.place.item]
        reasons = {**one.reasons, **boost, "group": group}
        made.append(Ranked(one.place, one.passage, total + group, one.similarity, reasons))
    return sorted(made, key=lambda one: (-one.order, one.place))


def _weights(asked: Asked) -> tuple[dict[str, float], float, float]:
    """The weight of each term, their sum over terms that are known here, and over all."""
    count, found = asked.statistics.passages, asked.statistics.frequencies
    weights = {term: math.log(1 + (count - found.get(term, 0) + 0.5) / (found.get(term, 0) + 0.5))
               for term in asked.terms}
    known = sum(weight for term, weight in weights.items() if found.get(term))
    return weights, known, sum(weights.values())


def _judged(asked: Asked, evidence: Evidence, weighed: tuple[dict[str, float], float, float]) -> Ranked:
    weights, known, ideal = weighed
    raw = _bm25(evidence.words, weights, asked.statistics.mean_length)
    text = raw / known if known else 0.0
    cosine = evidence.cosine
    share = min(1.0, raw / ideal) if ideal else 0.0
    # A passage without a vector is judged by its text alone.
    meaning = max(cosine, 0.0) if cosine is not None else share
    worth = similarity(1 - (1 - meaning) * (1 - TEXT_SHARE * share))
    reasons = {"text": text} if cosine is None else {"text": text, "cosine": cosine}
    order = (cosine if cosine is not None else share) + text
    return Ranked(evidence.place, evidence.passage, order, round(worth, 4), reasons)


def _bm25(words: Sequence[str], weights: dict[str, float], mean: float) -> float:
    total = 0.0
    norm = K1 * (1 - B + B * len(words) / mean) if mean else K1
    for term, weight in weights.items():
        if times := words.count(term):
            total += weight * times * (K1 + 1) / (times + norm)
    return total


def _boosts(asked: Asked, one: Ranked, places: Mapping[tuple[int, int], Ranked], days: Days,
            asks_when: bool) -> dict[str, float]:
    """What a passage gains from its neighbours, its speaker and its time; a reply, from the question before it."""
    item, ordinal = one.place
    boosts = {"neighbours": 0.0}
    if before := places.get((item, ordinal - 1)):
        boosts["neighbours"] += (ANSWER if "?" in before.passage.text[-120:] else BEFORE) * before.order
    if after := places.get((item, ordinal + 1)):
        boosts["neighbours"] += AFTER * after.order
    if asked.named == (one.passage.speaker,):
        boosts["speaker"] = SPEAKER
    if days:
        boosts["date"] = DATE * math.exp(-days_off(one.passage.at, days) / FADE_DAYS)
    if asks_when and tells_time(one.passage.text):
        boosts["when"] = WHEN
    return boosts


def _groups(judged: list[Ranked], totals: list[float]) -> dict[int, float]:
    """By how much an item with several good passages lifts them all."""
    best: dict[int, list[float]] = defaultdict(list)
    for one, total in zip(judged, totals, strict=True):
        best[one.place.item].append(total)
    return {item: GROUP * sum(score * 0.5 ** n for n, score in enumerate(sorted(scores, reverse=True)[:5]))
            for item, scores in best.items()}
