"""Scores as the similarities of this family, whose documents recommend thresholds of 0.7 to 0.9.

A score is a probability everywhere else. Here the floor below which a hit is most likely unrelated
is a similarity of 0.7, so that the documented default keeps what is worth returning. The order is
the same.
"""

FLOOR_SIMILARITY = 0.7


def similarity_of(score: float, floor: float) -> float:
    """What a score is worth as a similarity."""
    if score < floor:
        return round(FLOOR_SIMILARITY * score / floor, 4)
    return round(FLOOR_SIMILARITY + (1 - FLOOR_SIMILARITY) * (score - floor) / (1 - floor), 4)


def score_of(similarity: float, floor: float) -> float:
    """The score that is worth a similarity."""
    if similarity < FLOOR_SIMILARITY:
        return floor * similarity / FLOOR_SIMILARITY
    return floor + (1 - floor) * (similarity - FLOOR_SIMILARITY) / (1 - FLOOR_SIMILARITY)
