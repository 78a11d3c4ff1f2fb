"""Checks a PostgreSQL server and brings the schema of its database up to date."""

from collections.abc import Iterator

from psycopg import errors

from memolith.errors import Unavailable
from memolith.storage.migrations import Applied, missing_migrations
from memolith.storage.postgres.statements import Connection, Statements
from memolith.storage.rows import Row

MIN_SERVER_NUMBER = 150_000
MIN_PGVECTOR = (0, 8)


def migrate(db: Connection) -> None:
    """Check the server and apply the migrations that are missing, one process at a time."""
    statements = Statements(db)
    versions = statements.row("versions")
    assert versions is not None, "the statement always has one row"
    check_versions(versions)
    is_current = versions.set_up and not missing_migrations("postgres", _applied(statements))
    if is_current or versions.replica:
        return
    try:
        with db.transaction():
            _apply_missing(statements)
    except (errors.UndefinedFile, errors.FeatureNotSupported) as error:
        raise Unavailable(
            "The server lacks the extension pgvector; install it there (0.8 or newer)."
        ) from error
    except errors.InsufficientPrivilege as error:
        raise Unavailable(
            "This role may not set up the database; let its owner run `memolith migrate` once, and "
            "have pgvector created by an administrator: create extension vector"
        ) from error


def check_versions(versions: Row) -> None:
    """Refuse a server or an extension that is too old."""
    if versions.server_number < MIN_SERVER_NUMBER:
        raise Unavailable(f"PostgreSQL 15 or newer is needed; this server is {versions.server}.")
    if versions.pgvector is None:
        return
    pgvector = tuple(int(part) for part in versions.pgvector.split(".")[:2])
    if pgvector < MIN_PGVECTOR:
        raise Unavailable(
            f"pgvector 0.8 or newer is needed; this database has {versions.pgvector}. "
            "Update it with: alter extension vector update"
        )


def _apply_missing(statements: Statements) -> None:
    statements.do("lock_migrations")
    statements.do("create_migration_table")
    for migration in missing_migrations("postgres", _applied(statements)):
        statements.db.execute(migration.text)
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
