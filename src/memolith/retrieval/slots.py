"""Columns of vectors: in memory for the newest, mapped from a snapshot file for the rest."""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memolith.engine.ports import Slot, SlotItem

MAGIC = b"memolith-vectors"
FORMAT = 1
HEADER = 4096
WORDS = ("tenant", "kind", "status", "owner", "sees", "project", "namespace")
DTYPES = {"id": "<i8", "ref": "<i8", "item": "<i8", "at": "<i8", **dict.fromkeys(WORDS, "<u4"), "forgotten": "u1",
          "gone": "u1", "norm": "<f4"}
Array = NDArray[Any]


def code(value: str | None) -> int:
    """A number for a word; two words may share one, for the database has the last say."""
    return 0 if value is None else zlib.crc32(value.encode()) or 1


def micros(at: str) -> int:
    """A time as microseconds since 1970."""
    return round(datetime.fromisoformat(at).timestamp() * 1_000_000)


def item_codes(item: SlotItem) -> dict[str, int]:
    """The columns that change with the item."""
    sees = {"user": f"u{item.owner}", "project": f"p{item.project}", "org": "o"}[item.audience]
    words = (item.tenant, item.kind, item.status, item.owner, sees, item.project, item.namespace)
    return {**{name: code(word) for name, word in zip(WORDS, words, strict=True)}, "forgotten": int(item.forgotten)}


class Slots:
    """Rows of vectors with the columns that filters need; `bits` holds one sign per dimension, word by word."""

    def __init__(self, dimension: int, columns: dict[str, Array], bits: Array, rows: Array, count: int) -> None:
        self.dimension = dimension
        self.columns = columns
        self.bits = bits
        self.rows = rows
        self.count = count

    @classmethod
    def empty(cls, dimension: int, room: int = 256) -> Slots:
        """Nothing yet, with room to grow."""
        columns = {name: np.zeros(room, dtype) for name, dtype in DTYPES.items()}
        return cls(dimension, columns, np.zeros((words_of(dimension), room), "<u8"), np.zeros((room, dimension), "i1"),
                   0)

    def column(self, name: str) -> Array:
        """The used part of a column."""
        return self.columns[name][:self.count]

    def add(self, slots: list[Slot]) -> None:
        """Put rows at the end."""
        if not slots:
            return
        self._make_room(self.count + len(slots))
        here = slice(self.count, self.count + len(slots))
        fill(self, here, slots)
        self.count += len(slots)

    def _make_room(self, needed: int) -> None:
        room = len(self.columns["id"])
        if needed <= room:
            return
        more = max(needed, 2 * room) - room
        self.columns = {name: np.concatenate([old, np.zeros(more, old.dtype)]) for name, old in self.columns.items()}
        self.bits = np.concatenate([self.bits, np.zeros((len(self.bits), more), "<u8")], axis=1)
        self.rows = np.concatenate([self.rows, np.zeros((more, self.dimension), "i1")])

    def bury(self, vectors: Array) -> None:
        """Mask vectors that are no more."""
        self.column("gone")[np.isin(self.column("id"), vectors)] = 1

    def update(self, items: Iterable[SlotItem]) -> None:
        """Take over the changed columns of items."""
        changed = {item.row: item for item in items}
        own = self.column("item")
        for place in np.flatnonzero(np.isin(own, np.fromiter(changed, "i8", len(changed)))):
            for name, value in item_codes(changed[int(own[place])]).items():
                self.columns[name][place] = value


def fill(slots: Slots, here: slice, new: list[Slot]) -> None:
    """Write rows into a stretch of the columns."""
    codes = [item_codes(slot.item) for slot in new]
    for name in (*WORDS, "forgotten"):
        slots.columns[name][here] = [code[name] for code in codes]
    slots.columns["id"][here] = [slot.vector for slot in new]
    slots.columns["ref"][here] = [slot.ref for slot in new]
    slots.columns["item"][here] = [slot.item.row for slot in new]
    slots.columns["at"][here] = [micros(slot.at) for slot in new]
    slots.columns["gone"][here] = 0
    rows = np.frombuffer(b"".join(slot.vector_row for slot in new), "i1").reshape(len(new), slots.dimension)
    slots.rows[here] = rows
    slots.bits[:, here] = signs(rows)
    slots.columns["norm"][here] = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype="f4", casting="unsafe"))


def words_of(dimension: int) -> int:
    """How many 64-bit words the signs of a vector take."""
    return -(-dimension // 64)


def signs(rows: Array) -> Array:
    """The signs of vectors as 64-bit words, one array per word."""
    packed = np.packbits(np.atleast_2d(rows) > 0, axis=1)
    if missing := -packed.shape[1] % 8:
        packed = np.pad(packed, ((0, 0), (0, missing)))
    return np.ascontiguousarray(packed.view("<u8").T)


def _layout(count: int, dimension: int) -> tuple[list[tuple[str, str, tuple[int, ...], int]], int]:
    shapes: list[tuple[str, str, tuple[int, ...]]] = [(name, dtype, (count,)) for name, dtype in DTYPES.items()]
    shapes += [("bits", "<u8", (words_of(dimension), count)), ("rows", "i1", (count, dimension))]
    placed, offset = [], HEADER
    for name, dtype, shape in shapes:
        placed.append((name, dtype, shape, offset))
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        offset = (offset + size + 63) // 64 * 64
    return placed, offset


def _arrays(memory: Array, count: int, dimension: int) -> dict[str, Array]:
    placed, _ = _layout(count, dimension)
    return {name: memory[at:at + int(np.prod(shape)) * np.dtype(dtype).itemsize].view(dtype).reshape(shape)
            for name, dtype, shape, at in placed}


def write_snapshot(path: Path, dimension: int, count: int, slots: Iterator[Slot], marks: dict[str, object]) -> int:
    """Write the slots to a new file that appears whole or not at all; returns how many there were."""
    partial = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.partial")
    size = _layout(count, dimension)[1]
    try:
        _reserve(partial, size)
        return _write(partial, path, dimension, count, slots, marks)
    finally:
        partial.unlink(missing_ok=True)


def _reserve(path: Path, size: int) -> None:
    """Take the room on the disk now: a mapped file that finds none later kills the process."""
    with open(path, "wb") as file:
        for start in range(0, size, 1 << 20):
            file.write(bytes(min(1 << 20, size - start)))


def _write(partial: Path, path: Path, dimension: int, count: int, slots: Iterator[Slot],
           marks: dict[str, object]) -> int:
    memory: Array = np.memmap(partial, "u1", "r+")
    arrays = _arrays(memory, count, dimension)
    made = Slots(dimension, {name: arrays[name] for name in DTYPES}, arrays["bits"], arrays["rows"], count)
    done = 0
    while batch := list(islice(slots, min(2000, count - done))):
        fill(made, slice(done, done + len(batch)), batch)
        done += len(batch)
    arrays["gone"][done:] = 1
    marks = {**marks, "format": FORMAT, "rows": count, "dimension": dimension}
    head = json.dumps(marks | {"crc": _checksum(marks, memory)}).encode()
    memory[:HEADER] = np.frombuffer((MAGIC + head).ljust(HEADER, b" "), "u1")
    memory.flush()  # type: ignore[attr-defined]
    del memory, arrays, made
    with open(partial, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(partial, path)
    return done


def _checksum(marks: Mapping[str, object], memory: Array) -> int:
    """Over the marks and all rows, for a wrong mark is as bad as a wrong row."""
    return zlib.crc32(memory[HEADER:].data, zlib.crc32(json.dumps(dict(marks), sort_keys=True).encode()))


def open_snapshot(path: Path, dimension: int, expected: Mapping[str, object]) -> tuple[Slots, dict[str, Any]] | None:
    """The slots of a file and its marks; None if it is damaged or belongs to something else."""
    try:
        # As a plain array: numpy spends more on each slice of a memmap than on its content.
        memory: Array = np.memmap(path, "u1", "c").view(np.ndarray)
        head = memory[:HEADER].tobytes()
        marks: dict[str, Any] = json.loads(head[len(MAGIC):])
        crc = marks.pop("crc")
        expected = {**expected, "format": FORMAT, "dimension": dimension}
        fits = (head.startswith(MAGIC) and all(marks[name] == value for name, value in expected.items())
                and len(memory) == _layout(marks["rows"], dimension)[1]
                and _checksum(marks, memory) == crc)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None
    if not fits:
        return None
    arrays = _arrays(memory, marks["rows"], dimension)
    return Slots(dimension, {name: arrays[name] for name in DTYPES}, arrays["bits"], arrays["rows"],
                 marks["rows"]), marks
