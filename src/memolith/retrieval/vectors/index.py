"""The vector stage: filters first, then a scan of sign bits, then int8 scores, and the database has the last say.

Vectors lie in blocks of columns: in memory the newest, the rest mapped from a snapshot file that processes share.
"""

import json
import os
import threading
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import reduce
from itertools import islice
from operator import or_
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memolith.domain.callers import Caller
from memolith.domain.passages import PassageRef
from memolith.domain.queries import Filter
from memolith.ports.text_index import Candidate

# At run time a `VectorSlots`; the reader of a search is passed in as the wider port `Reader`.
Rows = Any
Row = tuple[Any, ...]
Array = NDArray[Any]
FORMAT, HEADER, SIZE = "memolith vectors 4", 4096, 8192
WORDS = ("tenant", "kind", "status", "owner", "sees", "project", "namespace", "speaker")
OF_ITEM = ("item", "forgotten", *WORDS[:-1])
SAMPLE, NARROW, TAIL, ABANDONED_S = 8192, 20_000, 2_000, 3600


def code(value: str | None) -> int:
    """A number for a word; two words may share one, for the database has the last say."""
    return 0 if value is None else zlib.crc32(value.encode()) or 1


def micros(at: str) -> int:
    return round(datetime.fromisoformat(at).timestamp() * 1_000_000)


class Slots:
    """Rows of vectors and the columns that filters need, by block; `bits` holds the signs, word by word."""

    def __init__(self, dimension: int, blocks: Array | None = None) -> None:
        self.blocks: Array = np.zeros(0, block(dimension)) if blocks is None else blocks
        self.count = len(self.blocks) * SIZE

    def add(self, slots: list[Row]) -> None:
        """Put rows of the statement `slots` at the end."""
        if not slots:
            return
        end = self.count + len(slots)
        if (missing := -(-end // SIZE) - len(self.blocks)) > 0:
            self.blocks = np.concatenate((self.blocks, np.zeros(missing, self.blocks.dtype)))
        number, place = np.divmod(np.arange(self.count, end), SIZE)
        ids, times, speakers, vectors, *items = zip(*slots, strict=True)
        rows = np.frombuffer(b"".join(vectors), "i1").reshape(len(slots), -1)
        made = {
            "id": ids,
            "at": list(map(micros, times)),
            "speaker": speakers,
            "rows": rows,
            "norm": np.linalg.norm(rows.astype("f4"), axis=1),
            **dict(zip(OF_ITEM, items, strict=True)),
        }
        for name, values in made.items():
            self.blocks[name][number, place] = list(map(code, values)) if name in WORDS else values
        self.blocks["bits"][number, :, place] = signs(rows)
        self.count = end

    def update(self, items: Iterable[Row]) -> None:
        """Take over the columns of changed items."""
        changed = {row[0]: row for row in items}
        for number, place in np.argwhere(np.isin(self.blocks["item"], list(changed))):
            for name, value in zip(
                OF_ITEM, changed[int(self.blocks["item"][number, place])], strict=True
            ):
                self.blocks[name][number, place] = code(value) if name in WORDS else value

    def bury(self, ids: list[int]) -> None:
        """Leave vectors to no tenant and no item, so that neither a search nor a change meets them."""
        gone = np.isin(self.blocks["id"], ids)
        self.blocks["tenant"][gone] = self.blocks["item"][gone] = 0


def block(dimension: int) -> np.dtype[np.void]:
    numbers = [(name, "<i8", SIZE) for name in ("id", "item", "at")] + [
        (name, "<u4", SIZE) for name in WORDS
    ]
    return np.dtype(
        [
            *numbers,
            ("forgotten", "u1", SIZE),
            ("norm", "<f4", SIZE),
            ("bits", "<u8", (-(-dimension // 64), SIZE)),
            ("rows", "i1", (SIZE, dimension)),
        ]
    )


def signs(rows: Array) -> Array:
    """The signs of vectors as 64-bit words."""
    packed = np.packbits(np.atleast_2d(rows) > 0, axis=1)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view("<u8")


def write_snapshot(
    path: Path, dimension: int, slots: Iterator[Row], marks: dict[str, object]
) -> None:
    """Write the slots to a new file that appears whole or not at all."""
    partial, crc = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.partial"), 0
    try:
        with open(partial, "wb") as file:
            file.write(bytes(HEADER))
            while batch := list(islice(slots, SIZE)):
                made = Slots(dimension)
                made.add(batch)
                file.write(data := made.blocks.tobytes())
                crc = zlib.crc32(data, crc)
            file.seek(0)
            file.write(header({**marks, "format": FORMAT, "dimension": dimension}, crc))
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def header(marks: Mapping[str, object], crc: int) -> bytes:
    """The marks and a checksum over them and all blocks, for a wrong mark is as bad as a wrong row."""
    crc = zlib.crc32(json.dumps(marks, sort_keys=True).encode(), crc)
    return json.dumps({**marks, "crc": crc}).encode().ljust(HEADER)


def open_snapshot(
    path: Path, dimension: int, expected: Mapping[str, object]
) -> tuple[Slots, dict[str, Any]] | None:
    """The slots of a file and its marks; None if it is damaged or belongs to something else."""
    try:
        with path.open("rb") as file:
            head = file.read(HEADER)
        marks: dict[str, Any] = json.loads(head)
        del marks["crc"]
        expected = {**expected, "format": FORMAT, "dimension": dimension}
        # As a plain array: numpy spends more on each slice of a memmap than on its content.
        blocks: Array = np.memmap(path, block(dimension), "c", HEADER).view(np.ndarray)
        good = (
            all(marks[name] == value for name, value in expected.items())
            and header(marks, zlib.crc32(blocks.view("u1").data)) == head
        )
        return (Slots(dimension, blocks), marks) if good else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


class VectorIndex:
    """Finds the nearest vectors of one model in one data folder."""

    def __init__(self, folder: Path, model: str, dimension: int) -> None:
        self.folder, self.model, self.dimension = folder, model, dimension
        self._name = f"vectors-{code(model):08x}-"
        self._lock = threading.RLock()
        self.close()

    def nearest(
        self,
        rows: Rows,
        caller: Caller,
        chosen: Filter,
        query: bytes,
        limit: int,
        least: float = -1.0,
    ) -> list[Candidate]:
        """The best passages by cosine among those that pass the filter and are at least so near."""
        vector, widening = np.frombuffer(query, "<f4"), 2 if chosen.where else 1
        # A name is looked up; to look through all items pays only where few of the nearest pass.
        listed = bool(chosen.ids or chosen.titles)
        with self._lock:
            self.follow(rows)
            items = self._few(rows, caller, chosen, listed)
            while True:
                found, complete = self._scan(
                    rows, caller, chosen, vector, limit, items, least, widening
                )
                if complete or len(found) >= limit:
                    return found
                if listed:
                    widening *= 8
                else:
                    items, listed = self._few(rows, caller, chosen, True), True

    def cosines(
        self, rows: Rows, query: bytes, refs: Collection[PassageRef]
    ) -> dict[PassageRef, float]:
        """The cosine of each passage that has a vector, from the rows in the database."""
        found = rows.vectors_at(self.model, refs)
        matrix = self._matrix(found.values())
        scores = np.vecdot(matrix, np.frombuffer(query, "<f4")) / np.sqrt(np.vecdot(matrix, matrix))
        return dict(zip(found, scores.tolist(), strict=True))

    def _matrix(self, rows: Iterable[bytes]) -> Array:
        return np.frombuffer(b"".join(rows), "i1").reshape(-1, self.dimension).astype("f4")

    def beginnings(
        self, rows: Rows, caller: Caller, chosen: Filter
    ) -> list[tuple[PassageRef, bytes]]:
        """The unit vectors of the first passages that pass the filter."""
        found = rows.first_vectors(caller, chosen, self.model)
        matrix = self._matrix(row for _, row in found)
        matrix /= np.linalg.norm(matrix, axis=1)[:, None]
        return [(ref, row.tobytes()) for (ref, _), row in zip(found, matrix, strict=True)]

    @property
    def wants_snapshot(self) -> bool:
        """Whether the tail has grown so long that a new snapshot pays."""
        return self.tail.count > max(TAIL, self._old.count // 20)

    def snapshot(self, rows: Rows) -> Path:
        """Write everything into a new file beside the old ones, which live readers may still map."""
        vector, change, _ = rows.slot_marks()
        marks = {
            "database": rows.database(),
            "model": self.model,
            "vector": vector,
            "change": change,
        }
        numbers = [int(path.stem[-10:]) for path in self._files()]
        # The clock, so that no name comes back after all files were removed: a reader knows its file by the name.
        path = self.folder / f"{self._name}{max([*numbers, int(time.time())]) + 1:010d}.snap"
        write_snapshot(path, self.dimension, rows.slots(self.model, 0, vector), marks)
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
            self._begin(None, Slots(self.dimension), -1, -1)

    def _begin(self, file: Path | None, old: Slots, vector: int, change: int) -> None:
        """Stand where a snapshot does; the tail has the rows that are newer."""
        self._file, self._old, self._vector, self._change = file, old, vector, change
        self.tail = Slots(self.dimension)

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob(f"{self._name}{'[0-9]' * 10}.snap"))

    def follow(self, rows: Rows) -> None:
        """Catch up with what other threads and processes wrote."""
        with self._lock:
            vector, change, cut = rows.slot_marks()
            if vector <= self._vector and change <= self._change:
                # A reader that began earlier than another sees less than the index has; the database has the last say.
                return
            if self._change < cut or self.wants_snapshot:
                self._reopen(rows, vector, change, cut)
            self.tail.add(list(rows.slots(self.model, self._vector, vector)))
            changes = rows.slot_changes(self._change)
            moved = {item for _, _, item in changes if item is not None}
            touched = rows.slot_items(moved)
            for slots in (self._old, self.tail) if changes else ():
                slots.bury([gone for _, gone, _ in changes if gone is not None])
                slots.update(touched)
            self._vector, self._change = vector, change

    def _reopen(self, rows: Rows, vector: int, change: int, cut: int) -> None:
        """Map the newest good snapshot that is newer than what there is, and than where the feed of changes begins."""
        expected = {"database": rows.database(), "model": self.model}
        for path in reversed(self._files()):
            if path == self._file:
                break
            opened = open_snapshot(path, self.dimension, expected)
            # A snapshot from the future is that of a database which was put back to an earlier state.
            if opened and opened[1]["vector"] <= vector and cut <= opened[1]["change"] <= change:
                self._begin(path, opened[0], opened[1]["vector"], opened[1]["change"])
                break
        if self._change < cut:
            self._begin(None, Slots(self.dimension), 0, change)

    def _few(self, rows: Rows, caller: Caller, chosen: Filter, listed: bool) -> Array | None:
        """The only items that can pass by what no column tells, as far as the database finds them to be few."""
        tagged = [
            rows.item_rows_tagged(caller.tenant, tag, NARROW + 1)
            for tag in chosen.tags_all or chosen.tags_any
        ]
        if tagged:
            # Of several that must all be there the rarest is enough, since the database has the last say.
            found = (
                min(tagged, key=len)
                if chosen.tags_all
                else [item for each in tagged for item in each]
            )
        elif listed and (
            chosen.where or chosen.title or chosen.titles or chosen.ids or chosen.topics
        ):
            told = replace(chosen, since=None, until=None, speakers=())
            found = rows.item_rows_passing(caller, told, NARROW + 1)
        else:
            return None
        return np.array(found, "i8") if len(found) <= NARROW else None

    def _scan(
        self,
        rows: Rows,
        caller: Caller,
        chosen: Filter,
        vector: Array,
        limit: int,
        items: Array | None,
        least: float,
        widening: int,
    ) -> tuple[list[Candidate], bool]:
        """The best that pass, and whether everything that could pass was looked at."""
        ids, scores, complete = [np.zeros(0, "i8")], [np.zeros(0, "f4")], True
        for blocks in filter(len, (self._old.blocks, self.tail.blocks)):
            mask = _mask(blocks, caller, chosen)
            if items is not None:
                mask &= np.isin(blocks["item"], items)
            # So many keep the exact ten best among them in 98 of 100 cases, as measured.
            wanted = 400 if mask.size < 50_000 else 1000 if mask.size < 300_000 else 2000
            places, whole = _closest(blocks, mask, vector, max(2 * limit, wanted) * widening)
            complete &= whole
            here = np.divmod(places, SIZE)
            ids.append(blocks["id"][here])
            # Not `@`: for so few rows its threads cost far more than they save.
            scores.append(
                np.vecdot(blocks["rows"][here].astype("f4"), vector) / blocks["norm"][here]
            )
        all_ids, all_scores = np.concatenate(ids), np.concatenate(scores)
        best = np.argsort(-all_scores, kind="stable")
        best = best[all_scores[best] >= least]
        # Where most of those looked at are too far away, so is everything that was not.
        complete |= len(best) < len(all_scores) // 2
        return self._checked(rows, caller, chosen, all_ids[best], all_scores[best], limit), complete

    def _checked(
        self, rows: Rows, caller: Caller, chosen: Filter, ids: Array, scores: Array, limit: int
    ) -> list[Candidate]:
        """Those that the database agrees to, best first."""
        found, start, step = list[Candidate](), 0, limit
        while start < len(ids) and len(found) < limit:
            part = ids[start : start + step].tolist()
            passing = rows.passing_slots(caller, chosen, self.model, part)
            found += [
                (passing[id], score)
                for id, score in zip(part, scores[start : start + step].tolist(), strict=True)
                if id in passing
            ]
            start += step
            # As many as it takes to find the rest, if they pass at the rate of those before.
            step = max(limit, start * (limit - len(found)) // max(1, len(found)) + limit // 4)
        return found[:limit]


def _mask(blocks: Array, caller: Caller, chosen: Filter) -> Array:
    """The slots that may pass: every column that the filter can be told by."""
    mask: Array = blocks["tenant"] == code(caller.tenant)
    if not caller.admin:
        sees = ["o", f"p{caller.project}"] if caller.project else ["o"]
        mask &= (blocks["owner"] == code(caller.user)) | _any_of(blocks["sees"], sees)
    if chosen.forgotten is not None:
        mask &= blocks["forgotten"] == int(chosen.forgotten)
    for name, wanted in (
        ("kind", chosen.kinds),
        ("status", chosen.statuses),
        ("project", chosen.projects),
        ("namespace", chosen.namespaces),
        ("speaker", chosen.speakers),
        ("owner", () if chosen.owner is None else (chosen.owner,)),
    ):
        mask = mask & _any_of(blocks[name], wanted) if wanted else mask
    if chosen.since is not None:
        mask &= blocks["at"] >= micros(chosen.since)
    if chosen.until is not None:
        mask &= blocks["at"] <= micros(chosen.until)
    return mask


def _any_of(column: Array, words: Sequence[str]) -> Array:
    """Where a column has the code of any of the words; for a few words faster than numpy's `isin`."""
    return reduce(or_, (column == code(word) for word in words))


def _closest(blocks: Array, mask: Array, vector: Array, wanted: int) -> tuple[Array, bool]:
    """The slots whose signs are closest to the query's, and whether these are all that the mask has."""
    if np.count_nonzero(mask) <= 2 * wanted:
        return np.flatnonzero(mask), True
    distances, query = np.empty(mask.shape, "u2"), signs(vector).T
    for bits, found in zip(blocks["bits"], distances, strict=True):
        np.add.reduce(np.bitwise_count(bits ^ query), 0, "u2", found)
    distances[~mask] = np.iinfo("u2").max
    # The bound that a sample gives spares most of the sorting.
    flat, step = distances.ravel(), max(1, distances.size // SAMPLE)
    k = min(len(flat) // step - 1, 2 * wanted // step + 8)
    bound = np.partition(flat[::step], k)[k]
    near = near if len(near := np.flatnonzero(flat <= bound)) >= wanted else np.flatnonzero(mask)
    return near[np.argpartition(flat[near], min(wanted, len(near)) - 1)[:wanted]], False


def quantised(vector: bytes) -> bytes:
    """The vector as int8, scaled by its largest part; cosine cancels the scale."""
    values = np.frombuffer(vector, "<f4")
    return bytes(np.rint(values * (127 / np.abs(values).max())).astype("i1"))
