"""Writes to SQLite: row numbers, which the database gives, and its full-text index."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from memolith.domain.events import Changes, Event
from memolith.domain.items import Item
from memolith.domain.passages import PassageRef
from memolith.storage.rows import item_columns
from memolith.storage.sqlite.connections import translated_errors
from memolith.storage.sqlite.vector_slots import SqliteSlotReader
from memolith.storage.terms import IndexedText
from memolith.storage.writer import REBUILT_TABLES, StoreWriter

LAST_ERASED = "last erased"
"""The store-wide record that names the last erasure."""


class SqliteWriter(StoreWriter, SqliteSlotReader):
    """Reads and writes under the write lock, and the upkeep of the feed for the vector index."""

    rebuilt_tables: ClassVar[tuple[str, ...]] = (
        *REBUILT_TABLES,
        "detach_vectors",
        "empty_text_index",
    )

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        with translated_errors(), super().savepoint():
            yield

    def append(self, event: Event, changes: Changes) -> None:
        super().append(event, changes)
        if event.type == "erased":
            # In the same transaction, so that no erasure is forgotten where a program ends early.
            self.put_record("", LAST_ERASED, f"{event.tenant} {event.seq}")

    def row_of(self, item: Item) -> int:
        row = self.statements.row("item_row", tenant=self.tenant, id=item.id)
        assert row is not None, "the item was written or read in this transaction"
        return int(row.row)

    def prune_slots(self, upto: int) -> None:
        self.statements.do("delete_detached_vectors")
        self.statements.do("delete_slot_changes", seq=upto)

    def _write_item(self, item: Item) -> int:
        self.statements.do("put_item", **item_columns(item))
        return self.row_of(item)

    def _write_posting(self, ref: PassageRef, text: IndexedText) -> None:
        self.statements.do("add_posting", id=ref, **text._asdict())

    def _remove_posting(self, ref: PassageRef, text: IndexedText) -> None:
        # FTS5 finds what to remove by the text that it was given.
        self.statements.do("delete_posting", id=ref, **text._asdict())
