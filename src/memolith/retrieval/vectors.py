"""The vector stage: filters first, then a scan of sign bits, then int8 scores, and the database has the last say."""

import json
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from memolith.engine.model import Caller, Filter
from memolith.engine.ports import Candidate
from memolith.retrieval.slots import Array, Slots, code, micros, open_snapshot, signs, write_snapshot

# The statements of the store by name: what this index follows is no concern of the engine, whose reader has none.
Rows = Any
BLOCK, SQUARE = 32_768, 1024
NARROW, TAIL = 20_000, 2_000
ABANDONED_S = 3600


class VectorIndex:
    """Finds the nearest vectors of one model in one data folder."""

    def __init__(self, folder: Path, model: str, dimension: int) -> None:
        self.folder, self.model, self.dimension = folder, model, dimension
        self._name = f"vectors-{code(model):08x}-"
        self._lock = threading.RLock()
        self._file: Path | None = None
        self._forget(-1, -1)

    def nearest(self, rows: Rows, caller: Caller, chosen: Filter, query: bytes, limit: int,
                least: float = -1.0) -> list[Candidate]:
        """The best passages by cosine among those that pass the filter and are at least so near."""
        vector, widening = np.frombuffer(query, "<f4"), 2 if chosen.where else 1
        # A name is looked up; to look through all items pays only where few of the nearest pass.
        listed = bool(chosen.ids or chosen.titles)
        with self._lock:
            self.follow(rows)
            items = self._few(rows, caller, chosen, listed)
            while True:
                found, complete = self._scan(rows, caller, chosen, vector, limit, items, least, widening)
                if complete or len(found) >= limit:
                    return found
                if listed:
                    widening *= 8
                else:
                    items, listed = self._few(rows, caller, chosen, True), True

    def cosines(self, rows: Rows, query: bytes, refs: Collection[int]) -> dict[int, float]:
        """The cosine of each passage that has a vector, from the rows in the database."""
        found = dict(rows.rows("vectors_of", model=self.model, ids=json.dumps([*refs])))
        if not found:
            return {}
        matrix = np.frombuffer(b"".join(found.values()), "i1").reshape(len(found), -1).astype("f4")
        scores = np.vecdot(matrix, np.frombuffer(query, "<f4")) / np.sqrt(np.vecdot(matrix, matrix))
        return dict(zip(found, scores.tolist(), strict=True))

    def beginnings(self, rows: Rows, caller: Caller, chosen: Filter) -> list[tuple[int, bytes]]:
        """The unit vectors of the first passages that pass the filter."""
        found = list(rows.filtered("beginnings", caller, chosen, model=self.model))
        matrix = np.frombuffer(b"".join(row for _, row in found), "i1").reshape(len(found), self.dimension).astype("f4")
        matrix /= np.linalg.norm(matrix, axis=1)[:, None]
        return [(ref, row.tobytes()) for (ref, _), row in zip(found, matrix, strict=True)]

    @property
    def wants_snapshot(self) -> bool:
        """Whether the tail has grown so long that a new snapshot pays."""
        return self.tail.count > max(TAIL, self._old.count // 20)

    def snapshot(self, rows: Rows) -> Path:
        """Write everything into a new file beside the old ones, which live readers may still map."""
        vector, change = next(rows.rows("slot_marks"))
        marks = {"database": rows.database(), "model": self.model, "vector": vector, "change": change}
        numbers = [int(path.stem[-10:]) for path in self._files()]
        # The clock, so that no name comes back after all files were removed: a reader knows its file by the name.
        path = self.folder / f"{self._name}{max([*numbers, int(time.time())]) + 1:010d}.snap"
        slots = rows.rows("slots", after=0, upto=vector, model=self.model)
        write_snapshot(path, self.dimension, rows.models().get(self.model, 0), slots, marks)
        return path

    def tidy(self) -> None:
        """Remove all but the newest snapshot, and what a killed writer left; what is still in use goes another time."""
        for path in [*self._files()[:-1], *self.folder.glob(f"{self._name}*.partial")]:
            with suppress(OSError):
                if path.suffix == ".snap" or time.time() - path.stat().st_mtime > ABANDONED_S:
                    path.unlink()

    def close(self) -> None:
        """Let go of the mapped file; the next search begins anew."""
        with self._lock:
            self._forget(-1, -1)

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob(f"{self._name}{'[0-9]' * 10}.snap"))

    def follow(self, rows: Rows) -> None:
        """Catch up with what other threads and processes wrote."""
        with self._lock:
            vector, change = next(rows.rows("slot_marks"))
            if vector <= self._vector and change <= self._change:
                # A reader that began earlier than another sees less than the index has; the database has the last say.
                return
            if self._vector < 0 or self.wants_snapshot:
                self._reopen(rows, vector, change)
            if not self._catch_up(rows, vector, change):
                self._forget(change)
                self._reopen(rows, vector, change)
                if not self._catch_up(rows, vector, change):
                    self._forget(change)
                    self._catch_up(rows, vector, change)

    def _reopen(self, rows: Rows, vector: int, change: int) -> None:
        """Map the newest good snapshot, if it is newer than what there is."""
        expected = {"database": rows.database(), "model": self.model}
        for path in reversed(self._files()):
            if path == self._file:
                return
            opened = open_snapshot(path, self.dimension, expected)
            # A snapshot from the future is that of a database which was put back to an earlier state.
            if opened and opened[1]["vector"] <= vector and opened[1]["change"] <= change:
                self._old, marks = opened
                self.tail = Slots(self.dimension)
                self._file, self._vector, self._change = path, marks["vector"], marks["change"]
                return
        if self._vector < 0:
            self._forget(change)

    def _forget(self, change: int, vector: int = 0) -> None:
        """Begin with nothing, to be filled from the table; the tail has the rows that are newer than the snapshot."""
        self._old, self.tail = Slots(self.dimension), Slots(self.dimension)
        self._file, self._vector, self._change = None, vector, change

    def _catch_up(self, rows: Rows, vector: int, change: int) -> bool:
        """Apply what is new; False if the feed of changes was cut off before it was read."""
        changes = list(rows.rows("slot_changes", seq=self._change))
        if change > self._change and (not changes or changes[0][0] != self._change + 1):
            return False
        self.tail.add(list(rows.rows("slots", after=self._vector, upto=vector, model=self.model)))
        buried = np.array([gone for _, gone, _ in changes if gone is not None], "i8")
        moved = json.dumps(list({item for _, _, item in changes if item is not None}))
        touched = list(rows.rows("slot_items", rows=moved))
        for slots in (self._old, self.tail):
            if len(buried):
                slots.column("gone")[np.isin(slots.column("id"), buried)] = 1
            if touched:
                slots.update(touched)
        self._vector, self._change = vector, change
        return True

    def _few(self, rows: Rows, caller: Caller, chosen: Filter, listed: bool) -> Array | None:
        """The only items that can pass by what no column tells, as far as the database finds them to be few."""
        tagged = [[item for (item,) in rows.rows("items_tagged", tenant=caller.tenant, tag=tag, limit=NARROW + 1)]
                  for tag in chosen.tags_all or chosen.tags_any]
        if tagged:
            # Of several that must all be there the rarest is enough, since the database has the last say.
            found = min(tagged, key=len) if chosen.tags_all else [item for each in tagged for item in each]
        elif listed and (chosen.where or chosen.title or chosen.titles or chosen.ids or chosen.topics):
            told = replace(chosen, since=None, until=None, speakers=())
            found = [row for (row,) in rows.filtered("items_passing", caller, told, limit=NARROW + 1)]
        else:
            return None
        return np.array(found, "i8") if len(found) <= NARROW else None

    def _scan(self, rows: Rows, caller: Caller, chosen: Filter, vector: Array, limit: int,
              items: Array | None, least: float, widening: int) -> tuple[list[Candidate], bool]:
        """The best that pass, and whether everything that could pass was looked at."""
        ids, scores, complete = [], [], True
        for slots in (self._old, self.tail):
            if slots.count:
                mask = _mask(slots, caller, chosen)
                if items is not None:
                    mask &= np.isin(slots.column("item"), items)
                # So many keep the exact ten best among them in 98 of 100 cases, as measured.
                wanted = 400 if slots.count < 50_000 else 1000 if slots.count < 300_000 else 2000
                places, whole = _closest(slots, mask, vector, max(2 * limit, wanted) * widening)
                complete &= whole
                ids.append(slots.column("id")[places])
                # Not `@`: for so few rows its threads cost far more than they save.
                scores.append(np.vecdot(slots.rows[places].astype("f4"), vector) / slots.column("norm")[places])
        if not ids:
            return [], True
        all_ids, all_scores = np.concatenate(ids), np.concatenate(scores)
        best = np.argsort(-all_scores, kind="stable")
        best = best[all_scores[best] >= least]
        # Where most of those looked at are too far away, so is everything that was not.
        complete |= len(best) < len(all_scores) // 2
        return self._checked(rows, caller, chosen, all_ids[best], all_scores[best], limit), complete

    def _checked(self, rows: Rows, caller: Caller, chosen: Filter, ids: Array, scores: Array,
                 limit: int) -> list[Candidate]:
        """Those that the database agrees to, best first."""
        found, start, step = list[Candidate](), 0, limit
        while start < len(ids) and len(found) < limit:
            part = ids[start:start + step].tolist()
            passing: dict[int, int] = dict(rows.filtered("passing", caller, chosen, "passage", model=self.model,
                                                         ids=json.dumps(part)))
            found += [(passing[id], score) for id, score in
                      zip(part, scores[start:start + step].tolist(), strict=True) if id in passing]
            start += step
            # As many as it takes to find the rest, if they pass at the rate of those before.
            step = max(limit, start * (limit - len(found)) // max(1, len(found)) + limit // 4)
        return found[:limit]


def _mask(slots: Slots, caller: Caller, chosen: Filter) -> Array:
    """The slots that may pass: every column that the filter can be told by."""
    mask: Array = (slots.column("tenant") == code(caller.tenant)) & (slots.column("gone") == 0)
    if not caller.admin:
        sees = ["o", f"p{caller.project}"] if caller.project else ["o"]
        mask &= (slots.column("owner") == code(caller.user)) | _any_of(slots.column("sees"), sees)
    if chosen.forgotten is not None:
        mask &= slots.column("forgotten") == int(chosen.forgotten)
    for name, wanted in (("kind", chosen.kinds), ("status", chosen.statuses), ("project", chosen.projects),
                         ("namespace", chosen.namespaces), ("speaker", chosen.speakers),
                         ("owner", () if chosen.owner is None else (chosen.owner,))):
        if wanted:
            mask &= _any_of(slots.column(name), wanted)
    if chosen.since is not None:
        mask &= slots.column("at") >= micros(chosen.since)
    if chosen.until is not None:
        mask &= slots.column("at") <= micros(chosen.until)
    return mask


def _any_of(column: Array, words: Sequence[str]) -> Array:
    """Where a column has the code of any of the words; for a few words faster than numpy's `isin`."""
    found: Array = column == code(words[0])
    for word in words[1:]:
        found |= column == code(word)
    return found


def _closest(slots: Slots, mask: Array, vector: Array, wanted: int) -> tuple[Array, bool]:
    """The slots whose signs are closest to the query's, and whether these are all that the mask has."""
    passing = int(np.count_nonzero(mask))
    if passing <= 2 * wanted:
        return np.flatnonzero(mask), True
    query = signs(vector)[:, 0]
    if passing < slots.count // 3:
        places = np.flatnonzero(mask)
        return places[_smallest(_distances(slots.bits[:, places], query), wanted)], False
    distances = _distances(slots.bits[:, :slots.count], query)
    distances[~mask] = np.iinfo("u2").max
    return _smallest(distances, wanted), False


def _distances(bits: Array, query: Array) -> Array:
    """Hamming distances, in blocks that stay in the processor's cache."""
    count = bits.shape[1]
    total = np.empty(count, "u2")
    for start in range(0, count, BLOCK):
        here = slice(start, start + BLOCK)
        total[here] = np.bitwise_count(bits[0, here] ^ query[0])
        for word in range(1, len(query)):
            total[here] += np.bitwise_count(bits[word, here] ^ query[word])
    return total


def _smallest(distances: Array, wanted: int) -> Array:
    """Where the smallest distances stand; a sampled threshold spares most of the sorting."""
    count = len(distances)
    if count > BLOCK:
        step = count // 8192
        sample = distances[::step]
        bound = np.partition(sample, k := min(len(sample) - 1, 2 * wanted // step + 8))[k]
        near = np.flatnonzero(distances <= bound)
        if len(near) >= wanted:
            return near[np.argpartition(distances[near], wanted - 1)[:wanted]]
    return np.argpartition(distances, wanted - 1)[:wanted]


def quantised(vector: bytes) -> bytes:
    """The vector as int8, scaled by its largest part; cosine cancels the scale."""
    values = np.frombuffer(vector, "<f4")
    return bytes(np.rint(values * (127 / np.abs(values).max())).astype("i1"))


def closest(vectors: Sequence[bytes], least: float, most: int, tell: Callable[[int, int], None]) -> Array:
    """The closest pairs of unit vectors as rows of two numbers and a cosine, closest first, compared in squares."""
    matrix, best = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1), np.empty((0, 3))
    for start in range(0, len(matrix), SQUARE):
        for other in range(start, len(matrix), SQUARE):
            cosines = matrix[start:start + SQUARE] @ matrix[other:other + SQUARE].T
            first, second = np.nonzero(np.triu(cosines, start - other + 1) >= max(least, 1e-6))
            best = np.concatenate((best, np.column_stack((first + start, second + other, cosines[first, second]))))
            if len(best) > most:
                best = best[np.argsort(-best[:, 2], kind="stable")[:most]]
                least = best[-1, 2]
        tell(min(start + SQUARE, len(matrix)), len(matrix))
    return best[np.argsort(-best[:, 2], kind="stable")]
