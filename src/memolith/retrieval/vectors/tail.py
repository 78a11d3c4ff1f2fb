"""Keeping up with the database: a snapshot, and the tail of what was written after it."""

from pathlib import Path
from typing import NamedTuple

from memolith.ports.vector_slots import SlotMarks, VectorSlots
from memolith.retrieval.vectors.slots import Slots
from memolith.retrieval.vectors.snapshot import SnapshotFiles, open_snapshot

MAX_SHORT_TAIL = 2_000
MAPPED_PER_TAIL = 20
"""A tail is long with more than 2,000 slots, and more than one for every 20 of the snapshot."""


class Position(NamedTuple):
    """Up to where the slots follow the database."""

    vector: int
    change: int


class FollowedSlots:
    """The slots of one model, as far as they were followed: those of a snapshot, and the tail.

    The caller sees to it that one thread at a time uses them.
    """

    def __init__(self, files: SnapshotFiles, model: str, dimension: int) -> None:
        self._files = files
        self._model = model
        self._dimension = dimension
        self._file: Path | None = None
        self.position: Position | None = None
        """None before the first `follow`."""
        self.mapped = Slots(dimension)
        """The slots of the snapshot."""
        self.tail = Slots(dimension)
        """The slots that are newer than the snapshot."""

    @property
    def has_long_tail(self) -> bool:
        """Whether a new snapshot pays."""
        return self.tail.count > max(MAX_SHORT_TAIL, self.mapped.count // MAPPED_PER_TAIL)

    def forget(self) -> None:
        """Let go of the mapped file; the next `follow` begins anew."""
        self._file = None
        self.position = None
        self.mapped = Slots(self._dimension)
        self.tail = Slots(self._dimension)

    def follow(self, rows: VectorSlots) -> None:
        """Catch up with what other threads and processes wrote."""
        marks = rows.slot_marks()
        position = self.position
        if position is not None:
            # A reader that began earlier than another one may see less than is here already. That
            # does no harm, because the database is asked in the end.
            if marks.vector <= position.vector and marks.change <= position.change:
                return
            if position.change < marks.pruned or self.has_long_tail:
                position = self._reopen(rows, marks)
        else:
            position = self._reopen(rows, marks)
        self.tail.add(rows.slots(self._model, position.vector, marks.vector))
        self._take_over_changes(rows, position.change)
        self.position = Position(marks.vector, marks.change)

    def _take_over_changes(self, rows: VectorSlots, after: int) -> None:
        changes = rows.slot_changes(after)
        if not changes:
            return
        gone = [change.vector for change in changes if change.vector is not None]
        changed_rows = {change.item for change in changes if change.item is not None}
        changed_items = rows.slot_items(changed_rows)
        for slots in (self.mapped, self.tail):
            slots.bury(gone)
            slots.update(changed_items)

    def _reopen(self, rows: VectorSlots, marks: SlotMarks) -> Position:
        """Map the newest good snapshot, if it is newer than the present one.

        Without one, everything is read from the database where the feed of changes was missed.
        """
        database = rows.database()
        for path in reversed(self._files.paths()):
            if path == self._file:
                break
            snapshot = open_snapshot(path, self._dimension, database, self._model)
            if snapshot is None:
                continue
            position = Position(snapshot.marks.vector, snapshot.marks.change)
            # A snapshot from the future is left from before the database was restored to an
            # earlier state.
            is_past = position.vector <= marks.vector and position.change <= marks.change
            if is_past and position.change >= marks.pruned:
                return self._begin(path, snapshot.slots, position)
        if self.position is not None and self.position.change >= marks.pruned:
            return self.position
        return self._begin(None, Slots(self._dimension), Position(0, marks.change))

    def _begin(self, file: Path | None, mapped: Slots, position: Position) -> Position:
        self._file = file
        self.mapped = mapped
        self.tail = Slots(self._dimension)
        self.position = position
        return position
