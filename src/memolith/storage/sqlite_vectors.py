"""What the vector stage and the embedder read from SQLite."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path

import apsw

from memolith.engine.model import Caller, Filter
from memolith.engine.ports import Place, Slot, SlotItem, Unembedded
from memolith.storage.queries import about_passages, load, where
from memolith.storage.rows import Row

QUERIES = load(Path(__file__).with_name("sqlite.sql"))


class SqliteVectors:
    """Named statements over one connection, and the vectors among what they read."""

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db

    def rows(self, name: str, /, **values: str | int | float | bytes | None) -> Iterator[Row]:
        """The rows of a named statement."""
        return self.db.execute(QUERIES[name], values)

    def row(self, name: str, /, **values: str | int | float | bytes | None) -> Row | None:
        """The first row of a named statement."""
        found: Row | None = self.db.execute(QUERIES[name], values).fetchone()
        return found

    def database(self) -> str:
        """A word that no other database has."""
        return str((self.row("setting", tenant="", name="database") or ("",))[0])

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

    def passing(self, caller: Caller, chosen: Filter, vectors: Collection[int], model: str) -> dict[int, Place]:
        """Those of the vectors whose passage is there and passes the filter."""
        filters, values = where(QUERIES, caller, chosen, "passage")
        values |= {"tenant": caller.tenant, "model": model, "ids": json.dumps(list(vectors))}
        name = "passing_passage" if about_passages(chosen) else "passing"
        found = self.db.execute(QUERIES[name].format(filters=filters), values)
        return {vector: Place.of(ref) for vector, ref in found}

    def passing_all(self, caller: Caller, chosen: Filter, model: str) -> Iterator[int]:
        """Every vector whose passage passes the filter."""
        filters, values = where(QUERIES, caller, chosen, "passage")
        values |= {"tenant": caller.tenant, "model": model}
        return (vector for (vector,) in self.db.execute(QUERIES["passing_all"].format(filters=filters), values))

    def vectors_of(self, places: Collection[Place], model: str) -> dict[Place, bytes]:
        """The int8 rows of passages that have one."""
        ids = json.dumps([place.ref for place in places])
        return {Place.of(ref): row for ref, row in self.rows("vectors_of", model=model, ids=ids)}

    def vector_count(self, model: str) -> int:
        """How many vectors of a model there are."""
        return int((self.row("vector_count", model=model) or (0,))[0])

    def vector_by_digest(self, digest: bytes, model: str) -> bytes | None:
        """The vector that the same text got before."""
        found = self.row("vector_same", digest=digest, model=model)
        return found[0] if found else None

    def models(self) -> dict[str, int]:
        """How many passages have a vector of each model."""
        return dict(self.rows("models"))

    def unembedded(self, tenant: str, stream: str, model: str) -> list[Unembedded]:
        """The passages of an item with what their vectors were made from."""
        item = self.row("item", tenant=tenant, id=stream)
        if item is None:
            return []
        digests: dict[int, bytes] = dict(self.rows("vector_digests", item=item[0], model=model))
        found: list[Unembedded] = []
        block, before = -1, ""
        for row in self.rows("passages_from", item=item[0], ordinal=0):
            found.append(Unembedded(ref=row[0], title=item[4], speaker=row[7], text=row[5],
                                    before=before if row[4] == block else "", digest=digests.get(row[0])))
            block, before = row[4], row[5]
        return found


def _slot_item(row: int, columns: list[str]) -> SlotItem:
    tenant, kind, status, owner, audience, project, namespace, forgotten = columns
    return SlotItem(row, tenant, kind, status, owner, audience, project, namespace, bool(forgotten))
