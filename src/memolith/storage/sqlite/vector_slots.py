"""What the vector index of this process reads from SQLite; see the port `VectorSlots`."""

import json
from collections.abc import Collection, Iterator
from operator import itemgetter

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


# A search reads thousands of these rows, so they are not named one by one.
PASSING_SLOT: RowShape[tuple[int, PassageRef]] = RowShape(("id", "ref"), tuple)
VECTOR_AT: RowShape[tuple[PassageRef, bytes]] = RowShape(("ref", "v"), tuple)
ITEM_ROW: RowShape[int] = RowShape(("row",), itemgetter(0))


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
        refs_json = json.dumps(list(refs))
        return dict(self.statements.read("vectors_at", VECTOR_AT, model=model, refs=refs_json))

    def first_vectors(
        self, caller: Caller, chosen: Filter, model: str
    ) -> list[tuple[PassageRef, bytes]]:
        return list(self.read_filtered("first_vectors", VECTOR_AT, caller, chosen, model=model))

    def passing_slots(
        self, caller: Caller, chosen: Filter, model: str, ids: Collection[int]
    ) -> dict[int, PassageRef]:
        name = "passing_slots"
        if chosen.looks_at_passages:
            name = "passing_slots_of_passages"
        vectors = json.dumps(list(ids))
        found = self.read_filtered(
            name, PASSING_SLOT, caller, chosen, True, model=model, vectors=vectors
        )
        return dict(found)

    def item_rows_passing(self, caller: Caller, chosen: Filter, limit: int) -> list[int]:
        return list(self.read_filtered("item_rows_passing", ITEM_ROW, caller, chosen, limit=limit))

    def item_rows_tagged(self, tenant: str, tag: str, limit: int) -> list[int]:
        return list(
            self.statements.read("item_rows_tagged", ITEM_ROW, tenant=tenant, tag=tag, limit=limit)
        )
