"""The SQLite store: one file in WAL mode, used by many processes."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from memolith.errors import DiskFull, StoreBusy
from memolith.private_files import make_private_folder
from memolith.storage.sqlite.backup import FILE, Progress, copy_to_file, no_progress
from memolith.storage.sqlite.connections import NEW_FILE_PRAGMA, Connections, translated_errors
from memolith.storage.sqlite.schema import migrate
from memolith.storage.sqlite.shred import blank_some_pages, blank_unused_bytes
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

SHRED_PAUSE_S = 0.01
"""How long it waits for readers before the next attempt."""

FIRST_PAGE = 1
PAGES_PER_STEP = 100
"""How many pages are blanked or moved before others have their turn."""

AUTO_VACUUM_INCREMENTAL = 2

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
            erased = _store_records(db).get(LAST_ERASED, NOTHING_ERASED)
            if not _empty_write_ahead_log(db):
                return False
            if _has_page_map(db):
                is_blanked = self._blank_in_steps(db.pragma("page_size"))
            else:
                is_blanked = self._blank_at_once(db)
            if not is_blanked:
                return False
            with db:
                SqliteStatements(db).do("put_record", tenant="", name=LAST_SHREDDED, value=erased)
            return _empty_write_ahead_log(db)
        return False

    def _blank_in_steps(self, page_size: int) -> bool:
        """Blank unused bytes, some pages at a time, so that nobody waits long for the lock."""
        page: int | None = FIRST_PAGE
        attempts = 0
        with closing(self._connections.open()) as checkpointer:
            while page is not None:
                # Nearly all of the log goes into the file while others can write, the rest of it
                # while they cannot.
                _copy_write_ahead_log(checkpointer)
                # A new connection for each step, which has cached no page with the old bytes.
                with closing(self._connections.open()) as db, db:
                    is_complete = _copy_write_ahead_log(checkpointer)
                    if is_complete:
                        page = blank_some_pages(self.file, page_size, page, PAGES_PER_STEP)
                        SqliteStatements(db).do("touch_database_id")
                if not is_complete:
                    # Somebody reads what was there before; without the rest, the file is old.
                    attempts += 1
                    if attempts > SHRED_ATTEMPTS:
                        return False
                    time.sleep(SHRED_PAUSE_S)
        return True

    def _blank_at_once(self, db: apsw.Connection) -> bool:
        """Blank unused bytes of a file that an earlier version made, which has no map of pages."""
        for _ in range(SHRED_ATTEMPTS):
            with db:
                if not self._write_ahead_log_has_bytes():
                    statements = SqliteStatements(db)
                    roots = [row.page for row in statements.rows("tree_roots")]
                    blank_unused_bytes(self.file, db.pragma("page_size"), roots)
                    statements.do("touch_database_id")
                    return True
            # Somebody wrote in between, so the file is not complete yet.
            if not _empty_write_ahead_log(db):
                return False
        return False

    def _write_ahead_log_has_bytes(self) -> bool:
        log = self.file.with_name(FILE + "-wal")
        return log.exists() and log.stat().st_size > 0

    def compact(self) -> None:
        """Give free pages back to the system where there are many, and empty the log."""
        with translated_errors(), self._connections.borrow() as db:
            if _has_page_map(db):
                _give_back_free_pages(db)
            elif _has_many_free_pages(db):
                # From now on the file has a map of its pages. Others cannot write meanwhile.
                db.execute(f"pragma {NEW_FILE_PRAGMA}")
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


def _has_page_map(db: apsw.Connection) -> bool:
    """Whether the file tells what each of its pages is; it does unless an old version made it."""
    return bool(db.pragma("auto_vacuum") == AUTO_VACUUM_INCREMENTAL)


def _has_many_free_pages(db: apsw.Connection) -> bool:
    pages = db.pragma("page_count")
    free = db.pragma("freelist_count")
    return bool(free > MIN_FREE_PAGES and free > pages // MIN_FREE_SHARE)


def _give_back_free_pages(db: apsw.Connection) -> None:
    """Move pages from the end of the file into free ones, some at a time, and cut the file."""
    if not _has_many_free_pages(db):
        return
    before = 0
    free = db.pragma("freelist_count")
    while free and free != before:
        db.execute(f"pragma incremental_vacuum({PAGES_PER_STEP})").fetchall()
        before = free
        free = db.pragma("freelist_count")


def _copy_write_ahead_log(db: apsw.Connection) -> bool:
    """Copy the write-ahead log into the file; False if a reader needs what the file has now."""
    _, frames, copied = _checkpoint(db, "passive")
    return frames == copied


def _empty_write_ahead_log(db: apsw.Connection) -> bool:
    """Copy the write-ahead log into the file and cut it to nothing; False if a reader needs it."""
    # First what can be copied while others write.
    _checkpoint(db, "passive")
    is_blocked, _, _ = _checkpoint(db, "truncate")
    return not is_blocked


def _checkpoint(db: apsw.Connection, mode: str) -> tuple[int, int, int]:
    """Copy the log; whether that was blocked, and how many pages it has and were copied."""
    blocked, pages, copied = db.pragma("wal_checkpoint", mode)
    return (blocked, pages, copied)
