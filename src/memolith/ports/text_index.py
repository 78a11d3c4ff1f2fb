"""Search by words."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from memolith.domain.callers import Caller
from memolith.domain.passages import PassageRef
from memolith.domain.queries import Filter

Candidate = tuple[PassageRef, float]
"""A passage that one side of a search proposes, and its score.

A search makes thousands of them, so it has no class of its own.
"""


class Statistics(NamedTuple):
    """What BM25 needs to know about the passages of a tenant, or of what a caller sees of it."""

    passages: int
    mean_length: float
    frequencies: Mapping[str, int]
    """How many passages contain each term."""


class TextIndex(Protocol):
    """Searches passages by their words."""

    def work_ahead(self, tenant: str, texts: Iterable[str]) -> None:
        """Make what the index will have of texts that are about to be written."""
        ...

    def search_text(
        self,
        caller: Caller,
        chosen: Filter,
        terms: Sequence[str],
        phrases: Sequence[Sequence[str]],
        every: bool,
        limit: int,
    ) -> list[Candidate]:
        """The best passages with all phrases and any term (every term if asked), best first."""
        ...

    def statistics(self, tenant: str, words: Collection[str]) -> Statistics:
        """What BM25 needs to know about the tenant's passages and these terms."""
        ...

    def statistics_for(self, caller: Caller, words: Collection[str]) -> Statistics:
        """The same over what the caller may see.

        So the scores of a search tell nothing of what others keep for themselves.
        """
        ...

    def index_differences(self, tenant: str) -> list[str]:
        """Where the text index, the tags or the totals do not agree with the rows."""
        ...
