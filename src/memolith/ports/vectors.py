"""Search by meaning."""

from collections.abc import Collection
from typing import NamedTuple, Protocol

from memolith.domain.callers import Caller
from memolith.domain.passages import PassageRef
from memolith.domain.queries import Filter
from memolith.ports.embedder import Embedder
from memolith.ports.store import Reader
from memolith.ports.text_index import Candidate


class Vectors(Protocol):
    """The vectors that one model made."""

    model: str

    def nearest(
        self,
        rows: Reader,
        caller: Caller,
        chosen: Filter,
        query: bytes,
        limit: int,
        min_cosine: float = -1.0,
    ) -> list[Candidate]:
        """Return the nearest passages that pass the filter, with their cosines, the best first."""
        ...

    def cosines(
        self, rows: Reader, query: bytes, refs: Collection[PassageRef]
    ) -> dict[PassageRef, float]:
        """Return the cosine of each of the passages that has a vector."""
        ...

    def beginnings(
        self, rows: Reader, caller: Caller, chosen: Filter
    ) -> list[tuple[PassageRef, bytes]]:
        """Return the unit vectors of the first passages of the items that pass the filter."""
        ...


class Meaning(NamedTuple):
    """A model and the vectors it made."""

    embedder: Embedder
    vectors: Vectors
