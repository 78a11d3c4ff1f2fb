"""Reading from one SQLite connection, and what the vector stage follows there."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

import apsw

from memolith.engine.model import Caller, Filter, Json
from memolith.engine.ports import Place, Slot, SlotItem
from memolith.storage.queries import Parameter, Parameters, Queries, about_passages
from memolith.storage.reader import SqlReader
from memolith.storage.rows import Row

COLUMNS = ("body", "extra", "scope")


def _sql_value(op: str, value: Json) -> Parameter:
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return int(value) if isinstance(value, bool) else value


def _arrays(text: str) -> str:
    # Where the ids are known, an index by the tenant alone, which SQLite would prefer, leads through all he has.
    text = text.replace("p.tenant = :tenant and p.id", "+p.tenant = :tenant and p.id")
    return re.sub(r"in (?:each|numbers)\(:(\w+)\)", r"in (select value from json_each(:\1))", text)


QUERIES = Queries("sqlite.sql", lambda name: "$." + json.dumps(name), _sql_value, _arrays)


class SqliteReader(SqlReader):
    """Reads from SQLite."""

    queries = QUERIES

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__()
        self.db = db

    def run(self, sql: str, values: Parameters) -> Iterator[Row]:
        """The rows of a statement."""
        return self.db.execute(sql, values)

    def match(self, words: Sequence[str], phrases: Sequence[str], every: bool,
              scopes: Sequence[Sequence[str]]) -> str:
        """An FTS5 expression over body and extra, and over the scope column."""
        groups = [f'"{phrase}"' for phrase in phrases]
        if words:
            groups.append("(" + (" AND " if every else " OR ").join(f'"{word}"' for word in words) + ")")
        return " AND ".join(["{body extra} : (" + " AND ".join(groups) + ")",
                             *(f"scope : ({' OR '.join(group)})" for group in scopes)])

    def stale(self, expected: dict[int, tuple[str, str, str]]) -> list[int]:
        """Which passages the text index has otherwise; negative for what it has too much."""
        for _ in self.rows("instances"):
            pass
        found: dict[int, int] = defaultdict(int)
        for term, doc, column, offset in self.rows("instances_all"):
            found[doc] += hash((term, column, offset))
        wrong = [ref for ref, columns in expected.items() if found.pop(ref, 0) != sum(
            hash((term, name, offset)) for name, text in zip(COLUMNS, columns, strict=True)
            for offset, term in enumerate(text.split()))]
        others = {id for (id,) in self.rows("passage_ids")}
        return wrong + [-doc for doc in found if doc not in others]

    def slot_marks(self) -> tuple[int, int]:
        """The newest vector and the newest change of a slot."""
        vector, change = self.row("slot_marks") or (0, 0)
        return vector, change

    def slots(self, after: int, upto: int, model: str) -> Iterator[Slot]:
        """The vectors of a model in the order they were made."""
        for vector, ref, row, at, *columns, data in self.rows("slots", after=after, upto=upto, model=model):
            yield Slot(vector, ref, at, _slot_item(row, columns), data)

    def slot_changes(self, seq: int) -> list[tuple[int, int | None, int | None]]:
        """Vectors gone and items changed since then."""
        return [(number, vector, item) for number, vector, item in self.rows("slot_changes", seq=seq)]

    def slot_items(self, rows: Collection[int]) -> list[SlotItem]:
        """The columns of items as they are now."""
        if not rows:
            return []
        return [_slot_item(row, columns) for row, *columns in self.rows("slot_items", rows=json.dumps(list(rows)))]

    def items_tagged(self, tenant: str, tags: Collection[str], least: int, limit: int) -> list[int]:
        """Items that have at least so many of the tags."""
        found = self.rows("items_tagged", tenant=tenant, tags=json.dumps(list(tags)), least=least, limit=limit)
        return [item for (item,) in found]

    def passing(self, caller: Caller, chosen: Filter, vectors: Collection[int], model: str) -> dict[int, int]:
        """Those of the vectors whose passage is there and passes the filter, each with its passage."""
        found = self.filtered("passing_passage" if about_passages(chosen) else "passing", caller, chosen, "passage",
                              model=model, ids=json.dumps(list(vectors)))
        return dict(found)

    def passing_all(self, caller: Caller, chosen: Filter, model: str) -> Iterator[int]:
        """Every vector whose passage passes the filter."""
        return (vector for (vector,) in self.filtered("passing_all", caller, chosen, "passage", model=model))

    def vectors_of(self, places: Collection[Place], model: str) -> dict[Place, bytes]:
        """The int8 rows of passages that have one."""
        ids = json.dumps([place.ref for place in places])
        return {Place.of(ref): row for ref, row in self.rows("vectors_of", model=model, ids=ids)}

    def vector_count(self, model: str) -> int:
        """How many vectors of a model there are."""
        return int((self.row("vector_count", model=model) or (0,))[0])


def _slot_item(row: int, columns: list[str]) -> SlotItem:
    tenant, kind, status, owner, audience, project, namespace, forgotten = columns
    return SlotItem(row, tenant, kind, status, owner, audience, project, namespace, bool(forgotten))
