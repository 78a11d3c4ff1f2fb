"""Turns PostgreSQL's errors into ours, at one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from memolith import errors as ours


@contextmanager
def translated() -> Iterator[None]:
    """No error of the driver gets past this, and none shows an address or a password."""
    try:
        yield
    except (errors.DiskFull, errors.OutOfMemory) as error:
        raise ours.DiskFull("The disk of the database server is full; nothing was written.") from error
    except (errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected,
            errors.SerializationFailure, errors.TooManyConnections) as error:
        raise ours.StoreBusy from error
    except errors.UniqueViolation as error:
        raise ours.VersionConflict from error
    except errors.ReadOnlySqlTransaction as error:
        raise ours.StoreReadOnly("The database is a read-only replica; write to the primary server.") from error
    except (errors.InvalidPassword, errors.InvalidAuthorizationSpecification, errors.InsufficientPrivilege) as error:
        raise ours.StoreDenied from error
    except (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedFunction, errors.DataCorrupted) as error:
        raise ours.StoreCorrupt(f"The database does not have the tables of memolith ({error.sqlstate}).") from error
    except psycopg.OperationalError as error:
        raise refused(error) from error
    except psycopg.DatabaseError as error:
        raise ours.Unavailable(f"The database refuses this ({error.sqlstate or type(error).__name__}).") from error


def refused(error: psycopg.OperationalError) -> ours.Unavailable:
    """What a failed connection means; the driver gives no code for it, only the server's words."""
    text = str(error)
    if error.sqlstate == "54000":
        return ours.Unavailable("A name is too long for an index of the database; shorten it.")
    if "password" in text or "authentication" in text or "role" in text:
        return ours.StoreDenied()
    if "does not exist" in text:
        return ours.StoreDenied("There is no such database on the server; create it, or mend the setting `database`.")
    return ours.StoreGone()
