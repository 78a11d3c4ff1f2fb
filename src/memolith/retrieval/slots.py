"""Columns of vectors in blocks: in memory for the newest, mapped from a snapshot file for the rest."""

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

FORMAT, HEADER, SIZE = "memolith vectors 4", 4096, 8192
WORDS = ("tenant", "kind", "status", "owner", "sees", "project", "namespace", "speaker")
OF_ITEM = ("item", "forgotten", *WORDS[:-1])
Array = NDArray[Any]
Row = tuple[Any, ...]


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
        missing = max(0, -(-end // SIZE) - len(self.blocks))
        self.blocks = np.concatenate((self.blocks, np.zeros(missing, self.blocks.dtype))) if missing else self.blocks
        number, place = np.divmod(np.arange(self.count, end), SIZE)
        ids, times, speakers, vectors, *items = zip(*slots, strict=True)
        rows = np.frombuffer(b"".join(vectors), "i1").reshape(len(slots), -1)
        made = {"id": ids, "at": list(map(micros, times)), "speaker": speakers, "rows": rows,
                **dict(zip(OF_ITEM, items, strict=True))}
        for name, values in made.items():
            self.blocks[name][number, place] = list(map(code, values)) if name in WORDS else values
        self.blocks["bits"][number, :, place] = signs(rows)
        self.count = end

    def update(self, items: Iterable[Row]) -> None:
        """Take over the columns of changed items."""
        changed = {row[0]: row for row in items}
        for number, place in np.argwhere(np.isin(self.blocks["item"], list(changed))):
            for name, value in zip(OF_ITEM, changed[int(self.blocks["item"][number, place])], strict=True):
                self.blocks[name][number, place] = code(value) if name in WORDS else value

    def bury(self, ids: list[int]) -> None:
        """Leave vectors to no tenant and no item, so that neither a search nor a change meets them."""
        gone = np.isin(self.blocks["id"], ids)
        self.blocks["tenant"][gone] = self.blocks["item"][gone] = 0


def block(dimension: int) -> np.dtype[np.void]:
    numbers = [(name, "<i8", SIZE) for name in ("id", "item", "at")] + [(name, "<u4", SIZE) for name in WORDS]
    return np.dtype([*numbers, ("forgotten", "u1", SIZE), ("bits", "<u8", (-(-dimension // 64), SIZE)),
                     ("rows", "i1", (SIZE, dimension))])


def signs(rows: Array) -> Array:
    """The signs of vectors as 64-bit words."""
    packed = np.packbits(np.atleast_2d(rows) > 0, axis=1)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view("<u8")


def write_snapshot(path: Path, dimension: int, slots: Iterator[Row], marks: dict[str, object]) -> None:
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


def open_snapshot(path: Path, dimension: int, expected: Mapping[str, object]) -> tuple[Slots, dict[str, Any]] | None:
    """The slots of a file and its marks; None if it is damaged or belongs to something else."""
    try:
        with path.open("rb") as file:
            head = file.read(HEADER)
        marks: dict[str, Any] = json.loads(head)
        del marks["crc"]
        expected = {**expected, "format": FORMAT, "dimension": dimension}
        # As a plain array: numpy spends more on each slice of a memmap than on its content.
        blocks: Array = np.memmap(path, block(dimension), "c", HEADER).view(np.ndarray)
        good = all(marks[name] == value for name, value in expected.items())
        return (Slots(dimension, blocks), marks) if good and header(marks, zlib.crc32(blocks.view("u1").data)) == head \
            else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
