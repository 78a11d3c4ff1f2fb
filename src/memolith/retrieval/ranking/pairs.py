"""The most similar pairs among many vectors."""

from collections.abc import Callable, Sequence

from memolith.domain.passages import PassageRef
from memolith.retrieval.ranking.calibration import ROUNDING, cosine_of, similarity_of

SQUARE_SIDE = 1024
"""So many vectors at a time are compared with so many others."""


def most_similar_pairs(
    vectors: Sequence[tuple[PassageRef, bytes]],
    threshold: float,
    limit: int,
    report_progress: Callable[[int, int], None],
) -> list[tuple[PassageRef, PassageRef, float]]:
    """Return the most similar pairs with their similarities, the best first.

    All are at least as similar as the threshold. The vectors are unit vectors. Progress is
    reported as the number of vectors that are done, and of all.
    """
    if not vectors:
        return []
    # numpy costs 0.1 CPU seconds to import, and nothing before the first comparison needs it.
    import numpy as np

    refs = [ref for ref, _ in vectors]
    matrix = np.frombuffer(b"".join(row for _, row in vectors), "<f4").reshape(len(vectors), -1)
    min_cosine = max(cosine_of(threshold), ROUNDING)
    # A row has the places of both vectors, and their cosine.
    best = np.empty((0, 3))
    for start in range(0, len(matrix), SQUARE_SIDE):
        for other in range(start, len(matrix), SQUARE_SIDE):
            cosines = matrix[start : start + SQUARE_SIDE] @ matrix[other : other + SQUARE_SIDE].T
            above_diagonal = np.triu(cosines, start - other + 1)
            first, second = np.nonzero(above_diagonal >= min_cosine)
            found = np.column_stack((first + start, second + other, cosines[first, second]))
            best = np.concatenate((best, found))
            if len(best) > limit:
                best = best[np.argsort(-best[:, 2], kind="stable")[:limit]]
                min_cosine = best[-1, 2]
        report_progress(min(start + SQUARE_SIDE, len(matrix)), len(matrix))
    best = best[np.argsort(-best[:, 2], kind="stable")]
    return [
        (refs[int(first)], refs[int(second)], similarity_of(cosine))
        for first, second, cosine in best.tolist()
    ]
