"""Gives every large tenant a vector index of its own."""

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

import psycopg
from psycopg import sql

from memolith.ports.embedder import Embedder
from memolith.ports.vectors import Vectors
from memolith.storage.postgres.statements import QUERIES, Connection, PostgresStatements
from memolith.storage.postgres.vectors import DIMENSION_MARK, PostgresVectors, vector_text

INDEX_MARK = "own_index"
PARTITION_MARK = "embedding_0"


class PostgresStage(NamedTuple):
    """Search by meaning in the database, and the indexes that speed it up."""

    owning: Callable[[], AbstractContextManager[Connection]]
    """Borrows a connection with the rights of the user who logged in."""
    min_passages: int
    """From how many passages on a tenant gets an index of its own."""

    def vectors(self, embedder: Embedder) -> Vectors:
        return PostgresVectors(embedder.id, embedder.dimension)

    def row(self, vector: bytes) -> str:
        """A vector in the form in which the store keeps it."""
        return vector_text(vector)

    def renew(self, embedder: Embedder, always: bool = False) -> bool:
        """Build the index of each tenant that has grown large, while it goes on writing.

        Returns whether an index was built.
        """
        is_built = False
        with self.owning() as db:
            statements = PostgresStatements(db)
            large = statements.rows("large_tenants", least=self.min_passages, model=embedder.id)
            for tenant in list(large):
                name = index_name(tenant.tenant, embedder.id)
                row = statements.row("own_index_is_valid", name=name)
                if row is None or not row.valid:
                    _build(db, name, tenant.partition, tenant.tenant, embedder)
                    is_built = True
        return is_built

    def drop(self, embedder: Embedder | None) -> None:
        """Nothing to do: the vectors lie in the database alone."""


def index_name(tenant: str, model: str) -> str:
    digest = hashlib.blake2b(f"{tenant}:{model}".encode(), digest_size=12).hexdigest()
    return f"own_{digest}"


def _build(db: Connection, name: str, partition: str, tenant: str, embedder: Embedder) -> None:
    index = sql.Identifier(name).as_string(db)
    # A build that broke off leaves an index that is not valid.
    db.execute(QUERIES["drop_own_index"].replace(INDEX_MARK, index))
    create = QUERIES["create_own_index"].replace(INDEX_MARK, index)
    create = create.replace(PARTITION_MARK, sql.Identifier(partition).as_string(db))
    create = create.replace(DIMENSION_MARK, str(embedder.dimension))
    # The server takes no parameters in such a statement, so the client puts the values in.
    psycopg.ClientCursor(db).execute(create, {"tenant": tenant, "model": embedder.id})
