"""The SQLite store: one file in WAL mode, many processes."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from memolith.errors import Conflict, DiskFull, InvalidInput, StoreBusy, StoreCorrupt
from memolith.storage import gaps
from memolith.storage.faults import transaction, translated
from memolith.storage.migrate import migrate
from memolith.storage.sqlite_read import SqliteReader
from memolith.storage.store import SqlStore
from memolith.storage.writer import SqlWriter

FILE = "memolith.db"
Progress = Callable[[int, int], None]
MUCH_FREE = 1000
library_version = apsw.sqlite_lib_version
_PRAGMAS = ("journal_mode=wal", "synchronous=full", "secure_delete=on", "temp_store=memory", "cache_size=-8000",
            "mmap_size=1073741824")


class SqliteWriter(SqlWriter, SqliteReader):
    """Writes to SQLite under the write lock."""


class SqliteStore(SqlStore):
    """All that is remembered, in one folder."""

    name, reader, writer = "sqlite", SqliteReader, SqliteWriter

    def __init__(self, folder: Path, busy_s: float = 20.0) -> None:
        super().__init__(busy_s)
        self.folder = folder
        self.file = folder / FILE
        self._pid = os.getpid()
        with translated():
            make_private(folder)
            with self._connection() as db:
                migrate(db)

    def prune(self, seq: int) -> None:
        """Drop the part of the feed that every snapshot covers, and vectors without a passage."""
        with self.writing(None) as rows:
            rows.do("slots_prune", seq=seq)

    @contextmanager
    def transaction(self, tenant: str | None, writes: bool, wait_s: float) -> Iterator[apsw.Connection]:
        """As every store."""
        with translated(), self._connection(wait_s) as db, transaction(db, "begin immediate" if writes else "begin"):
            yield db

    def shred(self) -> bool:
        """Leave no byte of what was erased in any file; False if readers or a full disk did not let us."""
        with suppress(DiskFull, StoreBusy), translated(), closing(self._open()) as db:
            return gaps.shred(db, self.file)
        return False

    def compact(self) -> None:
        """Give back what is free in the file where that is much, and empty the write-ahead log."""
        with translated(), self._connection() as db:
            pages, free = db.pragma("page_count"), db.pragma("freelist_count")
            if free > MUCH_FREE and free > pages // 4:
                db.execute("vacuum")
        self.shred()

    def backup(self, target: Path, progress: Progress = lambda done, total: None) -> None:
        """Copy everything into one new file while others go on writing."""
        with translated(), self._connection() as db, _copied(db, target, progress) as copy:
            copy.execute("pragma journal_mode=delete")

    def check(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        # A connection that was used before may check what it remembers of the text index, not what others wrote since.
        with translated(), closing(self._open()) as db:
            return [text for (text,) in db.execute("pragma integrity_check(20)") if text != "ok"]

    def sizes(self) -> dict[str, int]:
        """Bytes on disk per file of the data folder."""
        return {path.name: path.stat().st_size for path in sorted(self.folder.iterdir()) if path.is_file()}

    @contextmanager
    def _connection(self, wait_s: float | None = None) -> Iterator[apsw.Connection]:
        if self._pid != os.getpid():
            # SQLite connections do not survive a fork; closing them here would disturb the parent, so they stay.
            self._inherited, self._idle, self._pid = self._idle, [], os.getpid()
        try:
            db = self._idle.pop()
        except IndexError:
            db = self._open()
        db.set_busy_handler(_patience(self._busy_s if wait_s is None else wait_s))
        try:
            yield db
        finally:
            if self._closed:
                db.close()
            else:
                self._idle.append(db)

    def _open(self) -> apsw.Connection:
        db = apsw.Connection(str(self.file))
        db.create_scalar_function("casefold", lambda *text: str(text[0]).casefold(), 1, deterministic=True)
        wait = _patience(self._busy_s)
        db.set_busy_handler(wait)
        for pragma in _PRAGMAS:
            # To enter WAL mode takes a lock for which SQLite asks no busy handler.
            for tries in itertools.count():
                try:
                    db.execute(f"pragma {pragma}").fetchall()
                    break
                except apsw.BusyError:
                    if not wait(tries):
                        raise
        return db


def restore_backup(file: Path, folder: Path) -> None:
    """Put a backup into a data folder that has no database yet."""
    if not file.is_file():
        raise InvalidInput(f"There is no file {file}.", field="file")
    if (folder / FILE).exists():
        raise Conflict(f"{folder} holds a database already; restore into an empty folder.")
    with translated(), closing(apsw.Connection(str(file))) as source:
        problems = [text for (text,) in source.execute("pragma integrity_check(5)") if text != "ok"]
        if problems:
            raise StoreCorrupt(f"The backup is damaged: {problems[0]}")
        if not source.execute("select count(*) from sqlite_schema where name = 'migration'").get:
            raise StoreCorrupt("This file is no backup of memolith.")
        make_private(folder)
        with _copied(source, folder / FILE) as target:
            migrate(target)


def make_private(folder: Path) -> None:
    """Create the folder for its owner alone."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextmanager
def _copied(source: apsw.Connection, file: Path,
            progress: Progress = lambda done, total: None) -> Iterator[apsw.Connection]:
    """A copy for its owner alone, to be finished here; it then appears at its place, whole or not at all."""
    partial = file.with_name(file.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_WRONLY, 0o600))
        with closing(apsw.Connection(str(partial))) as copy:
            with copy.backup("main", source, "main") as run:
                while not run.done:
                    run.step(500)
                    progress(run.page_count - run.remaining, run.page_count)
            yield copy
        os.replace(partial, file)
    finally:
        partial.unlink(missing_ok=True)


def _patience(limit_s: float) -> Callable[[int], bool]:
    """Short random sleeps: SQLite's own growing ones starve a writer for seconds."""
    started = 0.0

    def wait(tries: int) -> bool:
        nonlocal started
        if tries == 0:
            started = time.monotonic()
        time.sleep(random.uniform(0.0005, 0.0025))
        return time.monotonic() - started < limit_s

    return wait
