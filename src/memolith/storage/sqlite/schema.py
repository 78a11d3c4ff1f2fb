"""Brings the schema of a SQLite file up to date."""

import apsw

from memolith.errors import StoreCorrupt
from memolith.storage.migrations import (
    applied_migrations,
    apply_missing_migrations,
    missing_migrations,
)
from memolith.storage.sqlite.statements import SqliteStatements


def migrate(db: apsw.Connection) -> None:
    """Apply the migrations that are missing.

    A schema from a newer program, or of another program, is refused and left as it is.
    """
    statements = SqliteStatements(db)
    tables = {row.name for row in statements.rows("table_names")}
    if tables and "migration" not in tables:
        raise StoreCorrupt("The database file belongs to another program.")
    if tables and not missing_migrations("sqlite", applied_migrations(statements)):
        return
    with db:
        apply_missing_migrations("sqlite", statements, lambda text: db.execute(text).fetchall())
