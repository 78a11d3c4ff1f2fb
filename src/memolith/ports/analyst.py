"""Who reads texts and says what they are about."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class FoundTag(NamedTuple):
    """A tag that fits a text, and why."""

    tag: str
    reason: str
    confidence: float


class FoundInsight(NamedTuple):
    """Something that several memories say together, and the memories behind it."""

    category: str
    text: str
    confidence: float
    memories: tuple[str, ...]


class InsightReport(NamedTuple):
    """What was found in some memories, and a summary."""

    insights: list[FoundInsight]
    summary: str


class FoundEntity(NamedTuple):
    """An entity that a text names."""

    name: str
    type: str
    confidence: float


class FoundRelation(NamedTuple):
    """What a sentence says about two entities.

    The ends are names where a text was read, and ids where memories were.
    """

    type: str
    source: str
    target: str
    sentence: str
    confidence: float
    memory: str | None = None
    """The memory with the sentence, where it is known."""


class EntityReport(NamedTuple):
    """The entities that a text names, the surest first, and what it says about pairs of them."""

    entities: list[FoundEntity]
    relations: list[FoundRelation]


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
