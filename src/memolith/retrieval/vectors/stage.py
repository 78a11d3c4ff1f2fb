"""The vector stage of a data folder: an index per model, and its snapshots."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memolith.errors import EmbedderDown
from memolith.ports.embedder import Embedder

if TYPE_CHECKING:
    from memolith.retrieval.vectors.index import VectorIndex

KEPT_CHANGES = 100_000
log = logging.getLogger(__name__)


class LocalStage:
    """Searches in this process, on files beside the database that all its processes share."""

    def __init__(
        self,
        folder: Path,
        reading: Callable[[None], AbstractContextManager[Any]],
        writing: Callable[[None], AbstractContextManager[Any]],
    ) -> None:
        self._folder, self._reading, self._writing = folder, reading, writing
        self._indexes: dict[str, VectorIndex] = {}

    def vectors(self, embedder: Embedder) -> VectorIndex:
        """The index of a model, made when first needed."""
        # numpy costs 0.1 CPU seconds, and nothing before the first search by meaning needs it.
        from memolith.retrieval.vectors.index import VectorIndex

        return self._indexes.get(embedder.id) or self._indexes.setdefault(
            embedder.id, VectorIndex(self._folder, embedder.id, embedder.dimension)
        )

    def row(self, vector: bytes) -> bytes:
        # numpy costs 0.1 CPU seconds to import, and nothing before the first embedding needs it.
        from memolith.retrieval.vectors.index import quantised

        return quantised(vector)

    def renew(self, embedder: Embedder, always: bool = False) -> bool:
        """Write a new snapshot if the tail has grown long."""
        index = self.vectors(embedder)
        with self._reading(None) as rows:
            index.follow(rows)
            if not (always or index.wants_snapshot):
                return False
            try:
                index.snapshot(rows)
            except OSError as error:
                log.warning("no vector snapshot was written: %s", error)
                return False
            index.follow(rows)
            _, change, _ = rows.slot_marks()
        index.tidy()
        with self._writing(None) as rows:
            # The part of the feed that every snapshot covers goes, and vectors without a passage.
            rows.prune_slots(change - KEPT_CHANGES)
        return True

    def drop(self, embedder: Embedder | None) -> None:
        """Remove the snapshots and write what is left anew."""
        had = list(self._folder.glob("vectors-*"))
        for index in list(self._indexes.values()):
            index.close()
        for path in had:
            # Windows keeps a mapped file until its last reader is gone; the next snapshot removes it then.
            with suppress(PermissionError):
                path.unlink(missing_ok=True)
        if had and embedder:
            # An embedder that is down has no vectors to show; its snapshot is made when it is back.
            with suppress(EmbedderDown):
                self.renew(embedder, always=True)

    @property
    def lagging(self) -> bool:
        """Whether a snapshot would pay."""
        return any(index.wants_snapshot for index in list(self._indexes.values()))
