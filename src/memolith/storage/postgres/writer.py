"""Writes to PostgreSQL: its postings, how many passages each term has, and moves of tenants."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from memolith.domain.events import Changes, Event
from memolith.domain.items import Item
from memolith.domain.passages import PassageRef
from memolith.ports.vector_rows import NewVector
from memolith.storage.postgres.error_translation import translated_errors
from memolith.storage.postgres.postings import posting_columns
from memolith.storage.postgres.reader import PostgresReader
from memolith.storage.postgres.statements import PostgresStatements
from memolith.storage.terms import IndexedText
from memolith.storage.writer import REBUILT_TABLES, StoreWriter

PURGED_TABLES = (
    "purge_event",
    "purge_item",
    "purge_tag",
    "purge_passage",
    "purge_posting",
    "purge_term",
    "purge_sketch",
    "purge_link",
    "purge_embedding",
    "purge_outbox",
    "purge_outbox_done",
    "purge_access",
    "purge_item_read",
    "purge_client_call",
    "purge_setting",
    "purge_superseded",
    "purge_duplicate",
    "purge_answer",
)
"""The statements that remove a tenant which has moved away."""


class PostgresWriter(StoreWriter, PostgresReader):
    """Reads and writes. The lock on the head row lets one writer of a tenant in at a time."""

    rebuilt_tables: ClassVar[tuple[str, ...]] = (
        *REBUILT_TABLES,
        "delete_all_postings",
        "delete_all_terms",
    )

    def __init__(self, statements: PostgresStatements, tenant: str | None) -> None:
        super().__init__(statements, tenant)
        self._term_counts: Counter[str] = Counter()

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        with translated_errors(), super().savepoint():
            try:
                yield
            except BaseException:
                self._term_counts.clear()
                raise

    def append(self, event: Event, changes: Changes) -> None:
        if self.statements.adds_together:
            # The batch opens a pipeline of its own when it sends its rows.
            super().append(event, changes)
            return
        # One round trip to the server for all statements of the event.
        with self.statements.db.pipeline():
            super().append(event, changes)

    def row_of(self, item: Item) -> int:
        # The sequence number of the first event of an item.
        return item.seq

    def _new_row(self, item: Item) -> int:
        return self.row_of(item)

    # Text index

    def _write_posting(self, ref: PassageRef, text: IndexedText) -> None:
        self.statements.add_row("add_posting", tenant=self.tenant, id=ref, **posting_columns(text))

    def _remove_posting(self, ref: PassageRef, text: IndexedText) -> None:
        self.statements.do("delete_posting", tenant=self.tenant, id=ref)

    def _count_passage(self, text: IndexedText, change: int) -> None:
        super()._count_passage(text, change)
        for term in {*text.body.split(), *text.extra.split()}:
            self._term_counts[term] += change

    def _write_totals(self) -> None:
        self._write_term_counts()
        super()._write_totals()

    def _write_term_counts(self) -> None:
        """Write how many passages more or fewer contain each term."""
        counts = {term: count for term, count in self._term_counts.items() if count}
        self._term_counts.clear()
        if not counts:
            return
        as_json = json.dumps(counts)
        self.statements.do("add_term_counts", tenant=self.tenant, counts=as_json)
        if min(counts.values()) < 0:
            self.statements.do("delete_unused_terms", tenant=self.tenant, counts=as_json)

    def _add_new_vector(self, model: str, vector: NewVector) -> None:
        self.statements.add_row(
            "add_vectors",
            tenant=self.tenant,
            passage=vector.ref,
            model=model,
            digest=vector.digest.hex(),
            v=vector.v,
        )

    # Moving tenants between databases

    def lock_tenant_move(self, tenant: str) -> bool:
        """Keep others from moving this tenant until the transaction ends; False if one does now."""
        row = self.statements.row("lock_tenant_move", tenant=tenant)
        return row is not None and bool(row.locked)

    def put_home(self, tenant: str, url: str) -> None:
        """Note that a tenant lives in another database."""
        self.statements.do("put_home", tenant=tenant, url=url)

    def delete_home(self, tenant: str) -> None:
        """Note that a tenant lives in this database."""
        self.statements.do("delete_home", tenant=tenant)

    def set_frozen(self, tenant: str, frozen: bool) -> None:
        """Refuse a tenant's writes here, or let them in again."""
        self.statements.do("set_frozen", tenant=tenant, frozen=frozen)

    def is_frozen(self, tenant: str) -> bool:
        """Whether a tenant's writes are refused here."""
        row = self.statements.row("is_frozen", tenant=tenant)
        return row is not None and bool(row.frozen)

    def purge(self, tenant: str) -> None:
        """Remove everything of a tenant but its frozen head."""
        for name in PURGED_TABLES:
            self.statements.do(name, tenant=tenant)
        self.statements.do("clear_head", tenant=tenant)

    def notify_of_homes(self) -> None:
        """Tell all servers that a tenant lives in another database than before."""
        self.statements.do("notify")
