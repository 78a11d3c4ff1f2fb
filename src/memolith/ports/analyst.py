"""Who reads texts and says what they are about."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class Finding(NamedTuple):
    """What an analyst found: a tag with its reason, or an insight of some category with the items behind it."""

    label: str
    text: str
    confidence: float
    support: tuple[str, ...] = ()


class Analyst(Protocol):
    """Reads texts and says what they are about; groups are lists of item and text."""

    name: str

    def tags(self, text: str, known: Sequence[str], most: int) -> list[Finding]: ...
    def insights(
        self, groups: Sequence[Sequence[tuple[str, str]]], topic: str
    ) -> tuple[list[Finding], str]: ...
    def rewrite(self, task: str, texts: Sequence[str]) -> str:
        """One text of several: merge, summarize, structure, or the context that the others give to the first."""

    def entities(self, text: str, known: Mapping[str, str]) -> list[Finding]:
        """Entities as type and name, and what a sentence says of two of them: type, sentence and their names; `known`
        are types by name."""
