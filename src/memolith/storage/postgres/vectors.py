"""Search by meaning in PostgreSQL: an exact scan, or the tenant's own index where it has one."""

import json
from array import array
from collections.abc import Collection
from functools import lru_cache
from operator import itemgetter
from struct import unpack

from memolith.domain.callers import Caller
from memolith.domain.passages import PassageRef
from memolith.domain.queries import Filter
from memolith.ports.store import Reader
from memolith.ports.text_index import Candidate
from memolith.storage.filters import FilterSql
from memolith.storage.postgres.reader import PostgresReader
from memolith.storage.rows import Parameter, RowShape
from memolith.storage.sql_files import FILTERS_MARK

MIN_PASSAGES_OF_LARGE_TENANT = 10_000
"""From this size on, a tenant may have a vector index of its own."""

PASSAGES_PER_FITTING_ITEM = 20
"""If a filter keeps at most one item for so many passages, the vectors of these items are looked
up, which for each takes about ten times as long as reading all vectors in a row.
"""

MAX_FEW_ITEMS = 20_000
"""No more rows than that are sent to and fro."""

DIMENSION_MARK = "384 /* dimension */"
NO_LEAST_COSINE = -1.0
HALFVEC_HEADER_BYTES = 4
NEIGHBOUR: RowShape[Candidate] = RowShape(("ref", "cosine"), tuple)


class PostgresVectors:
    """The vectors of one model; see the port `Vectors`."""

    def __init__(self, model: str, dimension: int) -> None:
        self.model = model
        self.dimension = dimension

    def nearest(
        self,
        rows: Reader,
        caller: Caller,
        chosen: Filter,
        query: bytes,
        limit: int,
        least: float = NO_LEAST_COSINE,
    ) -> list[Candidate]:
        """The best passages by cosine among those that pass the filter."""
        reader = _postgres_reader(rows)
        head = reader.head(caller.tenant)
        name = self._statement(reader, caller, chosen)
        where = reader.filter_sql(caller, chosen, on_passages=True)
        values: dict[str, Parameter] = {
            **where.values,
            "tenant": caller.tenant,
            "model": self.model,
            "query": vector_text(query),
            "limit": limit,
        }
        if head is not None and head.passages >= MIN_PASSAGES_OF_LARGE_TENANT:
            if name == "nearest":
                most = min(head.passages // PASSAGES_PER_FITTING_ITEM, MAX_FEW_ITEMS)
                items = _fitting_items(reader, caller, where, most)
                if items is not None:
                    name = "nearest_of_items"
                    values["items"] = json.dumps(items)
            # Nothing that a search reads after this is sorted by the database.
            reader.statements.do("avoid_sorting")
        pieces = {DIMENSION_MARK: str(self.dimension), FILTERS_MARK: where.text}
        candidates = list(reader.statements.read_adapted(name, NEIGHBOUR, pieces, values))
        if least > NO_LEAST_COSINE:
            candidates = [candidate for candidate in candidates if candidate[1] >= least]
        # The index gives them only nearly in order.
        return sorted(candidates, key=itemgetter(1), reverse=True)

    def _statement(self, reader: PostgresReader, caller: Caller, chosen: Filter) -> str:
        """Who sees most of a tenant is served by its index, a narrow filter by an exact scan."""
        if reader.sees_everything(caller, chosen):
            return "nearest_of_everything"
        if reader.sees_most(caller, chosen):
            return "nearest_by_index"
        if chosen.looks_at_passages:
            return "nearest_passages"
        return "nearest"

    def cosines(
        self, rows: Reader, query: bytes, refs: Collection[PassageRef]
    ) -> dict[PassageRef, float]:
        """The cosine of each passage that has a vector."""
        reader = _postgres_reader(rows)
        found = reader.statements.rows(
            "cosines",
            tenant=reader.tenant,
            model=self.model,
            query=vector_text(query),
            refs=json.dumps(list(refs)),
        )
        return {row.ref: row.cosine for row in found}

    def beginnings(
        self, rows: Reader, caller: Caller, chosen: Filter
    ) -> list[tuple[PassageRef, bytes]]:
        """The unit vectors of the first passages that pass the filter."""
        # How the server sends a halfvec: its dimension, four bytes in all, then half floats.
        layout = f">{HALFVEC_HEADER_BYTES}x{self.dimension}e"
        found = _postgres_reader(rows).filtered("first_vectors", caller, chosen, model=self.model)
        return [(row.ref, array("f", unpack(layout, row.v)).tobytes()) for row in found]


def _fitting_items(
    reader: PostgresReader, caller: Caller, where: FilterSql, most: int
) -> list[int] | None:
    """The rows of the items that a filter keeps; None if there are more than so many."""
    found = reader.statements.adapted_rows(
        "rows_of_fitting_items",
        {FILTERS_MARK: where.text},
        {**where.values, "tenant": caller.tenant, "most": most + 1},
    )
    rows = [row.row for row in found]
    return rows if len(rows) <= most else None


def _postgres_reader(rows: Reader) -> PostgresReader:
    assert isinstance(rows, PostgresReader), "these vectors lie in PostgreSQL"
    return rows


@lru_cache(64)
def vector_text(vector: bytes) -> str:
    """A vector of floats as pgvector reads it."""
    return "[" + ",".join(f"{part:.6g}" for part in array("f", vector)) + "]"
