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
    """Nearest neighbours by meaning."""

    model: str

    def nearest(
        self,
        rows: "Reader",
        caller: Caller,
        chosen: Filter,
        query: bytes,
        limit: int,
        least: float = -1.0,
    ) -> list[Candidate]: ...
    def cosines(
        self, rows: "Reader", query: bytes, refs: Collection[PassageRef]
    ) -> dict[PassageRef, float]: ...
    def beginnings(
        self, rows: "Reader", caller: Caller, chosen: Filter
    ) -> list[tuple[PassageRef, bytes]]: ...


class Meaning(NamedTuple):
    """A model and the vectors it made."""

    embedder: Embedder
    vectors: Vectors
