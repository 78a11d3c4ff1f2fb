"""Numbered migrations, each with a checksum, applied once under the write lock."""

from __future__ import annotations

import hashlib
from pathlib import Path

import apsw

from memolith.errors import SchemaTooNew, StoreCorrupt
from memolith.storage.faults import transaction
from memolith.storage.rows import value

FOLDER = Path(__file__).with_name("migrations") / "sqlite"


def migrations(folder: Path) -> list[tuple[int, str, str]]:
    """Number, name and text of each migration in order."""
    return [(int(path.name[:4]), path.stem, path.read_text(encoding="utf-8"))
            for path in sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))]


def migrate(db: apsw.Connection) -> None:
    """Bring the schema up to date; a schema from the future or of another program is refused untouched."""
    known = migrations(FOLDER)
    if value(db, "pragma user_version") == known[-1][0]:
        _check(db, known)
        return
    with transaction(db):
        _apply(db, known)


def _check(db: apsw.Connection, known: list[tuple[int, str, str]]) -> set[int]:
    """The numbers of the migrations that were applied, if they had the text that they have now."""
    ours = value(db, "select count(*) from sqlite_schema where name = 'migration'")
    done: dict[int, str] = dict(db.execute("select number, checksum from migration")) if ours else {}
    if not done and value(db, "select count(*) from sqlite_schema"):
        raise StoreCorrupt("The database file belongs to another program.")
    for number, name, text in known:
        if number in done and done[number] != checksum(text):
            raise StoreCorrupt(f"Migration {name} was applied with another text than it has now.")
    return set(done)


def checksum(text: str) -> str:
    """What tells one text of a migration from another."""
    return hashlib.sha256(text.encode()).hexdigest()


def _apply(db: apsw.Connection, known: list[tuple[int, str, str]]) -> None:
    current = value(db, "pragma user_version")
    if current > known[-1][0]:
        raise SchemaTooNew(f"This data has schema {current}, this memolith knows {known[-1][0]}; update the program.")
    done = _check(db, known)
    db.execute("create table if not exists migration (number integer primary key, name text, checksum text)")
    for number, name, text in known:
        if number not in done:
            for _ in db.execute(text):
                pass
            db.execute("insert into migration values (?, ?, ?)", (number, name, checksum(text)))
    db.execute(f"pragma user_version = {known[-1][0]}")
