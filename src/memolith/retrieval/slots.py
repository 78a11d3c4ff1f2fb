"""Columns of vectors: in memory for the newest, mapped from a snapshot file for the rest."""

import json
import math
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

MAGIC, FORMAT, HEADER = b"memolith-vectors", 3, 4096
WORDS = ("tenant", "kind", "status", "owner", "sees", "project", "namespace")
OF_ITEM = ("item", "forgotten", *WORDS)
DTYPES = {"id": "<i8", "item": "<i8", "at": "<i8", **dict.fromkeys(("speaker", *WORDS), "<u4"), "forgotten": "u1",
          "gone": "u1", "norm": "<f4", "bits": "<u8", "rows": "i1"}
Array = NDArray[Any]
Row = tuple[Any, ...]


def code(value: str | None) -> int:
    """A number for a word; two words may share one, for the database has the last say."""
    return 0 if value is None else zlib.crc32(value.encode()) or 1


def micros(at: str) -> int:
    return round(datetime.fromisoformat(at).timestamp() * 1_000_000)


class Slots:
    """Rows of vectors, with room to grow, and the columns that filters need; `bits` holds their signs, word by word."""

    def __init__(self, dimension: int, room: int = 256, memory: Array | None = None) -> None:
        self.dimension, self.count = dimension, 0
        self._lay_out(room, memory)

    def _lay_out(self, room: int, memory: Array | None = None) -> None:
        """Put the columns over the bytes of a file, or over new ones."""
        placed, size = layout(room, self.dimension)
        memory = np.zeros(size, "u1") if memory is None else memory
        self.columns = {name: memory[start:end].view(dtype).reshape(shape) for name, dtype, shape, start, end in placed}
        self.bits, self.rows = self.columns["bits"], self.columns["rows"]

    def column(self, name: str) -> Array:
        return self.columns[name][:self.count]

    def add(self, slots: list[Row]) -> None:
        """Put rows of the statement `slots` at the end."""
        if not slots:
            return
        here = slice(self.count, self.count + len(slots))
        old, room = self.columns, len(self.columns["id"])
        if here.stop > room:
            self._lay_out(max(here.stop, 2 * room))
            for name, column in old.items():
                self.columns[name][tuple(map(slice, column.shape))] = column
        ids, times, speakers, vectors, *items = zip(*slots, strict=True)
        self.columns["id"][here] = ids
        self.columns["at"][here] = list(map(micros, times))
        self.columns["speaker"][here] = list(map(code, speakers))
        for name, values in zip(OF_ITEM, items, strict=True):
            self.columns[name][here] = list(map(code, values)) if name in WORDS else values
        rows = np.frombuffer(b"".join(vectors), "i1").reshape(len(slots), self.dimension)
        self.rows[here] = rows
        self.bits[:, here] = signs(rows)
        self.columns["norm"][here] = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype="f4", casting="unsafe"))
        self.count += len(slots)

    def update(self, items: Iterable[Row]) -> None:
        """Take over the columns of changed items."""
        changed = {row[0]: row for row in items}
        own = self.column("item")
        for place in np.flatnonzero(np.isin(own, np.fromiter(changed, "i8", len(changed)))):
            for name, value in zip(OF_ITEM, changed[int(own[place])], strict=True):
                self.columns[name][place] = code(value) if name in WORDS else value


def signs(rows: Array) -> Array:
    """The signs of vectors as 64-bit words, one array per word."""
    packed = np.packbits(np.atleast_2d(rows) > 0, axis=1)
    if missing := -packed.shape[1] % 8:
        packed = np.pad(packed, ((0, 0), (0, missing)))
    return np.ascontiguousarray(packed.view("<u8").T)


def layout(room: int, dimension: int) -> tuple[list[tuple[str, str, tuple[int, ...], int, int]], int]:
    """Each column with its type, its shape and where it begins and ends, and the size of all."""
    shapes: dict[str, tuple[int, ...]] = {"bits": (math.ceil(dimension / 64), room), "rows": (room, dimension)}
    placed, start = [], HEADER
    for name, dtype in DTYPES.items():
        shape = shapes.get(name, (room,))
        end = start + math.prod(shape) * np.dtype(dtype).itemsize
        placed.append((name, dtype, shape, start, end))
        start = -(-end // 64) * 64
    return placed, start


def write_snapshot(path: Path, dimension: int, count: int, slots: Iterator[Row], marks: dict[str, object]) -> None:
    """Write the slots to a new file that appears whole or not at all."""
    partial = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.partial")
    try:
        size = layout(count, dimension)[1]
        with open(partial, "wb") as file:
            # Take the room on the disk now: a mapped file that finds none later kills the process.
            for start in range(0, size, 1 << 20):
                file.write(bytes(min(1 << 20, size - start)))
        memory: Array = np.memmap(partial, "u1", "r+")
        made = Slots(dimension, count, memory)
        while batch := list(islice(slots, min(2000, count - made.count))):
            made.add(batch)
        made.columns["gone"][made.count:] = 1
        marks = {**marks, "format": FORMAT, "rows": count, "dimension": dimension}
        head = json.dumps(marks | {"crc": _checksum(marks, memory)}).encode()
        memory[:HEADER] = np.frombuffer((MAGIC + head).ljust(HEADER, b" "), "u1")
        memory.flush()  # type: ignore[attr-defined]
        del memory, made
        with open(partial, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


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
        if not (head.startswith(MAGIC) and all(marks[name] == value for name, value in expected.items())
                and len(memory) == layout(marks["rows"], dimension)[1] and _checksum(marks, memory) == crc):
            return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None
    slots = Slots(dimension, marks["rows"], memory)
    slots.count = marks["rows"]
    return slots, marks
