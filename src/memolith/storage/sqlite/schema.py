"""Brings the schema of a SQLite file up to date."""

from collections.abc import Iterator

import apsw

from memolith.errors import StoreCorrupt
from memolith.storage.migrations import Applied, missing_migrations
from memolith.storage.sqlite.statements import Statements


def migrate(db: apsw.Connection) -> None:
    """Apply the migrations that are missing.

    A schema from a newer program, or of another program, is refused and left as it is.
    """
    statements = Statements(db)
    tables = {row.name for row in statements.rows("table_names")}
    if tables and "migration" not in tables:
        raise StoreCorrupt("The database file belongs to another program.")
    if tables and not missing_migrations("sqlite", _applied(statements)):
        return
    with db:
        statements.do("create_migration_table")
        for migration in missing_migrations("sqlite", list(_applied(statements))):
            db.execute(migration.text).fetchall()
            statements.do(
                "add_migration",
                number=migration.number,
                name=migration.name,
                oldest=migration.oldest,
                checksum=migration.checksum,
            )


def _applied(statements: Statements) -> Iterator[Applied]:
    for row in statements.rows("applied_migrations"):
        # The first programs did not keep `oldest`; what they left is known by its checksum.
        yield Applied(row.number, row.checksum, oldest=getattr(row, "oldest", 0))
