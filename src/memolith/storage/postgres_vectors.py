"""The vector stage of PostgreSQL: the database scans a tenant's vectors exactly, or by the tenant's own index."""

from __future__ import annotations

from array import array
from collections.abc import Collection
from operator import mul

from memolith.engine.model import Caller, Filter
from memolith.engine.ports import Candidate, Place, Reader
from memolith.storage.postgres_read import PostgresReader


class PostgresVectors:
    """Finds the nearest vectors of one model."""

    def __init__(self, model: str, dimension: int) -> None:
        self.model = model
        self.dimension = dimension

    def nearest(self, rows: Reader, caller: Caller, chosen: Filter, query: bytes, limit: int) -> list[Candidate]:
        """The best passages by cosine among those that pass the filter."""
        assert isinstance(rows, PostgresReader)
        return rows.nearest(caller, chosen, self.model, halved(query).decode(), limit)

    def cosines(self, rows: Reader, query: bytes, places: Collection[Place]) -> dict[Place, float]:
        """The cosine of each passage that has a vector."""
        assert isinstance(rows, PostgresReader)
        return rows.cosines(self.model, halved(query).decode(), places)

    def cosine(self, query: bytes, vector: bytes) -> float:
        """The cosine of two unit vectors."""
        return float(sum(map(mul, array("f", query), array("f", vector))))


def halved(vector: bytes) -> bytes:
    """The vector as pgvector reads it."""
    return ("[" + ",".join(f"{part:.6g}" for part in array("f", vector)) + "]").encode()
