"""What callers ask for, and what a search found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from memolith.domain.attributes import Json
from memolith.domain.items import Item
from memolith.domain.passages import Passage


class Condition(NamedTuple):
    """One test on an attribute of the item, or on `scope.tags`: `name op value`."""

    name: str
    op: str
    value: Json


@dataclass(frozen=True, slots=True)
class Filter:
    """What a listing or a search is limited to; empty means no limit."""

    kinds: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    tags_none: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    forgotten: bool | None = False
    since: str | None = None
    until: str | None = None
    projects: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    owner: str | None = None
    speakers: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    title: str = ""
    titles: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()

    @property
    def looks_at_passages(self) -> bool:
        """Whether it asks for something that only a passage can tell: its time or its speaker."""
        return self.since is not None or self.until is not None or bool(self.speakers)


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for, among what, and how much of it to return."""

    text: str
    filter: Filter = Filter()
    mode: str = "hybrid"
    limit: int = 10
    offset: int = 0
    threshold: float | None = None
    """The lowest score of a hit; None for the floor below which hits are most likely unrelated."""
    alike: bool = False
    """Whether to find what is like the text, rather than what answers it."""
    deep: bool | None = None
    """Whether the judge of deep search reads the best hits; None for what the family has."""
    family: str = ""
    """The family of tools that asks."""
    per_item: bool = False
    per_block: bool = False
    reach: int = 0
    as_of: str | None = None
    verbatim: bool = False
    needs_phrases: bool = False
    """Whether hits must have what stands between quotes; else they are only preferred."""
    meant: str = ""
    """What the model is asked instead of the text."""
    boosted: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


class Hit(NamedTuple):
    """A passage found, with its item, its score and the reasons."""

    item: Item
    passage: Passage
    score: float
    """The probability that it answers; hits are in this order."""
    strength: str
    reasons: Mapping[str, float]
    around: tuple[Passage, ...] = ()


class Found(NamedTuple):
    """The hits of one page, how many passed in all, and what the caller should know."""

    hits: tuple[Hit, ...]
    total: int
    warnings: tuple[str, ...] = ()
