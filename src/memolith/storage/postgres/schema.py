"""Checks a PostgreSQL server and brings the schema of its database up to date."""

from psycopg import errors

from memolith.errors import Unavailable
from memolith.storage.migrations import (
    applied_migrations,
    apply_missing_migrations,
    missing_migrations,
)
from memolith.storage.postgres.statements import Connection, PostgresStatements
from memolith.storage.rows import Row

MIN_SERVER_NUMBER = 150_000
MIN_PGVECTOR = (0, 8)


def migrate(db: Connection) -> bool:
    """Check the server and apply the migrations that are missing, one process at a time.

    Returns whether the tables are distributed over several servers.
    """
    statements = PostgresStatements(db)
    versions = statements.row("versions")
    assert versions is not None, "the statement always has one row"
    check_versions(versions)
    is_current = versions.set_up and not missing_migrations(
        "postgres", applied_migrations(statements)
    )
    is_distributed = bool(versions.distributed)
    if is_current or versions.replica:
        return is_distributed
    try:
        with db.transaction():
            statements.do("lock_migrations")
            apply_missing_migrations("postgres", statements, db.execute)
            return is_distributed
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
