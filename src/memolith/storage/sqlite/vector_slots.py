"""What the vector index of this process reads from SQLite; see the port `VectorSlots`."""

import json
from collections.abc import Collection, Iterator

import apsw

from memolith.domain.callers import Caller
from memolith.domain.passages import PassageRef
from memolith.domain.queries import Filter
from memolith.errors import StoreCorrupt
from memolith.ports.vector_slots import Slot, SlotChange, SlotItem, SlotMarks
from memolith.storage.sqlite.reader import SqliteReader
from memolith.storage.sqlite.statements import QUERIES


class SqliteSlotReader(SqliteReader):
    """A reader that also feeds the vector index."""

    def slot_marks(self) -> SlotMarks:
        row = self.row("slot_marks")
        assert row is not None, "the statement always has one row"
        return SlotMarks(vector=row.vector, change=row.change, pruned=row.pruned)

    def slots(self, model: str, after: int, upto: int) -> Iterator[Slot]:
        values = {"model": model, "after": after, "upto": upto}
        cursor = self.db.execute(QUERIES["slots"], values)
        first = next(cursor, None)
        if first is None:
            return
        _check_columns(cursor, Slot._fields)
        yield Slot._make(first)
        # There can be millions of them, so the columns are checked once and not named per row.
        yield from map(Slot._make, cursor)

    def slot_changes(self, after: int) -> list[SlotChange]:
        found = self.rows("slot_changes", seq=after)
        return [SlotChange(seq=row.seq, vector=row.vector, item=row.item) for row in found]

    def slot_items(self, item_rows: Collection[int]) -> list[SlotItem]:
        found = self.rows("slot_items", rows=json.dumps(list(item_rows)))
        return [
            SlotItem(
                item=row.item,
                forgotten=row.forgotten,
                tenant=row.tenant,
                kind=row.kind,
                status=row.status,
                owner=row.owner,
                sees=row.sees,
                project=row.project,
                namespace=row.namespace,
            )
            for row in found
        ]

    def vectors_at(self, model: str, refs: Collection[PassageRef]) -> dict[PassageRef, bytes]:
        found = self.rows("vectors_at", model=model, refs=json.dumps(list(refs)))
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
        found = self.rows("item_rows_tagged", tenant=tenant, tag=tag, limit=limit)
        return [row.row for row in found]


def _check_columns(cursor: apsw.Cursor, expected: tuple[str, ...]) -> None:
    columns = tuple(column[0] for column in cursor.get_description())
    if columns != expected:
        raise StoreCorrupt(f"The statement has the columns {columns}, not {expected}.")
