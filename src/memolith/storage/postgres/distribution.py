"""Distributes the tables of a database over the servers of a Citus cluster."""

from pathlib import Path

from psycopg import errors

from memolith.errors import Unavailable
from memolith.storage.postgres.statements import QUERIES, QUERIES_OF_DISTRIBUTED, Connection

DISTRIBUTE = Path(__file__).with_name("distribute.sql").read_text(encoding="utf-8")
"""The statements that distribute the tables, run exactly as they stand in the file."""

NOT_MARKED = (
    "Text search reads all passages of a tenant until a superuser runs this on every server: "
    "alter function pg_catalog.ts_match_vq(tsvector, tsquery) leakproof"
)


def distribute(db: Connection) -> list[str]:
    """Distribute what is not distributed yet; returns what is left to do for an administrator."""
    if not db.execute(QUERIES["citus_version"]).fetchall():
        raise Unavailable(
            "This database has no extension citus; let an administrator create it on every server, "
            "and add the servers with citus_add_node."
        )
    try:
        with db.transaction():
            db.execute(QUERIES["lock_migrations"])
            db.execute(DISTRIBUTE)
    except errors.ObjectNotInPrerequisiteState as error:
        raise Unavailable(error.diag.message_primary) from error
    except errors.InsufficientPrivilege as error:
        raise Unavailable(
            "This role may not distribute the tables; let a superuser do it "
            f"({error.diag.message_primary})."
        ) from error
    db.execute(QUERIES["analyze"])
    marked = db.execute(QUERIES_OF_DISTRIBUTED["mark_match_as_leakproof"]).fetchall()
    return [] if all(row.success for row in marked) else [NOT_MARKED]
