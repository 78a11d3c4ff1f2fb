"""The SQLite store: one file in WAL mode, used by many processes."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from memolith.errors import DiskFull, StoreBusy
from memolith.private_files import make_private_folder
from memolith.storage.sqlite.backup import FILE, Progress, copy_to_file, no_progress
from memolith.storage.sqlite.connections import Connections, translated_errors
from memolith.storage.sqlite.schema import migrate
from memolith.storage.sqlite.shred import blank_unused_bytes
from memolith.storage.sqlite.statements import SqliteStatements
from memolith.storage.sqlite.vector_slots import SqliteSlotReader
from memolith.storage.sqlite.writer import LAST_ERASED, SqliteWriter
from memolith.storage.tenant_facts import TenantFacts
from memolith.storage.terms import TERMS_VERSION

SHRED_ATTEMPTS = 20
"""How often `shred` begins anew because somebody wrote in between."""

LAST_SHREDDED = "last shredded"
"""The store-wide record that names the last erasure of which no byte is left."""
NOTHING_ERASED = "nothing"

MIN_FREE_PAGES = 1000
MIN_FREE_SHARE = 4
"""The file is compacted if more pages than these, and more than one in four, are free."""

MAX_PROBLEMS = 20
"""How many problems SQLite lists when it checks its file."""

library_version = apsw.sqlite_lib_version


class SqliteStore:
    """All that is remembered, in one folder."""

    name = "sqlite"

    def __init__(self, folder: Path, busy_s: float = 20.0) -> None:
        self.folder = folder
        self.file = folder / FILE
        self._busy_s = busy_s
        self._connections = Connections(self.file, busy_s)
        self._facts = TenantFacts()
        with translated_errors():
            make_private_folder(str(folder))
            with self._connections.borrow() as db:
                migrate(db)
            self._connections.remember_file()
        self._renew_text_index()

    def _renew_text_index(self) -> None:
        """Once after an update of the program, bring the text index up to its terms."""
        with self.reading(None) as rows:
            is_current = rows.terms_version() == TERMS_VERSION
        if not is_current:
            with self.writing(None) as writer:
                writer.renew_text_index()

    @contextmanager
    def reading(self, tenant: str | None) -> Iterator[SqliteSlotReader]:
        """Reads of one tenant that all see the same moment; None reads across tenants."""
        with translated_errors(), self._connections.borrow() as db:
            db.transaction_mode = "deferred"
            with db:
                yield SqliteSlotReader(SqliteStatements(db), tenant, self._facts)

    @contextmanager
    def writing(self, tenant: str | None, wait_s: float | None = None) -> Iterator[SqliteWriter]:
        """Reads and writes that happen together or not at all; durable when this ends."""
        if wait_s is not None:
            wait_s = min(wait_s, self._busy_s)
        with translated_errors(), self._connections.borrow(wait_s) as db:
            db.transaction_mode = "immediate"
            with db:
                yield SqliteWriter(SqliteStatements(db), tenant)

    @contextmanager
    def rebuilding(self) -> Iterator[Callable[[str], SqliteWriter]]:
        """Empty the rows that follow from the log, to be written anew in one transaction."""
        with self.writing(None) as rows:
            rows.empty_rebuilt_tables()
            yield rows.begin
            rows.copy_all_accesses_to_items()

    def shred(self) -> bool:
        """Leave no byte of what was erased in any file; False if readers or a full disk prevent it.

        SQLite blanks what it deletes (`secure_delete`), but leaves old copies of rows that it
        moved within a page, and old pages in the write-ahead log.
        """
        # A new connection: pages that an older one has cached would bring the old bytes back.
        with (
            suppress(DiskFull, StoreBusy),
            translated_errors(),
            closing(self._connections.open()) as db,
        ):
            for _ in range(SHRED_ATTEMPTS):
                if not _empty_write_ahead_log(db):
                    return False
                with db:
                    if self._write_ahead_log_has_bytes():
                        # Somebody wrote in between, so the file is not complete yet.
                        continue
                    statements = SqliteStatements(db)
                    roots = [row.page for row in statements.rows("tree_roots")]
                    blank_unused_bytes(self.file, db.pragma("page_size"), roots)
                    statements.do("touch_database_id")
                    erased = _store_records(db).get(LAST_ERASED, NOTHING_ERASED)
                    statements.do("put_record", tenant="", name=LAST_SHREDDED, value=erased)
                return _empty_write_ahead_log(db)
        return False

    def _write_ahead_log_has_bytes(self) -> bool:
        log = self.file.with_name(FILE + "-wal")
        return log.exists() and log.stat().st_size > 0

    def compact(self) -> None:
        """Give free pages back to the system where there are many, and empty the log."""
        with translated_errors(), self._connections.borrow() as db:
            pages = db.pragma("page_count")
            free = db.pragma("freelist_count")
            if free > MIN_FREE_PAGES and free > pages // MIN_FREE_SHARE:
                db.execute("vacuum")
            records = _store_records(db)
            if records.get(LAST_ERASED, NOTHING_ERASED) == records.get(LAST_SHREDDED):
                # Going through the whole file would keep others from writing for nothing.
                _empty_write_ahead_log(db)
                return
        self.shred()

    def backup(self, target: Path, progress: Progress = no_progress) -> None:
        """Copy everything into one new file while others go on writing."""
        with translated_errors(), self._connections.borrow() as db:
            copy_to_file(db, target, progress)

    def check(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        # A connection that was used before may check what it remembers of the text index, not what
        # others wrote since.
        with translated_errors(), closing(self._connections.open()) as db:
            found = db.execute(f"pragma integrity_check({MAX_PROBLEMS})")
            return [text for (text,) in found if text != "ok"]

    def sizes(self) -> dict[str, int]:
        """Bytes on disk per file of the data folder."""
        files = [path for path in sorted(self.folder.iterdir()) if path.is_file()]
        return {path.name: path.stat().st_size for path in files}

    def close(self) -> None:
        self._connections.close()


def _store_records(db: apsw.Connection) -> dict[str, str]:
    """The records of the store itself."""
    rows = SqliteStatements(db).rows("records", tenant="")
    return {row.name: row.value for row in rows}


def _empty_write_ahead_log(db: apsw.Connection) -> bool:
    """Copy the write-ahead log into the file and cut it to nothing; False if a reader needs it."""
    is_blocked = db.pragma("wal_checkpoint", "truncate")[0]
    return not is_blocked
