"""How a hit gets its place: text and meaning weighed together, then neighbours, names, dates and groups."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from itertools import pairwise

from memolith.domain.passages import PassageRef, item_row_of
from memolith.ports.ranker import Asked, Evidence, Ranked

Days = list[tuple[date, date]]
K1, B = 0.9, 0.4
ANSWER, BEFORE, AFTER = 0.5, 0.1, 0.1
SPEAKER, DATE, WHEN, GROUP, ENTITIES = 0.2, 0.2, 0.1, 0.3, 0.5
BOOSTED, FADE_DAYS, TEXT_SHARE, SQUARE = 1.5, 14, 0.6, 1024
# Fitted to all-MiniLM-L6-v2: 0.70 drops what is clearly unrelated, 0.90 marks near-duplicates.
STEPS = tuple(pairwise(((0.0, 0.0), (0.28, 0.70), (0.86, 0.90), (1.0, 1.0))))
_WHEN = re.compile(
    r"\s*(when|how long|since when|what (year|month|date|day)|which (year|month|week|day)|in which)",
    re.I,
)
_MONTHS = {
    name: n + 1
    for n, name in enumerate(
        "january february march april may june july august september october november december".split()
    )
}
_NUMBERS = _MONTHS | {name[:3]: n for name, n in _MONTHS.items()} | {"sept": 9}
_NAME = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_DAYS = [
    re.compile(pattern)
    for pattern in (
        r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)\b",
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_NAME})\b\.?,?(?: (?P<year>\d{{4}}))?",
        rf"\b(?P<month>{_NAME})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d),?(?: (?P<year>\d{{4}}))?",
    )
]
_MONTH = re.compile(rf"\b({_NAME})\b,?(?: (?:of )?(\d{{4}}))?")
_MAY = re.compile(r"\b(in|of|during|since|until|early|mid|late|by) may\b")
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_TIME_WORDS = re.compile(
    r"\b(yesterday|today|tonight|tomorrow|last|next|ago|week|weekend|month|year|morning|evening|night|recently|since|"
    rf"(?:mon|tues|wednes|thurs|fri|satur|sun)day|{'|'.join(_MONTHS)}|20\d\d|\d+ (?:days|weeks|months|years))\b",
    re.I,
)


def similarity(cosine: float) -> float:
    """What a cosine is worth by itself."""
    for (left, low), (right, high) in STEPS:
        if cosine <= right:
            return low + (high - low) * (max(cosine, 0.0) - left) / (right - left)
    return 1.0


def cosine(similarity: float) -> float:
    """The least cosine that is worth so much, but for rounding."""
    return (
        next(
            left + (right - left) * (similarity - low) / (high - low)
            for (left, low), (right, high) in STEPS
            if similarity <= high
        )
        - 1e-6
    )


def pairs(
    vectors: Sequence[tuple[PassageRef, bytes]],
    threshold: float,
    most: int,
    tell: Callable[[int, int], None],
) -> list[tuple[PassageRef, PassageRef, float]]:
    """The most similar pairs, with what their cosine is worth."""
    if not vectors:
        return []
    # numpy costs 0.1 CPU seconds to import, and nothing before the first comparison needs it.
    import numpy as np

    least, best = max(cosine(threshold), 1e-6), np.empty((0, 3))
    matrix = np.frombuffer(b"".join(row for _, row in vectors), "<f4").reshape(len(vectors), -1)
    for start in range(0, len(matrix), SQUARE):
        for other in range(start, len(matrix), SQUARE):
            cosines = matrix[start : start + SQUARE] @ matrix[other : other + SQUARE].T
            first, second = np.nonzero(np.triu(cosines, start - other + 1) >= least)
            best = np.concatenate(
                (best, np.column_stack((first + start, second + other, cosines[first, second])))
            )
            if len(best) > most:
                best = best[np.argsort(-best[:, 2], kind="stable")[:most]]
                least = best[-1, 2]
        tell(min(start + SQUARE, len(matrix)), len(matrix))
    return [
        (vectors[int(one)][0], vectors[int(two)][0], similarity(near))
        for one, two, near in best[np.argsort(-best[:, 2], kind="stable")].tolist()
    ]


def judge(asked: Asked, pool: Sequence[Evidence]) -> list[Ranked]:
    """Each candidate by itself, without boosts but for the entities in it, in the order given."""
    count, found = asked.statistics.passages, asked.statistics.frequencies
    weights = {
        term: math.log(1 + (count - found.get(term, 0) + 0.5) / (found.get(term, 0) + 0.5))
        * (BOOSTED if term in asked.boosted else 1.0)
        for term in asked.terms
    }
    # What the terms that are known here could give at most, and what all of them could.
    known = sum(weight for term, weight in weights.items() if found.get(term))
    ideal = sum(weights.values())
    judged = [
        _judged(evidence, weights, asked.statistics.mean_length, known, ideal) for evidence in pool
    ]
    for n, (_, _, words, _) in enumerate(pool if asked.entities else ()):
        share = (
            ENTITIES * sum(map(frozenset(words).issuperset, asked.entities)) / len(asked.entities)
        )
        one = judged[n]
        judged[n] = one._replace(
            order=one.order + share, reasons={**one.reasons, "entities": share}
        )
    return judged


def rank(asked: Asked, pool: Sequence[Evidence]) -> list[Ranked]:
    """Best first, with the boosts that neighbours, names and dates give."""
    judged = judge(asked, pool)
    places = {one.ref: one for one in judged}
    days = _named_days(asked.text, sorted({int(one.passage.at[:4]) for one in judged}))
    asks_when = bool(_WHEN.match(asked.text))
    boosts = [_boosts(asked, one, places, days, asks_when) for one in judged]
    totals = [one.order + sum(boost.values()) for one, boost in zip(judged, boosts, strict=True)]
    best: dict[int, list[float]] = defaultdict(list)
    for one, total in zip(judged, totals, strict=True):
        best[item_row_of(one.ref)].append(total)
    # By how much an item with several good passages lifts them all.
    groups = {
        item: GROUP
        * sum(score * 0.5**n for n, score in enumerate(sorted(scores, reverse=True)[:5]))
        for item, scores in best.items()
    }
    made = [
        Ranked(
            one.ref,
            one.passage,
            total + (group := groups[item_row_of(one.ref)]),
            one.similarity,
            {**one.reasons, **boost, "group": group},
        )
        for one, total, boost in zip(judged, totals, boosts, strict=True)
    ]
    return sorted(made, key=lambda one: (-one.order, one.ref))


def _judged(
    evidence: Evidence, weights: dict[str, float], mean: float, known: float, ideal: float
) -> Ranked:
    ref, passage, words, cosine = evidence
    norm = K1 * (1 - B + B * len(words) / mean) if mean else K1
    found = [word for word in words if word in weights]
    raw = sum(
        weights[term] * times * (K1 + 1) / (times + norm)
        for term in weights
        if (times := found.count(term))
    )
    text = raw / known if known else 0.0
    share = min(1.0, raw / ideal) if ideal else 0.0
    # A passage without a vector is judged by its text alone.
    meaning = max(cosine, 0.0) if cosine is not None else share
    worth = similarity(1 - (1 - meaning) * (1 - TEXT_SHARE * share))
    reasons = {"text": text} if cosine is None else {"text": text, "cosine": cosine}
    order = (cosine if cosine is not None else share) + text
    return Ranked(ref, passage, order, round(worth, 4), reasons)


def _boosts(
    asked: Asked, one: Ranked, places: Mapping[PassageRef, Ranked], days: Days, asks_when: bool
) -> dict[str, float]:
    """What a passage gains from its neighbours, its speaker and its time; a reply, from the question before it."""
    boosts = {"neighbours": 0.0}
    if before := places.get(PassageRef(one.ref - 1)):
        boosts["neighbours"] += (
            ANSWER if "?" in before.passage.text[-120:] else BEFORE
        ) * before.order
    if after := places.get(PassageRef(one.ref + 1)):
        boosts["neighbours"] += AFTER * after.order
    if asked.named == (one.passage.speaker,):
        boosts["speaker"] = SPEAKER
    if days:
        day = date.fromisoformat(one.passage.at[:10])
        off = min(
            0 if first <= day <= last else min(abs((day - first).days), abs((day - last).days))
            for first, last in days
        )
        boosts["date"] = DATE * math.exp(-off / FADE_DAYS)
    if asks_when and _TIME_WORDS.search(one.passage.text):
        boosts["when"] = WHEN
    return boosts


def _named_days(question: str, years: list[int]) -> Days:
    """The stretches of days that a question names; without a year, that day or month of each of the years."""
    text, found = question.lower(), Days()
    for match in (match for pattern in _DAYS for match in pattern.finditer(text)):
        for year in [int(match["year"])] if match["year"] else years:
            with suppress(ValueError):
                day = date(
                    year, _NUMBERS.get(match["month"]) or int(match["month"]), int(match["day"])
                )
                found.append((day, day))
    if found:
        return found
    for match in _MONTH.finditer(text):
        if match[1] == "may" and not match[2] and not _MAY.search(text):
            continue
        for year in [int(match[2])] if match[2] else years:
            if 1 <= year < 9999:
                first = date(year, _NUMBERS[match[1]], 1)
                found.append(
                    (first, (first + timedelta(days=32)).replace(day=1) - timedelta(days=1))
                )
    return found or [
        (date(int(year), 1, 1), date(int(year), 12, 31)) for year in _YEAR.findall(text)
    ]
