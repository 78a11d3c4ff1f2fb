"""The vector index of one model: it finds the passages that are nearest by meaning.

Vectors are kept in this process. The newest are in memory, the rest is mapped from a snapshot file
that all processes share. A scan proposes vectors, and the database decides which of them pass.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from memolith.domain.callers import Caller
from memolith.domain.passages import PassageRef
from memolith.domain.queries import Filter
from memolith.ports.store import Reader
from memolith.ports.text_index import Candidate
from memolith.ports.vector_slots import VectorSlots
from memolith.retrieval.vectors.encoding import Array
from memolith.retrieval.vectors.scan import ScanResult, VectorQuery, scan
from memolith.retrieval.vectors.shared_lock import SharedLock
from memolith.retrieval.vectors.snapshot import SnapshotFiles, SnapshotMarks, write_snapshot
from memolith.retrieval.vectors.tail import FollowedSlots

MAX_LISTED_ITEMS = 20_000
"""With more items that can pass, it is quicker to scan them all."""

WIDENING_FOR_CONDITIONS = 2
"""Conditions on attributes are left to the database, so more vectors are proposed to it."""

WIDENING_STEP = 8
"""How many times more vectors are proposed if too few of them passed."""


class VectorIndex:
    """Finds the nearest vectors of one model in one data folder."""

    def __init__(self, folder: Path, model: str, dimension: int) -> None:
        self.model = model
        self.dimension = dimension
        self._folder = folder
        self._files = SnapshotFiles(folder, model)
        self._lock = SharedLock()
        self.followed = FollowedSlots(self._files, model, dimension)

    def nearest(
        self,
        rows: Reader,
        caller: Caller,
        chosen: Filter,
        query: bytes,
        limit: int,
        min_cosine: float = -1.0,
    ) -> list[Candidate]:
        """Return the nearest passages that pass the filter, with their cosines, the best first."""
        slots = _vector_slots(rows)
        wanted = VectorQuery(caller, chosen, np.frombuffer(query, "<f4"), limit, min_cosine)
        widening = WIDENING_FOR_CONDITIONS if chosen.where else 1
        # A name is looked up at once. Looking through all items pays only where few of the nearest
        # vectors pass.
        may_list_items = bool(chosen.ids or chosen.titles)
        with self._lock.exclusive():
            self.followed.follow(slots)
        # What another search takes in from here on is newer than this one's view of the database,
        # which leaves it out again.
        with self._lock.shared():
            item_rows = _items_that_can_pass(slots, caller, chosen, may_list_items)
            while True:
                result = scan(
                    (self.followed.mapped, self.followed.tail), wanted, item_rows, widening
                )
                passing = self._passing(slots, wanted, result)
                if result.is_complete or len(passing) >= limit:
                    return passing
                if may_list_items:
                    widening *= WIDENING_STEP
                else:
                    may_list_items = True
                    item_rows = _items_that_can_pass(slots, caller, chosen, may_list_items)

    def cosines(
        self, rows: Reader, query: bytes, refs: Collection[PassageRef]
    ) -> dict[PassageRef, float]:
        """Return the cosine of each passage that has a vector, from the rows in the database."""
        vectors = _vector_slots(rows).vectors_at(self.model, refs)
        matrix = self._matrix(vectors.values())
        lengths = np.sqrt(np.vecdot(matrix, matrix))
        cosines = np.vecdot(matrix, np.frombuffer(query, "<f4")) / lengths
        return dict(zip(vectors, cosines.tolist(), strict=True))

    def beginnings(
        self, rows: Reader, caller: Caller, chosen: Filter
    ) -> list[tuple[PassageRef, bytes]]:
        """Return the unit vectors of the first passages of the items that pass the filter."""
        vectors = _vector_slots(rows).first_vectors(caller, chosen, self.model)
        matrix = self._matrix(vector for _, vector in vectors)
        matrix /= np.linalg.norm(matrix, axis=1)[:, None]
        return [(ref, unit.tobytes()) for (ref, _), unit in zip(vectors, matrix, strict=True)]

    @property
    def wants_snapshot(self) -> bool:
        """Whether the tail has grown so long that a new snapshot pays."""
        return self.followed.has_long_tail

    def follow(self, rows: Reader) -> None:
        """Catch up with what other threads and processes wrote."""
        with self._lock.exclusive():
            self.followed.follow(_vector_slots(rows))

    def snapshot(self, rows: Reader) -> Path:
        """Write everything into a new file beside the old ones, which others may still map."""
        slots = _vector_slots(rows)
        newest = slots.slot_marks()
        marks = SnapshotMarks(slots.database(), self.model, newest.vector, newest.change)
        path = self._files.next_path()
        write_snapshot(path, self.dimension, slots.slots(self.model, 0, newest.vector), marks)
        return path

    def tidy(self) -> None:
        """Remove all but the newest snapshot, and what a killed writer left."""
        self._files.tidy()

    def close(self) -> None:
        """Let go of the mapped file; the next search begins anew."""
        with self._lock.exclusive():
            self.followed.forget()

    def _matrix(self, vectors: Iterable[bytes]) -> Array:
        return np.frombuffer(b"".join(vectors), "i1").reshape(-1, self.dimension).astype("f4")

    def _passing(
        self, rows: VectorSlots, query: VectorQuery, result: ScanResult
    ) -> list[Candidate]:
        """The passages of the result that pass the filter of the database, the best first."""
        limit = query.limit
        found: list[Candidate] = []
        start = 0
        step = limit
        while start < len(result.ids) and len(found) < limit:
            ids = result.ids[start : start + step].tolist()
            cosines = result.cosines[start : start + step].tolist()
            refs = rows.passing_slots(query.caller, query.chosen, self.model, ids)
            for id, cosine in zip(ids, cosines, strict=True):
                if id in refs:
                    found.append((refs[id], cosine))
            start += step
            # As many as it takes to find the rest, if they pass at the rate of those before.
            missing = limit - len(found)
            step = max(limit, start * missing // max(1, len(found)) + limit // 4)
        return found[:limit]


def _vector_slots(rows: Reader) -> VectorSlots:
    """The reader of a search as what this index needs; a store that uses this index has both."""
    return cast("VectorSlots", rows)


def _items_that_can_pass(
    rows: VectorSlots, caller: Caller, chosen: Filter, may_list_items: bool
) -> Array | None:
    """The rows of the only items that can pass, if the database finds few; None for any item.

    This is for the parts of a filter that are not among the columns of the slots.
    """
    limit = MAX_LISTED_ITEMS + 1
    if chosen.tags_all:
        tagged = [rows.item_rows_tagged(caller.tenant, tag, limit) for tag in chosen.tags_all]
        # The rarest tag is enough, because the database checks the others.
        item_rows = min(tagged, key=len)
    elif chosen.tags_any:
        item_rows = []
        for tag in chosen.tags_any:
            item_rows += rows.item_rows_tagged(caller.tenant, tag, limit)
    elif may_list_items and _has_unindexed_part(chosen):
        # Time and speaker belong to a passage, so the scan checks them.
        of_items = replace(chosen, since=None, until=None, speakers=())
        item_rows = rows.item_rows_passing(caller, of_items, limit)
    else:
        return None
    if len(item_rows) > MAX_LISTED_ITEMS:
        return None
    return np.array(item_rows, "i8")


def _has_unindexed_part(chosen: Filter) -> bool:
    """Whether the filter asks for something that the slots have no column for."""
    return bool(chosen.where or chosen.title or chosen.titles or chosen.ids or chosen.topics)
