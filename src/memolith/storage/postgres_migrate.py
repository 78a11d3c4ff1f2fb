"""Brings a PostgreSQL database up to date, while servers of an earlier version may still run on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg import errors

from memolith.errors import SchemaTooNew, StoreCorrupt, Unavailable
from memolith.storage.migrate import checksum, migrations
from memolith.storage.postgres_read import QUERIES, Connection

FOLDER = Path(__file__).with_name("migrations") / "postgres"
LEAST_SERVER, LEAST_VECTOR = 150_000, (0, 8)


def migrate(db: Connection) -> None:
    """Check the server and apply what is missing, one process at a time."""
    number, version, vector, ours, replica = next(iter(db.execute(QUERIES["versions"])))
    if number < LEAST_SERVER:
        raise Unavailable(f"PostgreSQL 15 or newer is needed; this server is {version}.")
    if vector and tuple(int(part) for part in vector.split(".")[:2]) < LEAST_VECTOR:
        raise Unavailable(f"pgvector 0.8 or newer is needed; this database has {vector}. "
                          "Update it with: alter extension vector update")
    known = migrations(FOLDER)
    if (ours and not _missing(db, known)) or replica:
        return
    with db.transaction(), _explained():
        db.execute(QUERIES["migration_lock"])
        db.execute(QUERIES["migration_table"])
        for number, name, text in _missing(db, known):
            db.execute(text)
            oldest = re.match(r"-- oldest: (\d+)", text)
            db.execute(QUERIES["migration_add"], {"number": number, "name": name, "checksum": checksum(text),
                                                  "oldest": int(oldest[1]) if oldest else number})


def _missing(db: Connection, known: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    """What is still to be applied; a newer schema is fine as long as it says that this program can work with it."""
    texts = {number: checksum(text) for number, _, text in known}
    done = list(db.execute(QUERIES["migrations"]))
    for number, applied, oldest in done:
        if oldest > known[-1][0]:
            raise SchemaTooNew(f"The data has schema {number}, this memolith knows {known[-1][0]}; update the program.")
        if texts.get(number, applied) != applied:
            raise StoreCorrupt(f"Migration {number} was applied with another text than it has now.")
    return [one for one in known if one[0] not in {number for number, _, _ in done}]


@contextmanager
def _explained() -> Iterator[None]:
    """Say what the server lacks."""
    try:
        yield
    except (errors.UndefinedFile, errors.FeatureNotSupported) as error:
        raise Unavailable("The server lacks the extension pgvector; install it there (0.8 or newer).") from error
    except errors.InsufficientPrivilege as error:
        raise Unavailable("This role may not set up the database; let its owner run `memolith migrate` once, and have "
                          "pgvector created by an administrator: create extension vector") from error
