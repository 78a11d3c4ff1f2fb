"""Search by words."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from memolith.domain.callers import Caller
from memolith.domain.queries import Filter

Candidate = tuple[int, float]
"""A passage that one side of a search proposes: its number and its score.

A search makes thousands of them, so it has no class of its own.
"""


class Statistics(NamedTuple):
    """What BM25 needs about the passages of a tenant."""

    passages: int
    mean_length: float
    frequencies: Mapping[str, int]
    """In how many passages each term stands."""


class TextIndex(Protocol):
    """Searches passages by their words."""

    def search_text(
        self,
        caller: Caller,
        chosen: Filter,
        terms: Sequence[str],
        phrases: Sequence[Sequence[str]],
        every: bool,
        limit: int,
    ) -> list[Candidate]: ...
    def statistics(self, tenant: str, words: Collection[str]) -> Statistics: ...
    def index_differences(self, tenant: str) -> list[str]: ...
