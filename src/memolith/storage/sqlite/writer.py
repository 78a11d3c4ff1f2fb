"""Writes to SQLite: row numbers, which the database gives, and its full-text index."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from memolith.domain.events import Changes, Event
from memolith.domain.items import Item
from memolith.domain.passages import PassageRef
from memolith.ports.vector_rows import NewVector
from memolith.storage.sqlite.connections import translated_errors
from memolith.storage.sqlite.statements import SqliteStatements
from memolith.storage.sqlite.vector_slots import SqliteSlotReader
from memolith.storage.terms import IndexedText, first_terms, indexed
from memolith.storage.writer import REBUILT_TABLES, RENEWED_PER_PAGE, StoreWriter

MAX_REPLACED_POSTINGS = 2000
"""If more entries of the text index have earlier terms, it is filled anew."""

SLOTS_PER_DELETE = 500
"""How much of the feed for the vector index is removed at once."""

LAST_ERASED = "last erased"
"""The store-wide record that names the last erasure."""


class SqliteWriter(StoreWriter, SqliteSlotReader):
    """Reads and writes under the write lock, and the upkeep of the feed for the vector index."""

    rebuilt_tables: ClassVar[tuple[str, ...]] = (
        *REBUILT_TABLES,
        "detach_vectors",
        "empty_text_index",
    )

    def __init__(self, statements: SqliteStatements, tenant: str | None) -> None:
        super().__init__(statements, tenant)
        self._last_row: int | None = None
        """The last row number that an item has got; None until it is needed."""

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        with translated_errors(), super().savepoint():
            yield

    def append(self, event: Event, changes: Changes) -> None:
        super().append(event, changes)
        if event.type == "erased":
            # In the same transaction, so that no erasure is forgotten where a program ends early.
            self.put_record("", LAST_ERASED, f"{event.tenant} {event.seq}")

    def _new_row(self, item: Item) -> int:
        # Nobody else adds items while this transaction has the write lock.
        if self._last_row is None:
            row = self.statements.row("last_item_row")
            assert row is not None, "the statement always has one row"
            self._last_row = int(row.last)
        self._last_row += 1
        return self._last_row

    def _add_new_vector(self, model: str, vector: NewVector) -> None:
        self.statements.add_row(
            "add_vector",
            tenant=self.tenant,
            passage=vector.ref,
            model=model,
            digest=vector.digest,
            v=vector.v,
        )

    def row_of(self, item: Item) -> int:
        row = self.statements.row("item_row", tenant=self.tenant, id=item.id)
        assert row is not None, "the item was written or read in this transaction"
        return int(row.row)

    def prune_slots(self, upto: int) -> bool:
        self.statements.do("delete_detached_vectors", limit=SLOTS_PER_DELETE)
        self.statements.do("delete_slot_changes", seq=upto, limit=SLOTS_PER_DELETE)
        row = self.statements.row("count_prunable_slots", seq=upto)
        return row is not None and bool(row.slots)

    def _renew_postings(self) -> None:
        """Replace the entries with earlier terms; if there are many, fill the index anew.

        FTS5 takes ten times as long to replace an entry as to add one, because it blanks the old.
        """
        stale = self._count_stale_postings()
        if not stale:
            return
        if stale <= MAX_REPLACED_POSTINGS:
            super()._renew_postings()
            return
        self.statements.do("empty_text_index")
        for _ in self._each_tenant():
            self._head = self._head._replace(passages=0, terms=0)
            for ref, item, passage in self._indexed_passages(self._refs_after):
                self._add_posting(ref, item, passage)
            self.write_totals()

    def _count_stale_postings(self) -> int:
        """How many passages have earlier terms; no more are counted than may be replaced."""
        stale = 0
        for _ in self._each_tenant():
            number = self._head.number
            for _ref, item, passage in self._indexed_passages(self._refs_with_other_letters):
                before = indexed(number, item, passage, first_terms)
                stale += before != indexed(number, item, passage)
                if stale > MAX_REPLACED_POSTINGS:
                    return stale
        return stale

    def _refs_after(self, after: int) -> list[PassageRef]:
        rows = self.statements.rows(
            "passages_after", tenant=self.tenant, after=after, limit=RENEWED_PER_PAGE
        )
        return [PassageRef(row.ref) for row in rows]

    def _write_posting(self, ref: PassageRef, text: IndexedText) -> None:
        self.statements.add_row("add_posting", id=ref, **text._asdict())

    def _remove_posting(self, ref: PassageRef, text: IndexedText) -> None:
        # FTS5 finds what to remove by the text that it was given.
        self.statements.do("delete_posting", id=ref, **text._asdict())
