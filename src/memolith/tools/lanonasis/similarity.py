"""Scores as the similarities of this family, whose documents recommend thresholds of 0.7 to 0.9.

A score is a probability everywhere else. Here the floor below which a hit is most likely unrelated
is a similarity of 0.7, so that the documented default keeps what is worth returning. The order is
the same.
"""

import math

FLOOR_SIMILARITY = 0.7
DIGITS = 4


def similarity_of(score: float, floor: float) -> float:
    """What a score is worth as a similarity."""
    if score < floor:
        return round(FLOOR_SIMILARITY * score / floor, DIGITS)
    above = (score - floor) / (1 - floor)
    return round(FLOOR_SIMILARITY + (1 - FLOOR_SIMILARITY) * above, DIGITS)


def score_of(similarity: float, floor: float) -> float:
    """The lowest score that is shown as this similarity or a higher one."""
    last_digit: float = 10.0**-DIGITS
    shown = math.ceil(round(similarity / last_digit, DIGITS)) * last_digit
    lowest = max(shown - last_digit / 2, 0.0)
    if lowest < FLOOR_SIMILARITY:
        return floor * lowest / FLOOR_SIMILARITY
    return floor + (1 - floor) * (lowest - FLOOR_SIMILARITY) / (1 - FLOOR_SIMILARITY)
