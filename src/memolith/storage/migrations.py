"""Numbered migrations: complete SQL files per database, run exactly as they stand in the file."""

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from memolith.errors import SchemaTooNew, StoreCorrupt
from memolith.storage.statements import Statements

MIGRATIONS = {
    database: Path(__file__).parent / database / "migrations" for database in ("sqlite", "postgres")
}
"""The folder of migrations of each database."""

EARLIER_CHECKSUMS = {
    # Until the databases had a complete file each, 0001 was put together from a part for both
    # databases and a part for one, and its checksum covered the text before it was adapted to the
    # database. The tables it made are the same.
    ("sqlite", "0001_start"): "e9c843b32c27b3b608ef8ca2806d7f15a73bf46400b88906688f83063aa9a2d5",
    ("postgres", "0001_start"): "fc05d89795cf81a13adc953b4cf92d06c3664ed7573c1f1f7d84cde185f292f3",
}
"""The checksum that an earlier text of a migration had, which left the same schema."""

_OLDEST = "-- oldest: "


class Migration(NamedTuple):
    """A migration file of one database."""

    number: int
    name: str
    text: str
    oldest: int
    """The smallest highest number a program must know to work on the schema that this leaves."""
    checksum: str
    """The SHA-256 of the text."""


class Applied(NamedTuple):
    """A migration that a database has, as its table `migration` tells."""

    number: int
    checksum: str
    oldest: int


def all_migrations(database: str) -> list[Migration]:
    """The migrations of `sqlite` or `postgres`, in order."""
    return [_read(file) for file in sorted(MIGRATIONS[database].glob("[0-9]*.sql"))]


def highest_number(database: str) -> int:
    """The number of the newest migration of `sqlite` or `postgres`."""
    return max(migration.number for migration in all_migrations(database))


def missing_migrations(database: str, applied: Iterable[Applied]) -> list[Migration]:
    """The migrations that are not applied yet.

    A schema that needs a newer program is refused, and so is one that was made by another text.
    """
    known = {migration.number: migration for migration in all_migrations(database)}
    highest = max(known)
    for done in applied:
        if done.oldest > highest:
            raise SchemaTooNew(
                f"The data has schema {done.number}, this memolith knows {highest}; "
                "update the program."
            )
        migration = known.pop(done.number, None)
        if migration is not None and not _is_text_of(database, migration, done.checksum):
            raise StoreCorrupt(
                f"This data was made by a pre-release of memolith whose tables differ (migration "
                f"{done.number}). Write it out with that version, `memolith export FILE`, and read "
                "it here with `memolith import FILE --data NEW_FOLDER`. Nothing was changed."
            )
    return list(known.values())


def applied_migrations(statements: Statements) -> list[Applied]:
    """The migrations that a database has."""
    return [
        # The first programs did not keep `oldest`; what they left is known by its checksum.
        Applied(row.number, row.checksum, oldest=getattr(row, "oldest", 0))
        for row in statements.rows("applied_migrations")
    ]


def apply_missing_migrations(
    database: str, statements: Statements, execute: Callable[[str], object]
) -> None:
    """Apply the migrations of `sqlite` or `postgres` that are missing, and note each.

    `execute` runs the text of a migration, which has several statements.
    """
    statements.do("create_migration_table")
    for migration in missing_migrations(database, applied_migrations(statements)):
        execute(migration.text)
        statements.do(
            "add_migration",
            number=migration.number,
            name=migration.name,
            oldest=migration.oldest,
            checksum=migration.checksum,
        )


def _is_text_of(database: str, migration: Migration, checksum: str) -> bool:
    earlier = EARLIER_CHECKSUMS.get((database, migration.name))
    return checksum in (migration.checksum, earlier)


def _read(file: Path) -> Migration:
    text = file.read_text(encoding="utf-8")
    first_line = text.partition("\n")[0]
    return Migration(
        number=int(file.name[:4]),
        name=file.stem,
        text=text,
        oldest=int(first_line.removeprefix(_OLDEST)),
        checksum=hashlib.sha256(text.encode()).hexdigest(),
    )
