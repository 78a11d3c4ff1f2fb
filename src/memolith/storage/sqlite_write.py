"""Writing to one SQLite connection."""

from __future__ import annotations

import apsw

from memolith.storage.sqlite_read import SqliteReader
from memolith.storage.writer import SqlWriter


class SqliteWriter(SqlWriter, SqliteReader):
    """Writes to SQLite under the write lock."""

    def __init__(self, db: apsw.Connection, tenant: str | None) -> None:
        super().__init__(db)
        self.begin(tenant)

    def prune_changes(self, seq: int) -> None:
        """Drop the part of the feed that every snapshot covers, and vectors without a passage."""
        self.do("slot_changes_prune", seq=seq)
        self.do("vectors_orphaned")
