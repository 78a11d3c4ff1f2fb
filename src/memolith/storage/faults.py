"""How a transaction of SQLite ends, and what its errors mean to us, at one place."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from memolith import errors as ours

_MEANINGS: dict[type[Exception], type[ours.MemolithError]] = {
    apsw.FullError: ours.DiskFull, apsw.BusyError: ours.StoreBusy, apsw.LockedError: ours.StoreBusy,
    apsw.ConstraintError: ours.VersionConflict, UnicodeDecodeError: ours.StoreCorrupt,
    apsw.CorruptError: ours.StoreCorrupt, apsw.NotADBError: ours.StoreCorrupt, apsw.ReadOnlyError: ours.StoreReadOnly,
    apsw.CantOpenError: ours.StoreReadOnly, apsw.PermissionsError: ours.StoreReadOnly,
    apsw.AuthError: ours.StoreReadOnly}
_WRITE_FAULTS = (apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_TRUNCATE)


@contextmanager
def translated() -> Iterator[None]:
    """No error of the driver gets past this."""
    try:
        yield
    except tuple(_MEANINGS) as error:
        raise _MEANINGS[type(error)] from error
    except apsw.SQLError as error:
        raise ours.StoreCorrupt(f"The database is not one of memolith, or it is damaged ({error}).") from error
    except apsw.IOError as error:
        # Some systems report a full disk as a failed write.
        if getattr(error, "extendedresult", 0) in _WRITE_FAULTS:
            raise ours.DiskFull("The disk refuses to be written: it is full or the quota is used up.") from error
        raise ours.Unavailable("The disk gives an error while the database is read or written.") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ours.DiskFull from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise ours.StoreReadOnly from error
        raise ours.Unavailable(f"The data folder cannot be used: {error.strerror}.") from error


@contextmanager
def transaction(db: apsw.Connection, begin: str = "begin immediate") -> Iterator[None]:
    """Committed at the end, rolled back if that is not reached."""
    db.execute(begin)
    try:
        yield
        db.execute("commit")
    finally:
        if db.in_transaction:
            db.execute("rollback")
