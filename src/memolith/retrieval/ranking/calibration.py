"""What a cosine is worth: a similarity from 0 to 1 that means the same for every model."""

from itertools import pairwise
from typing import NamedTuple


class Point(NamedTuple):
    """A cosine, and the similarity that it is worth."""

    cosine: float
    similarity: float


CURVE = (
    Point(cosine=0.0, similarity=0.0),
    Point(cosine=0.28, similarity=0.70),
    Point(cosine=0.86, similarity=0.90),
    Point(cosine=1.0, similarity=1.0),
)
"""Fitted to all-MiniLM-L6-v2, so that a threshold of 0.70 drops what is clearly unrelated and 0.90
marks near-duplicates. Between two points the curve is a straight line."""

ROUNDING = 1e-6
HALF_OF_LAST_DIGIT = 0.5e-4
"""Similarities are shown with four digits; what is shown as a threshold has reached it."""


def similarity_of(cosine: float) -> float:
    """Return what a cosine is worth by itself."""
    for left, right in pairwise(CURVE):
        if cosine <= right.cosine:
            rise = right.similarity - left.similarity
            run = right.cosine - left.cosine
            return left.similarity + rise * (max(cosine, 0.0) - left.cosine) / run
    return 1.0


def cosine_of(similarity: float) -> float:
    """Return the smallest cosine that is shown as a similarity from 0 to 1."""
    similarity = max(similarity - HALF_OF_LAST_DIGIT, 0.0)
    for left, right in pairwise(CURVE):
        if similarity <= right.similarity:
            run = right.cosine - left.cosine
            rise = right.similarity - left.similarity
            return left.cosine + run * (similarity - left.similarity) / rise - ROUNDING
    raise ValueError(f"A similarity of {similarity} is above 1.")
