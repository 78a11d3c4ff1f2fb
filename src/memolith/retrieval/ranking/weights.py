"""The learned weights of the score, from weights.toml.

`python -m bench.fit_ranking` fits them and writes the file; `python -m bench.retrieval` and
`python -m bench.notes` tell what they are worth.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from memolith.ports.ranker import READ_TOGETHER

FILE = Path(__file__).parent / "weights.toml"

BENDS = {"meaning": (0.3, 0.5), "words": (0.3,)}
"""Where the effect of a signal may change: above this it counts more or less than below."""

PAIRS = (
    ("meaning", "words"),
    ("meaning", "coverage"),
    ("alone", "meaning"),
    ("alone", "words"),
    ("alone", "coverage"),
    ("alone", "length"),
)
"""Signals that say more together: what stands alone is unlike a part of something longer."""

RIVALS = 5
"""With so many of the next hits the best one is compared."""

LOWEST_SHARE = 1e-4
"""A rival with a lower score counts as one with this score."""

MISSING_RIVAL = 0.01
"""A rival that is not there counts as one with this score, which is usual for the next best of
many: that a small store has nothing else does not make its best hit any surer."""

LACKS_TYPE = "no such answer"
"""The reason of a hit that has nothing of the kind that is asked for, such as a number."""

QUESTION_SIGNALS = ("dialogue", "known", "question_length", "foreign")
"""Signals that say more about the question or the store than about one hit."""


class Combination(NamedTuple):
    """How the signals of a kind of search add up, and what the sum is worth."""

    order: Mapping[str, float]
    """The weights of the signals: hits are in the order of their sum."""
    worth: Mapping[str, float]
    """The line with two bends that turns the sum into the logarithm of the odds."""


class Weights(NamedTuple):
    """The weights of each kind of search, and what a score is worth."""

    said: Combination
    """For messages of a conversation, in a search by words and meaning."""
    written: Combination
    """For notes and files, in a search by words and meaning."""
    text: Combination
    """For a search by words, and for passages that have no vector."""
    vector: Combination
    deep: Mapping[str, float]
    """For what the judge of deep search has read."""
    sure: Mapping[str, Mapping[str, float]]
    """For the certainty that the best hit is right, if it is said or written."""
    sure_deep: Mapping[str, Mapping[str, float]]
    """The same for a best hit that the judge has read."""
    strong: Mapping[str, float]
    """From which certainty on it is strong."""
    strong_deep: Mapping[str, float]
    """The same for a best hit that the judge has read."""
    floor: float
    likely: float

    def combinations(self) -> dict[str, Combination]:
        """The weights of the kinds of search by their names in the file."""
        return {
            "said": self.said,
            "written": self.written,
            "text": self.text,
            "vector": self.vector,
        }


@cache
def weights() -> Weights:
    """The weights of the file."""
    stored = tomllib.loads(FILE.read_text(encoding="utf-8"))
    bounds = stored["bounds"]
    return Weights(
        said=Combination(**stored["said"]),
        written=Combination(**stored["written"]),
        text=Combination(**stored["text"]),
        vector=Combination(**stored["vector"]),
        deep=stored["deep"],
        sure=stored["sure"],
        sure_deep=stored["sure_deep"],
        strong={"said": bounds["strong_said"], "written": bounds["strong_written"]},
        strong_deep={
            "said": bounds["strong_deep_said"],
            "written": bounds["strong_deep_written"],
        },
        floor=bounds["floor"],
        likely=bounds["likely"],
    )


def combination_of(signals: Mapping[str, float], mode: str, chosen: Weights) -> Combination:
    """The weights for a passage in a kind of search."""
    if mode == "vector":
        return chosen.vector
    if mode == "text" or "meaning" not in signals:
        # Without a vector it is judged by its words, and no higher for the lack of it.
        return chosen.text
    return chosen.said if signals.get("dialogue") else chosen.written


def bent(signals: Mapping[str, float]) -> dict[str, float]:
    """The signals, with those that come from a bend or from two of them together."""
    all_signals = dict(signals)
    for name, places in BENDS.items():
        value = signals.get(name, 0.0)
        for place in places:
            if value > place:
                all_signals[f"{name}_over_{place}"] = value - place
    for first, second in PAIRS:
        product = signals.get(first, 0.0) * signals.get(second, 0.0)
        if product:
            all_signals[f"{first}_and_{second}"] = product
    return all_signals


def total_of(signals: Mapping[str, float], order: Mapping[str, float]) -> float:
    """The weighted sum of the signals."""
    total = 0.0
    for name, value in signals.items():
        weight = order.get(name)
        if weight is not None:
            total += weight * value
    return total


def probability(signals: Mapping[str, float], chosen: Combination) -> float:
    """What the weighted sum of the signals is worth."""
    total = total_of(signals, chosen.order)
    worth = chosen.worth
    odds = worth["bias"] + worth["slope"] * total
    odds += worth["first_bend"] * max(0.0, total - worth["first_bend_at"])
    odds += worth["second_bend"] * max(0.0, total - worth["second_bend_at"])
    odds += worth["dialogue_slope"] * total * signals.get("dialogue", 0.0)
    for name in QUESTION_SIGNALS:
        odds += worth[name] * signals.get(name, 0.0)
    return squashed(odds)


def deepened(score: float, verdict: float, deep: Mapping[str, float]) -> float:
    """The score of a hit after the judge of deep search has read it."""
    return squashed(deep["bias"] + deep["score"] * unsquashed(score) + deep["verdict"] * verdict)


def sure_signals(scores: Sequence[float], reasons: Mapping[str, float]) -> dict[str, float]:
    """What tells whether the best hit of a list is right, from all scores and its own reasons."""
    odds = [unsquashed(max(score, LOWEST_SHARE)) for score in scores[: RIVALS + 1]]
    odds += [unsquashed(MISSING_RIVAL)] * (RIVALS + 1 - len(odds))
    return {
        "odds": odds[0],
        "lead": odds[0] - sum(odds[1:]) / RIVALS,
        "meaning": reasons.get("meaning", 0.0),
        "words": reasons.get("words", 0.0),
        "lacks_type": reasons.get(LACKS_TYPE, 0.0),
        "verdict": reasons.get(READ_TOGETHER, 0.0),
    }


def certainty(
    scores: Sequence[float], reasons: Mapping[str, float], sure: Mapping[str, float]
) -> float:
    """The probability that the best hit of a list is right: how good it is, and how far ahead."""
    signals = sure_signals(scores, reasons)
    return squashed(sure["bias"] + total_of(signals, sure))


def squashed(total: float) -> float:
    """A sum as a probability, by the logistic function."""
    if total < 0:
        power = math.exp(total)
        return power / (1 + power)
    return 1 / (1 + math.exp(-total))


def unsquashed(share: float) -> float:
    """The sum that is worth a probability."""
    share = min(max(share, 1e-6), 1 - 1e-6)
    return math.log(share / (1 - share))
