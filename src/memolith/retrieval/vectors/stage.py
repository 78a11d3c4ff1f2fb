"""The vectors of a data folder: an index for each model, and its snapshots."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from memolith.errors import EmbedderDown
from memolith.ports.embedder import Embedder
from memolith.ports.store import Reader
from memolith.ports.vector_slots import VectorSlots, VectorSlotsWriter

if TYPE_CHECKING:
    from memolith.retrieval.vectors.index import VectorIndex

KEPT_CHANGES = 100_000
"""How much of the feed of changes stays for processes that still use an older snapshot."""

log = logging.getLogger(__name__)


class SlotReader(Reader, VectorSlots, Protocol):
    """The reader of a store that keeps its vectors for this stage."""


class LocalStage:
    """Searches in this process, on files beside the database that all its processes share."""

    def __init__(
        self,
        folder: Path,
        reading: Callable[[None], AbstractContextManager[SlotReader]],
        writing: Callable[[None], AbstractContextManager[VectorSlotsWriter]],
    ) -> None:
        self._folder = folder
        self._reading = reading
        self._writing = writing
        self._indexes: dict[str, VectorIndex] = {}

    def vectors(self, embedder: Embedder) -> VectorIndex:
        """Return the index of a model, made when it is first needed."""
        # numpy costs 0.1 CPU seconds, and nothing before the first search by meaning needs it.
        from memolith.retrieval.vectors.index import VectorIndex

        index = self._indexes.get(embedder.id)
        if index is None:
            index = VectorIndex(self._folder, embedder.id, embedder.dimension)
            # Another thread may have been quicker; all must use the same index.
            index = self._indexes.setdefault(embedder.id, index)
        return index

    def row(self, vector: bytes) -> bytes:
        """Return a vector as the database keeps it."""
        # numpy costs 0.1 CPU seconds to import, and nothing before the first embedding needs it.
        from memolith.retrieval.vectors.encoding import quantised

        return quantised(vector)

    def renew(self, embedder: Embedder, always: bool = False) -> bool:
        """Write a new snapshot if the tail has grown long; return whether one was written."""
        index = self.vectors(embedder)
        with self._reading(None) as rows:
            index.follow(rows)
            if not always and not index.wants_snapshot:
                return False
            try:
                index.snapshot(rows)
            except OSError as error:
                log.warning("no vector snapshot was written: %s", error)
                return False
            index.follow(rows)
            newest_change = rows.slot_marks().change
        index.tidy()
        has_more = True
        while has_more:
            with self._writing(None) as writer:
                # What every snapshot covers by now goes, and with it vectors without a passage.
                has_more = writer.prune_slots(newest_change - KEPT_CHANGES)
        return True

    def drop(self, embedder: Embedder | None) -> None:
        """Remove the snapshots and write what is left into a new one."""
        paths = list(self._folder.glob("vectors-*"))
        for index in list(self._indexes.values()):
            index.close()
        for path in paths:
            # Windows keeps a mapped file until its last reader is gone; the next snapshot removes
            # it then.
            with suppress(PermissionError):
                path.unlink(missing_ok=True)
        if paths and embedder is not None:
            # The snapshot of an embedder that is down is made when it is back.
            with suppress(EmbedderDown):
                self.renew(embedder, always=True)

    @property
    def lagging(self) -> bool:
        """Whether a new snapshot would pay."""
        return any(index.wants_snapshot for index in list(self._indexes.values()))
