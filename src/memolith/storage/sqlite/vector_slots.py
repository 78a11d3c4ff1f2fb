"""What the vector index of this process reads from SQLite; see the port `VectorSlots`."""

import json
from collections.abc import Collection, Iterator

from memolith.domain.callers import Caller
from memolith.domain.passages import PassageRef
from memolith.domain.queries import Filter
from memolith.ports.vector_slots import Slot, SlotChange, SlotItem, SlotMarks
from memolith.storage.rows import RowShape
from memolith.storage.sqlite.reader import SqliteReader

SLOT = RowShape(Slot._fields, Slot._make)
SLOT_MARKS = RowShape(SlotMarks._fields, SlotMarks._make)
SLOT_CHANGE = RowShape(SlotChange._fields, SlotChange._make)
SLOT_ITEM = RowShape(SlotItem._fields, SlotItem._make)


class SqliteSlotReader(SqliteReader):
    """A reader that also feeds the vector index."""

    def slot_marks(self) -> SlotMarks:
        marks = self.statements.read_first("slot_marks", SLOT_MARKS)
        assert marks is not None, "the statement always has one row"
        return marks

    def slots(self, model: str, after: int, upto: int) -> Iterator[Slot]:
        return self.statements.read("slots", SLOT, model=model, after=after, upto=upto)

    def slot_changes(self, after: int) -> list[SlotChange]:
        return list(self.statements.read("slot_changes", SLOT_CHANGE, seq=after))

    def slot_items(self, item_rows: Collection[int]) -> list[SlotItem]:
        rows = json.dumps(list(item_rows))
        return list(self.statements.read("slot_items", SLOT_ITEM, rows=rows))

    def vectors_at(self, model: str, refs: Collection[PassageRef]) -> dict[PassageRef, bytes]:
        found = self.statements.rows("vectors_at", model=model, refs=json.dumps(list(refs)))
        return {row.ref: row.v for row in found}

    def first_vectors(
        self, caller: Caller, chosen: Filter, model: str
    ) -> list[tuple[PassageRef, bytes]]:
        found = self.filtered("first_vectors", caller, chosen, model=model)
        return [(row.ref, row.v) for row in found]

    def passing_slots(
        self, caller: Caller, chosen: Filter, model: str, ids: Collection[int]
    ) -> dict[int, PassageRef]:
        name = "passing_slots"
        if chosen.looks_at_passages:
            name = "passing_slots_of_passages"
        vectors = json.dumps(list(ids))
        found = self.filtered(name, caller, chosen, True, model=model, vectors=vectors)
        return {row.id: row.ref for row in found}

    def item_rows_passing(self, caller: Caller, chosen: Filter, limit: int) -> list[int]:
        found = self.filtered("item_rows_passing", caller, chosen, limit=limit)
        return [row.row for row in found]

    def item_rows_tagged(self, tenant: str, tag: str, limit: int) -> list[int]:
        found = self.statements.rows("item_rows_tagged", tenant=tenant, tag=tag, limit=limit)
        return [row.row for row in found]
