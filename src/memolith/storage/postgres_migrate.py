"""Brings a PostgreSQL database up to date, while servers of an earlier version may still run on it."""

from __future__ import annotations

import re
from pathlib import Path

from psycopg import errors

from memolith.errors import Unavailable
from memolith.storage.migrate import checksum, migrations, missing
from memolith.storage.postgres_read import QUERIES, Connection
from memolith.storage.queries import TO_SQLITE

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
    if (ours and not missing(db.execute(QUERIES["migrations"]), known)) or replica:
        return
    try:
        with db.transaction():
            db.execute(QUERIES["migration_table"])
            for number, name, text in missing(list(db.execute(QUERIES["migrations"])), known):
                db.execute(TO_SQLITE.sub("", text).replace("bigint primary key", "bigint not null"))
                oldest = re.match(r"-- oldest: (\d+)", text)
                db.execute(QUERIES["migration_add"], {"number": number, "name": name, "checksum": checksum(text),
                                                      "oldest": int(oldest[1]) if oldest else number})
    except (errors.UndefinedFile, errors.FeatureNotSupported) as error:
        raise Unavailable("The server lacks the extension pgvector; install it there (0.8 or newer).") from error
    except errors.InsufficientPrivilege as error:
        raise Unavailable("This role may not set up the database; let its owner run `memolith migrate` once, and have "
                          "pgvector created by an administrator: create extension vector") from error
