"""Vectors as rows with the columns of their items, from which the local vector index is built.

Only a store that leaves the search by meaning to this process has them.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple, Protocol

from memolith.domain.callers import Caller
from memolith.domain.passages import PassageRef
from memolith.domain.queries import Filter


class SlotMarks(NamedTuple):
    """How far the vectors and the feed of changes have come."""

    vector: int
    """The id of the newest vector."""
    change: int
    """The number of the newest change."""
    pruned: int
    """The number of the last change that is no longer in the feed."""


class SlotChange(NamedTuple):
    """An entry of the feed of changes: a vector is gone, or the columns of an item changed."""

    seq: int
    vector: int | None
    item: int | None


class SlotItem(NamedTuple):
    """The columns of an item that a filter can ask for."""

    item: int
    forgotten: int
    tenant: str
    kind: str
    status: str
    owner: str
    sees: str
    """Who sees the item: `o` for all, `p` and the project, or `u` and the owner."""
    project: str | None
    namespace: str | None


class Slot(NamedTuple):
    """A vector, when and by whom its passage was said, and the columns of its item."""

    id: int
    at: str
    speaker: str | None
    vector: bytes
    item: int
    forgotten: int
    tenant: str
    kind: str
    status: str
    owner: str
    sees: str
    project: str | None
    namespace: str | None


class VectorSlots(Protocol):
    """Reads vectors and what changed about them."""

    def database(self) -> str:
        """The random id of this database, which no other database has."""
        ...

    def slot_marks(self) -> SlotMarks:
        """How far the vectors and the feed of changes have come."""
        ...

    def slots(self, model: str, after: int, upto: int) -> Iterator[Slot]:
        """The vectors of a model whose ids are above `after` and at most `upto`, by id."""
        ...

    def slot_changes(self, after: int) -> list[SlotChange]:
        """The changes with a higher number, in order."""
        ...

    def slot_items(self, item_rows: Collection[int]) -> list[SlotItem]:
        """The columns of these items."""
        ...

    def vectors_at(self, model: str, refs: Collection[PassageRef]) -> dict[PassageRef, bytes]:
        """The vectors of these passages, as far as they have one."""
        ...

    def first_vectors(
        self, caller: Caller, chosen: Filter, model: str
    ) -> list[tuple[PassageRef, bytes]]:
        """The vectors of the first passages of the items that the filter keeps."""
        ...

    def passing_slots(
        self, caller: Caller, chosen: Filter, model: str, ids: Collection[int]
    ) -> dict[int, PassageRef]:
        """Which of these vectors the caller sees and the filter keeps, with their passages."""
        ...

    def item_rows_passing(self, caller: Caller, chosen: Filter, limit: int) -> list[int]:
        """The rows of items that the caller sees and the filter keeps."""
        ...

    def item_rows_tagged(self, tenant: str, tag: str, limit: int) -> list[int]:
        """The rows of items with this tag."""
        ...


class VectorSlotsWriter(Protocol):
    """Keeps the feed of changes short."""

    def prune_slots(self, upto: int) -> bool:
        """Remove some of the changes up to this number, and of the vectors whose passage is gone.

        Returns whether there are more of them.
        """
        ...
