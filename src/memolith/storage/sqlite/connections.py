"""Connections to one SQLite file, and what the driver's errors mean."""

import itertools
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from memolith import errors
from memolith.private_files import close_to_others

PRAGMAS = (
    "journal_mode=wal",
    "synchronous=full",
    "secure_delete=on",
    "temp_store=memory",
    "cache_size=-4000",
    "mmap_size=1073741824",
)
"""How every connection is set up."""

NEW_FILE_PRAGMA = "auto_vacuum=incremental"
"""Lets a file keep a map of its pages, so that it can be compacted and blanked in small steps."""

READ_ONLY_PRAGMAS = ("temp_store=memory", "cache_size=-4000", "mmap_size=1073741824")
"""How a connection is set up where nothing can be written."""

MIN_SLEEP_S = 0.0005
MAX_SLEEP_S = 0.0025

_MEANINGS: dict[type[Exception], type[errors.MemolithError]] = {
    apsw.FullError: errors.DiskFull,
    apsw.BusyError: errors.StoreBusy,
    apsw.LockedError: errors.StoreBusy,
    UnicodeDecodeError: errors.StoreCorrupt,
    apsw.CorruptError: errors.StoreCorrupt,
    apsw.NotADBError: errors.StoreCorrupt,
    apsw.ReadOnlyError: errors.StoreReadOnly,
    apsw.CantOpenError: errors.StoreReadOnly,
    apsw.PermissionsError: errors.StoreReadOnly,
    apsw.AuthError: errors.StoreReadOnly,
}
SECOND_EVENT_OF_A_VERSION = "event.tenant, event.stream, event.version"
SECOND_EVENT_UNDER_A_KEY = "event.tenant, event.actor, event.key"
"""The columns by which SQLite names the constraints that a caller can break."""

_FAILED_WRITES = (
    apsw.SQLITE_IOERR_WRITE,
    apsw.SQLITE_IOERR_SHMSIZE,
    apsw.SQLITE_IOERR_TRUNCATE,
)


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn errors of the driver and of the system into those of memolith."""
    try:
        yield
    except tuple(_MEANINGS) as error:
        raise _MEANINGS[type(error)] from error
    except apsw.ConstraintError as error:
        raise _broken_constraint(error) from error
    except apsw.SQLError as error:
        raise errors.StoreCorrupt(
            f"The database is not one of memolith, or it is damaged ({error})."
        ) from error
    except apsw.IOError as error:
        # Some systems report a full disk as a failed write.
        if getattr(error, "extendedresult", 0) in _FAILED_WRITES:
            raise errors.DiskFull(
                "The disk refuses to be written: it is full or the quota is used up."
            ) from error
        raise errors.Unavailable(
            "The disk gives an error while the database is read or written."
        ) from error
    except OSError as error:
        raise errors.of_system(error) from error


def _broken_constraint(error: apsw.ConstraintError) -> errors.MemolithError:
    """What it means to a caller that a row was refused; the text names the columns at fault."""
    if SECOND_EVENT_OF_A_VERSION in str(error):
        return errors.VersionConflict()
    if SECOND_EVENT_UNDER_A_KEY in str(error):
        return errors.AlreadyExists("There is an event under this key already.", field="key")
    return errors.MemolithError(f"The database refuses a row: {error}.")


class Connections:
    """The connections of this process to one file. Idle ones are kept for the next user."""

    def __init__(self, file: Path, busy_s: float) -> None:
        self._file = file
        self._busy_s = busy_s
        self._pid = os.getpid()
        self._idle: list[apsw.Connection] = []
        self._inherited: list[apsw.Connection] = []
        self._is_closed = False
        self._identity: tuple[int, int] | None = None
        self._read_as: str | None = None
        """How the file looked when it was opened as one that does not change."""

    def remember_file(self) -> None:
        """Note which file lies at the path now; `borrow` accepts no other from here on."""
        self._identity = self._identity_at_path()

    def _identity_at_path(self) -> tuple[int, int] | None:
        """What tells the file at the path from any other; None if there is none."""
        try:
            found = self._file.stat()
        except FileNotFoundError:
            return None
        return (found.st_dev, found.st_ino)

    def _refuse_another_file(self) -> None:
        # Whoever has a file open can go on using it after it was removed, and nothing would be
        # kept of what is written there.
        if self._identity is not None and self._identity_at_path() != self._identity:
            raise errors.StoreReplaced

    @contextmanager
    def borrow(self, wait_s: float | None = None) -> Iterator[apsw.Connection]:
        """A connection for one user at a time, which waits so long for locks of others."""
        if self._pid != os.getpid():
            self._forget_inherited()
        self._refuse_another_file()
        if self._read_as is not None and self._read_as != self._look():
            # Somebody who may write the file has it open now, so its log counts, too.
            self._idle.clear()
        try:
            db = self._idle.pop()
        except IndexError:
            db = self.open()
        db.set_busy_handler(_patience(self._busy_s if wait_s is None else wait_s))
        try:
            yield db
        finally:
            if self._is_closed:
                db.close()
            else:
                self._idle.append(db)

    def _forget_inherited(self) -> None:
        # SQLite connections do not survive a fork. Closing them here would disturb the parent
        # process, so they are kept but never used.
        self._inherited = self._idle
        self._idle = []
        self._pid = os.getpid()

    def open(self) -> apsw.Connection:
        """A new connection, which the caller closes."""
        if self._cannot_be_written():
            return self._open_read_only()
        db = apsw.Connection(str(self._file))
        # Before the pragmas: the files of the log get the permissions that the database has then.
        # By its path: opening and closing it here would drop the locks of this process.
        close_to_others(str(self._file))
        db.create_scalar_function("casefold", _casefold, 1, deterministic=True)
        db.transaction_mode = "immediate"
        wait = _patience(self._busy_s)
        db.set_busy_handler(wait)
        if not db.pragma("page_count"):
            # On a file with pages it would wait for the write lock, and change nothing.
            _run_pragma(db, NEW_FILE_PRAGMA, wait)
        for pragma in PRAGMAS:
            _run_pragma(db, pragma, wait)
        return db

    def _cannot_be_written(self) -> bool:
        """Whether there is a file that this user may only read."""
        if not self._file.exists():
            return False
        return not (os.access(self._file, os.W_OK) and os.access(self._file.parent, os.W_OK))

    def _open_read_only(self) -> apsw.Connection:
        """A connection that only reads and makes no file beside the database."""
        look = self._look()
        # SQLite takes a log into account only in a folder where it may make its shared memory, or
        # finds it. Without a log nobody writes, and the file can be read as it stands.
        mode = "mode=ro" if look.endswith("log") else "immutable=1"
        self._read_as = look
        address = self._file.absolute().as_uri()
        db = apsw.Connection(
            f"{address}?{mode}", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
        db.create_scalar_function("casefold", _casefold, 1, deterministic=True)
        wait = _patience(self._busy_s)
        db.set_busy_handler(wait)
        for pragma in READ_ONLY_PRAGMAS:
            _run_pragma(db, pragma, wait)
        return db

    def _look(self) -> str:
        """What changes when somebody writes: the file itself, or whether it has a log."""
        log = self._file.with_name(self._file.name + "-wal")
        has_log = log.exists() and log.stat().st_size > 0
        changed = self._file.stat().st_mtime_ns
        return f"{changed} {'log' if has_log else 'alone'}"

    def close(self) -> None:
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()


def _run_pragma(db: apsw.Connection, pragma: str, wait: Callable[[int], bool]) -> None:
    # To enter WAL mode takes a lock for which SQLite does not call the busy handler.
    for attempt in itertools.count():
        try:
            db.execute(f"pragma {pragma}").fetchall()
            return
        except apsw.BusyError:
            if not wait(attempt):
                raise


def _casefold(*text: object) -> str:
    return str(text[0]).casefold()


def _patience(limit_s: float) -> Callable[[int], bool]:
    """A busy handler with short random sleeps; SQLite's own growing ones starve a writer."""
    started = 0.0

    def wait(attempt: int) -> bool:
        nonlocal started
        if attempt == 0:
            started = time.monotonic()
        time.sleep(random.uniform(MIN_SLEEP_S, MAX_SLEEP_S))
        return time.monotonic() - started < limit_s

    return wait
