"""The vector stage of PostgreSQL: the database scans a tenant's vectors exactly, or by the tenant's own index."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Collection
from functools import lru_cache
from operator import itemgetter, mul
from struct import unpack

from psycopg import sql

from memolith.engine.model import Caller, Filter
from memolith.engine.ports import Candidate, Embedder, Place, Reader, Vectors
from memolith.storage.postgres import PostgresStore
from memolith.storage.postgres_read import QUERIES, PostgresReader

LARGE = 10_000


class PostgresVectors:
    """Finds the nearest vectors of one model."""

    def __init__(self, model: str, dimension: int) -> None:
        self.model = model
        self.dimension = dimension

    def nearest(self, rows: Reader, caller: Caller, chosen: Filter, query: bytes, limit: int,
                least: float = -1.0) -> list[Candidate]:
        """The best passages by cosine among those that pass the filter."""
        assert isinstance(rows, PostgresReader)
        if (rows.head(caller.tenant) or (0, 0, 0))[2] >= LARGE:
            # Rows behind the fence are guessed far too few for the planner to choose the tenant's own index by itself;
            # nothing that a search reads after this is sorted by the database.
            rows.db.execute(QUERIES["unsorted"])
        found = rows.best("nearest", caller, chosen, {"{dimension}": str(self.dimension)}, limit, model=self.model,
                          query=halved(query).decode())
        # The index gives them nearly in order.
        best = sorted(found, key=itemgetter(1), reverse=True)
        return [(ref, score) for ref, score in best if score >= least] if least > -1 else best

    def cosines(self, rows: Reader, query: bytes, places: Collection[Place]) -> dict[Place, float]:
        """The cosine of each passage that has a vector."""
        assert isinstance(rows, PostgresReader)
        found = rows.rows("cosines", model=self.model, query=halved(query).decode(),
                          ids=json.dumps([place.ref for place in places]))
        return {Place.of(ref): cosine for ref, cosine in found}

    def cosine(self, query: bytes, vector: bytes) -> float:
        """The cosine of two unit vectors."""
        return float(sum(map(mul, array("f", query), array("f", vector))))

    def beginnings(self, rows: Reader, caller: Caller, chosen: Filter) -> list[tuple[Place, bytes]]:
        """The unit vectors of the first passages that pass the filter."""
        assert isinstance(rows, PostgresReader)
        form = f">4x{self.dimension}e"
        return [(Place.of(ref), array("f", unpack(form, sent)).tobytes())
                for ref, sent in rows.filtered("beginnings", caller, chosen, model=self.model)]


@lru_cache(64)
def halved(vector: bytes) -> bytes:
    """The vector as pgvector reads it."""
    return ("[" + ",".join(f"{part:.6g}" for part in array("f", vector)) + "]").encode()


class PostgresStage:
    """Searches in the database, and gives large tenants an index of their own."""

    def __init__(self, store: PostgresStore, own_index_from: int) -> None:
        self._store = store
        self._least = own_index_from

    def vectors(self, embedder: Embedder) -> Vectors:
        """The vectors of a model."""
        return PostgresVectors(embedder.id, embedder.dimension)

    def row(self, vector: bytes) -> bytes:
        """A vector as the store keeps it."""
        return halved(vector)

    def renew(self, embedder: Embedder, always: bool = False) -> bool:
        """Build the index of each tenant that has grown past the bound, while it goes on writing."""
        made = False
        with self._store.owning() as db:
            for tenant, table in list(db.execute(QUERIES["large"], {"least": self._least, "model": embedder.id})):
                mark = hashlib.blake2b(f"{tenant}:{embedder.id}".encode(), digest_size=12).hexdigest()
                # A build that broke off leaves an index that is not valid, which is removed before the next try.
                if next(iter(db.execute(QUERIES["own_index_state"], {"name": f"own_{mark}"})), None) == (True,):
                    continue
                names = {"name": sql.Identifier(f"own_{mark}"), "table": sql.Identifier(table), "tenant": tenant,
                         "model": embedder.id, "dimension": embedder.dimension}
                for name in ("own_index_drop", "own_index_make"):
                    db.execute(sql.SQL(QUERIES[name]).format(**names))
                made = True
        return made

    def drop(self, embedder: Embedder | None) -> None:
        """Nothing: the vectors lie in the database alone."""
