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


class NoteRow(NamedTuple):
    """What tells the names of a note: all that is read of it to find it by one of them."""

    id: str
    title: str
    project: str | None
    path: str | None
    """The attribute of this name, if it is a text; so are the others."""
    permalink: str | None
    waiting: str | None
    """The targets of links that are not there yet, as a JSON list."""


class OpenPair(NamedTuple):
    """Two items that say the same or contradict each other, by their ids."""

    kind: str
    """`duplicate` or `contradiction`."""
    first: str
    """The older one."""
    second: str
    similarity: float | None
    """Not known for marks that older programs made."""
    reason: str | None


class SupersededMark(NamedTuple):
    """That an item was replaced by a newer one, as it was found when they were compared."""

    item: str
    successor: str
    at: str
    similarity: float | None
    reason: str | None


class DuplicateMark(NamedTuple):
    """That an item says the same as an older one."""

    item: str
    original: str
    similarity: float


class ItemRows(Protocol):
    """Reads items, their passages, and lists of them."""

    def all_superseded(self, tenant: str) -> list[SupersededMark]:
        """Every mark of a replaced item, whether or not both items are still there."""
        ...

    def all_duplicates(self, tenant: str) -> list[DuplicateMark]:
        """Every mark of an item that says the same as another."""
        ...

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

    def beginnings(self, tenant: str, ids: Collection[str], characters: int) -> dict[str, str]:
        """How the texts of these items begin; those without text have none."""
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

    def count_items_by_day(self, caller: Caller, chosen: Filter, after: int) -> dict[str, int]:
        """How many items were written on each day, of those with a higher number than this."""
        ...

    def item_ids_from(self, tenant: str, start: str, limit: int) -> list[str]:
        """The first ids in their order, from this one on; forgotten items have theirs, too."""
        ...

    def item_id_before(self, tenant: str, id: str) -> str | None:
        """The id that comes before this one in their order."""
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

    def note_rows(self, caller: Caller, chosen: Filter) -> list[NoteRow]:
        """What tells the names of the items that the caller sees and the filter keeps."""
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

    def superseding(self, tenant: str, id: str) -> list[str]:
        """The ids of the items that this one replaced."""
        ...

    def open_pairs(self, caller: Caller, kind: str, limit: int, offset: int) -> list[OpenPair]:
        """The pairs that the caller sees and that wait for a decision, the newest first.

        `kind` is `duplicate`, `contradiction`, or empty for both.
        """
        ...

    def count_open_pairs(self, caller: Caller, kind: str, most: int) -> int:
        """How many of them there are; counting ends at `most`."""
        ...

    def accesses(self, tenant: str, ids: Collection[str]) -> dict[str, tuple[int, str]]:
        """How often and when last these items were read."""
        ...


class ItemRowsWriter(Protocol):
    """Counts the reads of items, and notes what comparing them has found."""

    def add_accesses(self, reads: Mapping[str, tuple[int, str]]) -> None:
        """Add to the counts of how often, and when last, items were read."""
        ...

    def put_superseded(
        self,
        item: str,
        successor: str,
        at: str,
        similarity: float | None = None,
        reason: str | None = None,
    ) -> None:
        """Mark an item as replaced by a newer one, until the text of either changes.

        `similarity` tells how alike they are by meaning, `reason` what differs in words.
        """
        ...

    def put_duplicate(self, item: str, original: str, similarity: float) -> None:
        """Note that an item says the same as an older one, until the text of either changes."""
        ...
