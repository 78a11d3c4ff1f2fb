"""Numbered migrations, each with a checksum, applied once under the write lock."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import apsw

from memolith.errors import SchemaTooNew, StoreCorrupt
from memolith.storage.faults import transaction
from memolith.storage.sqlite_read import plain

FOLDER = Path(__file__).with_name("migrations") / "sqlite"
Migration = tuple[int, str, str]


def migrations(folder: Path) -> list[Migration]:
    """Number, name and text of each migration in order: the part that all stores share, then the store's own."""
    places = (folder.parent, folder)
    names = sorted({path.name for place in places for path in place.glob("[0-9][0-9][0-9][0-9]_*.sql")})
    return [(int(name[:4]), name.removesuffix(".sql"), "".join(
        path.read_text(encoding="utf-8") for place in places if (path := place / name).exists())) for name in names]


def checksum(text: str) -> str:
    """What tells one text of a migration from another."""
    return hashlib.sha256(text.encode()).hexdigest()


def missing(done: Iterable[tuple[int, str, int]], known: list[Migration]) -> list[Migration]:
    """What is still to be applied, if the rest has the text that it has now.

    A newer schema is fine as long as it says that a program of this age can work with it.
    """
    texts, last = {number: checksum(text) for number, _, text in known}, known[-1][0]
    for number, applied, oldest in done:
        if oldest > last:
            raise SchemaTooNew(f"The data has schema {number}, this memolith knows {last}; update the program.")
        if texts.pop(number, applied) != applied:
            raise StoreCorrupt(f"Migration {number} was applied with another text than it has now.")
    return [one for one in known if one[0] in texts]


def migrate(db: apsw.Connection) -> None:
    """Bring the schema up to date; a schema from the future or of another program is refused untouched."""
    known = migrations(FOLDER)
    if not _missing(db, known):
        return
    with transaction(db):
        todo = _missing(db, known)
        db.execute("create table if not exists migration (number integer primary key, name text, checksum text)")
        for number, name, text in todo:
            for _ in db.execute(plain(text)):
                pass
            db.execute("insert into migration values (?, ?, ?)", (number, name, checksum(text)))
        db.execute(f"pragma user_version = {known[-1][0]}")


def _missing(db: apsw.Connection, known: list[Migration]) -> list[Migration]:
    version = db.pragma("user_version")
    tables = {name for (name,) in db.execute("select name from sqlite_schema")}
    if tables and "migration" not in tables:
        raise StoreCorrupt("The database file belongs to another program.")
    done = [(number, text) for number, text in db.execute("select number, checksum from migration")] if tables else []
    return missing([(number, text, version) for number, text in done], known)
