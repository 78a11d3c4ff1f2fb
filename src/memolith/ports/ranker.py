"""How candidates of a search are weighed."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from memolith.domain.items import Item
from memolith.domain.passages import Passage, PassageRef
from memolith.ports.text_index import Statistics


class Asked(NamedTuple):
    """A question as the ranker sees it."""

    text: str
    terms: tuple[str, ...]
    statistics: Statistics
    named: tuple[str, ...] = ()
    """The speakers that the question names."""
    boosted: frozenset[str] = frozenset()
    """The terms that count more than others."""
    entities: tuple[frozenset[str], ...] = ()
    """The entities that the question names, each as the terms of its name."""


Evidence = tuple[PassageRef, Passage, tuple[str, ...], float | None]
"""A candidate with all that its score depends on: the passage, its terms, and its cosine.

The cosine is None where the passage has no vector. A search makes thousands of them, so it has no
class of its own.
"""


class Ranked(NamedTuple):
    """A candidate with its place in the order, its calibrated similarity, and why."""

    ref: PassageRef
    passage: Passage
    order: float
    """The score that hits are sorted by."""
    similarity: float
    """What the hit is worth, from 0 to 1; it can be compared with hits of other searches."""
    reasons: Mapping[str, float]
    """What each part adds to the score."""


class Ranker(Protocol):
    """Weighs text against meaning, and knows what a score is worth."""

    def rank(self, asked: Asked, pool: Sequence[Evidence]) -> list[Ranked]:
        """Score the candidates with boosts for neighbours, names and dates, the best first."""
        ...

    def judge(self, asked: Asked, pool: Sequence[Evidence]) -> list[Ranked]:
        """Score each candidate by itself, in the order of the pool."""
        ...

    def similarity(self, cosine: float) -> float:
        """Return what a cosine is worth by itself."""
        ...

    def cosine(self, similarity: float) -> float:
        """Return the smallest cosine that is worth a similarity."""
        ...

    def pairs(
        self,
        vectors: Sequence[tuple[PassageRef, bytes]],
        threshold: float,
        most: int,
        tell: Callable[[int, int], None],
    ) -> list[tuple[PassageRef, PassageRef, float]]:
        """Return the most similar pairs among unit vectors, with their similarities; best first.

        `tell` hears how many vectors are done, and how many there are.
        """
        ...


class Lexicon(Protocol):
    """Words as the text index knows them."""

    def terms(self, text: str) -> list[str]:
        """Return the index terms of a text, in order."""
        ...

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms of a query that say something."""
        ...

    def extra(self, item: Item, passage: Passage) -> str:
        """Return what is searched beside the text of a passage."""
        ...
