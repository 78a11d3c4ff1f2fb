"""What the errors of PostgreSQL mean to a caller."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psycopg

from memolith import errors


class Meaning(NamedTuple):
    """An error of ours for a group of errors of the server."""

    pattern: str
    """Matches the code of an error, and after a blank the constraint that was broken, or what the
    server says if a connection failed.
    """
    error: type[errors.MemolithError]
    message: str | None = None
    """What the user reads, with the code for `{}`; None for the usual message of the error."""


UNIQUE_VIOLATION = "23505"

MEANINGS = (
    Meaning(
        "NoAnswer|ConnectionTimeout",
        errors.StoreGone,
        "The database server did not answer in time; nothing was done. The next call tries again.",
    ),
    Meaning(
        "53[12]00",
        errors.DiskFull,
        "The disk of the database server is full; nothing was written.",
    ),
    # A lock or a statement took too long, a deadlock, a conflict, too many connections.
    Meaning("55P03|57014|40P01|40001|53300", errors.StoreBusy),
    Meaning("23505 event_stream", errors.VersionConflict),
    Meaning("23505 event_key", errors.AlreadyExists, "There is an event under this key already."),
    Meaning("23", errors.MemolithError, "The database refuses a row ({})."),
    Meaning(
        "25006",
        errors.StoreReadOnly,
        "The database is a read-only replica; write to the primary server.",
    ),
    Meaning("28P01|28000|42501|.*(password|authentication|role)", errors.StoreDenied),
    Meaning(
        "26000|42P05",
        errors.Unavailable,
        "A pooler stands before the database and mixes up prepared statements; set "
        "`database_pooler`.",
    ),
    Meaning(
        "42P01|42703|42883|XX001",
        errors.StoreCorrupt,
        "The database does not have the tables of memolith ({}).",
    ),
    Meaning(
        "54000",
        errors.Unavailable,
        "A name is too long for an index of the database; shorten it.",
    ),
    Meaning(
        ".*does not exist",
        errors.StoreDenied,
        "There is no such database on the server; create it, or mend the setting `database`.",
    ),
)
"""The first that matches counts."""


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn errors of the driver into those of memolith, which show no address and no password."""
    try:
        yield
    except psycopg.DatabaseError as error:
        raise _meaning_of(error) from error


def _constraint(error: psycopg.DatabaseError) -> str:
    """The constraint that was broken; empty if none was.

    On a distributed database only the text of the error names it, with the number of its shard.
    """
    if error.diag.constraint_name or error.sqlstate != UNIQUE_VIOLATION:
        return error.diag.constraint_name or ""
    named = re.search(r"event_(stream|key)", error.diag.message_primary or "")
    return named.group() if named else ""


def _meaning_of(error: psycopg.DatabaseError) -> errors.MemolithError:
    connection_failed = isinstance(error, psycopg.OperationalError)
    code = error.sqlstate or type(error).__name__
    words = str(error) if connection_failed else _constraint(error)
    for meaning in MEANINGS:
        if re.match(meaning.pattern, f"{code} {words}", re.DOTALL):
            message = meaning.message and meaning.message.format(code)
            return meaning.error(message)
    if connection_failed:
        return errors.StoreGone()
    return errors.Unavailable(f"The database refuses this ({code}).")
