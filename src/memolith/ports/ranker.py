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
    boosted: frozenset[str] = frozenset()
    entities: tuple[frozenset[str], ...] = ()


Evidence = tuple[PassageRef, Passage, tuple[str, ...], float | None]


"""A candidate with all that its score depends on: its number, the passage, its words, and how near it is."""


class Ranked(NamedTuple):
    """A candidate with its place in the order, its calibrated similarity, and why."""

    ref: PassageRef
    passage: Passage
    order: float
    similarity: float
    reasons: Mapping[str, float]


class Ranker(Protocol):
    """Weighs text against meaning and knows what a score is worth; only `rank` heeds neighbours, names and dates."""

    def rank(self, asked: Asked, pool: Sequence[Evidence]) -> list[Ranked]: ...
    def judge(self, asked: Asked, pool: Sequence[Evidence]) -> list[Ranked]: ...
    def similarity(self, cosine: float) -> float: ...
    def cosine(self, similarity: float) -> float: ...
    def pairs(
        self,
        vectors: Sequence[tuple[PassageRef, bytes]],
        threshold: float,
        most: int,
        tell: Callable[[int, int], None],
    ) -> list[tuple[PassageRef, PassageRef, float]]: ...


class Lexicon(Protocol):
    """Words as the text index knows them."""

    def terms(self, text: str) -> list[str]: ...
    def query_terms(self, text: str) -> list[str]: ...
    def extra(self, item: Item, passage: Passage) -> str: ...
