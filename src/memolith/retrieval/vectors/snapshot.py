"""Snapshots: files with the vectors of one model, which all processes of a data folder map.

A snapshot can be thrown away at any time; the database has everything that is in it.
"""

import json
import os
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memolith.ports.vector_slots import Slot
from memolith.private_files import open_private
from memolith.retrieval.vectors.encoding import Array, word_code
from memolith.retrieval.vectors.slots import BLOCK_SLOTS, Slots, block_type

FORMAT = "memolith vectors 4"
HEADER_BYTES = 4096
ABANDONED_AFTER_S = 3600
"""A partial file that is older belongs to a writer that was killed."""


class SnapshotMarks(NamedTuple):
    """What a snapshot belongs to, and how far it goes."""

    database: str
    model: str
    vector: int
    """The id of the newest vector in it."""
    change: int
    """The number of the newest change that it takes account of."""


class Snapshot(NamedTuple):
    """A snapshot file that was opened."""

    slots: Slots
    marks: SnapshotMarks


class SnapshotFiles:
    """The snapshots of one model in a data folder. Their names end in a growing number."""

    def __init__(self, folder: Path, model: str) -> None:
        self._folder = folder
        self._prefix = f"vectors-{word_code(model):08x}-"

    def paths(self) -> list[Path]:
        """Return the snapshots, the oldest first."""
        return sorted(self._folder.glob(f"{self._prefix}{'[0-9]' * 10}.snap"))

    def next_path(self) -> Path:
        """Return a name that no snapshot has, and none had before.

        Readers know their file by its name. The clock makes sure that no name comes back after all
        files were removed.
        """
        numbers = [int(path.stem[-10:]) for path in self.paths()]
        number = max([*numbers, int(time.time())]) + 1
        return self._folder / f"{self._prefix}{number:010d}.snap"

    def tidy(self) -> None:
        """Remove all but the newest snapshot, and what a killed writer left.

        A file that cannot be removed now, because it is in use, goes another time.
        """
        for path in self.paths()[:-1]:
            with suppress(OSError):
                path.unlink()
        for path in self._folder.glob(f"{self._prefix}*.partial"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > ABANDONED_AFTER_S:
                    path.unlink()


def write_snapshot(path: Path, dimension: int, slots: Iterator[Slot], marks: SnapshotMarks) -> None:
    """Write the slots to a new file that appears whole or not at all."""
    partial = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.partial")
    fields = {**marks._asdict(), "format": FORMAT, "dimension": dimension}
    try:
        with open(partial, "wb", opener=open_private) as file:
            file.write(bytes(HEADER_BYTES))
            crc = 0
            while True:
                block = Slots(dimension)
                block.add(islice(slots, BLOCK_SLOTS))
                if not block.count:
                    break
                data = block.blocks.view("u1").data
                file.write(data)
                crc = zlib.crc32(data, crc)
            file.seek(0)
            file.write(snapshot_header(fields, crc))
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def open_snapshot(path: Path, dimension: int, database: str, model: str) -> Snapshot | None:
    """Map a snapshot; return None if it is damaged or belongs to something else."""
    try:
        with path.open("rb") as file:
            header = file.read(HEADER_BYTES)
        fields = json.loads(header)
        del fields["crc"]
        # As a plain array: numpy spends more on each slice of a memmap than on its content.
        blocks: Array = np.memmap(path, block_type(dimension), "c", HEADER_BYTES).view(np.ndarray)
        if fields["format"] != FORMAT or fields["dimension"] != dimension:
            return None
        if fields["database"] != database or fields["model"] != model:
            return None
        if snapshot_header(fields, zlib.crc32(blocks.view("u1").data)) != header:
            return None
        marks = SnapshotMarks(database, model, fields["vector"], fields["change"])
        return Snapshot(Slots(dimension, blocks), marks)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def snapshot_header(fields: Mapping[str, object], blocks_crc: int) -> bytes:
    """Return the header of a snapshot.

    Its checksum covers the fields as well as the blocks: a wrong field is as bad as a wrong row.
    """
    crc = zlib.crc32(json.dumps(fields, sort_keys=True).encode(), blocks_crc)
    return json.dumps({**fields, "crc": crc}).encode().ljust(HEADER_BYTES)
