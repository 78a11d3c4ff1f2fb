"""Rows of items and passages."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from memolith.domain.callers import Caller
from memolith.domain.items import Item, Page, Superseded
from memolith.domain.passages import Passage, PassageRef
from memolith.domain.queries import Filter

MOST_LISTED = 10_000
"""The most items that one page of a list can have."""


class TextSize(NamedTuple):
    """How long the text of an item is, and where it begins."""

    first: PassageRef
    characters: int
    bytes: int


class ConceptCount(NamedTuple):
    """How many concepts one place in the hierarchy holds."""

    area: str | None
    topic: str | None
    subtopic: str | None
    live: int
    """How many of them are not forgotten."""
    events: int
    """How many events they have together, forgotten ones included."""


class FolderCount(NamedTuple):
    """How many conversations of one importance a folder holds."""

    folder: str
    importance: float
    conversations: int


class ItemRows(Protocol):
    """Reads items, their passages, and lists of them."""

    def item(self, tenant: str, id: str) -> Item | None:
        """The item with this id."""
        ...

    def items(self, tenant: str, ids: Collection[str]) -> dict[str, Item]:
        """The items with these ids, as far as there are any."""
        ...

    def all_items(self, tenant: str) -> Iterator[Item]:
        """Every item of the tenant, by id."""
        ...

    def passages(self, tenant: str, id: str) -> list[Passage]:
        """The passages of an item in order."""
        ...

    def passages_of(self, tenant: str, ids: Collection[str]) -> dict[str, list[Passage]]:
        """The passages of several items, in order."""
        ...

    def passages_at(self, refs: Collection[PassageRef]) -> dict[PassageRef, tuple[Item, Passage]]:
        """The passages with these references and their items, as far as there are any."""
        ...

    def text_sizes(self, tenant: str, ids: Collection[str]) -> dict[str, TextSize]:
        """How long the texts of these items are; items without text are left out."""
        ...

    def list_items(
        self,
        caller: Caller,
        chosen: Filter,
        sort: str = "created_at",
        descending: bool = True,
        limit: int = 20,
        offset: int = 0,
        counted: bool = True,
    ) -> Page:
        """A page of the items that the caller sees and the filter keeps.

        Its total counts all of them, or only those of the page if `counted` is false.
        """
        ...

    def count_items_by(self, caller: Caller, chosen: Filter, by: str) -> dict[str, int]:
        """How many items there are per kind, status, namespace, project or tag."""
        ...

    def items_titled(self, tenant: str, kind: str, title: str) -> list[Item]:
        """The live items of a kind with exactly this title."""
        ...

    def items_like(self, caller: Caller, first: str, passages: int, chosen: Filter) -> set[str]:
        """The ids of items whose text may be the same or nearly the same.

        `first` is the text of the first passage, `passages` the number of passages.
        """
        ...

    def concept_tree(self, caller: Caller) -> list[ConceptCount]:
        """How many concepts the caller sees per area, topic and subtopic."""
        ...

    def folders(self, caller: Caller, chosen: Filter) -> list[FolderCount]:
        """How many conversations there are per folder and importance."""
        ...

    def count_blocks(self, refs: Collection[PassageRef], but: Collection[tuple[int, int]]) -> int:
        """How many blocks these passages belong to.

        `but` names blocks that are not counted, by the row of the item and the block's number.
        """
        ...

    def speakers(self, tenant: str) -> list[str]:
        """Who speaks in the tenant's conversations; only the first 200 names."""
        ...

    def visible_speakers(self, caller: Caller, names: Sequence[str]) -> list[str]:
        """Those of the names whose words the caller may see."""
        ...

    def superseded(self, tenant: str, ids: Collection[str]) -> Mapping[str, Superseded]:
        """Which of these items were replaced by a newer one on the same subject.

        Both are seen by the same people: same owner, audience and project.
        """
        ...

    def accesses(self, tenant: str, ids: Collection[str]) -> dict[str, tuple[int, str]]:
        """How often and when last these items were read."""
        ...


class ItemRowsWriter(Protocol):
    """Counts the reads of items, and marks those that newer ones replace."""

    def add_accesses(self, reads: Mapping[str, tuple[int, str]]) -> None:
        """Add to the counts of how often, and when last, items were read."""
        ...

    def put_superseded(self, item: str, successor: str, at: str) -> None:
        """Mark an item as replaced by a newer one, until the text of either changes."""
        ...
