"""The composition root: the one place that knows every part."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memolith.engine.engine import Engine
from memolith.engine.intake import Limits
from memolith.engine.model import Caller
from memolith.engine.past import Past
from memolith.engine.ports import Embedder
from memolith.engine.recall import Recall
from memolith.engine.times import SystemClock
from memolith.engine.upkeep import Upkeep
from memolith.errors import Conflict, InvalidInput
from memolith.retrieval.minilm import MiniLM
from memolith.retrieval.rank import WeightedRanker
from memolith.retrieval.worker import EmbedWorker
from memolith.settings import Settings
from memolith.storage import terms
from memolith.storage.sqlite import FILE, SqliteStore, library_version, restore_file

if TYPE_CHECKING:
    from memolith.retrieval.vectors import VectorIndex


class App:
    """A data folder with everything that works on it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.clock = SystemClock()
        self.store = SqliteStore(settings.data, settings.busy_s)
        limits = Limits(text_bytes=settings.max_text_bytes, title=settings.max_title, tag=settings.max_tag,
                        tags=settings.max_tags)
        self.engine = Engine(self.store, self.clock, limits, settings.secrets)
        self.past = Past(self.engine)
        self.upkeep = Upkeep(self.engine)
        self.embedder = _embedder(settings)
        self._lock = threading.Lock()

    @cached_property
    def recall(self) -> Recall:
        """The search, made when first needed."""
        drain = (lambda tenant, budget: self.worker.drain(tenant, budget)) if self.embedder else None
        return Recall(self.store, terms, WeightedRanker(), self.embedder, self.vectors, drain)

    def vectors(self) -> VectorIndex:
        """The vector stage, made when first needed."""
        with self._lock:
            return self._index

    @cached_property
    def _index(self) -> VectorIndex:
        # numpy costs 0.1 CPU seconds to import, and nothing before the first search by meaning needs it.
        from memolith.retrieval.vectors import VectorIndex
        assert self.embedder is not None
        return VectorIndex(self.settings.data, self.embedder.id, self.embedder.dimension)

    @cached_property
    def worker(self) -> EmbedWorker:
        """The embedder's worker, made when first needed."""
        # numpy again: needed only once something is embedded.
        from memolith.retrieval.vectors import quantised
        assert self.embedder is not None
        return EmbedWorker(self.store, self.embedder, self.clock, quantised)

    def erase(self, caller: Caller, id: str) -> bool:
        """Erase an item from the store and from every snapshot; False if old pages are still being read."""
        clean = self.engine.erase(caller, id)
        self.drop_snapshots()
        return clean

    def drop_snapshots(self) -> None:
        """Remove the vector snapshots; they are made anew from the table."""
        if self.embedder:
            self.vectors().forget_files()

    def do_upkeep(self, progress: Callable[[int, int], None] | None = None) -> dict[str, int]:
        """Embed what waits, write a snapshot where it pays, flush counts, checkpoint."""
        done = {"embedded": 0, "snapshot": 0}
        if self.embedder:
            with self.store.writing("") as rows:
                rows.retry("embed", self.clock.now())
            while step := self.worker.drain(budget_s=1.0):
                done["embedded"] += step
                if progress:
                    progress(done["embedded"], 0)
            done["snapshot"] = int(self.roll_snapshot())
        self.engine.flush_reads()
        self.store.shred()
        return done

    def roll_snapshot(self) -> bool:
        """Write a new vector snapshot if the tail has grown long."""
        index = self.vectors()
        with self.store.reading() as rows:
            index.follow(rows)
            if not index.wants_snapshot:
                return False
            index.snapshot(rows)
            index.follow(rows)
        index.tidy()
        return True

    def close(self) -> None:
        """Write what is still in memory and let go of the files."""
        if "worker" in self.__dict__:
            self.worker.stop()
        self.engine.flush_reads()
        self.store.close()


def _embedder(settings: Settings) -> Embedder | None:
    if settings.embedder == "none":
        return None
    return MiniLM()


def sqlite_version() -> str:
    """The version of SQLite in use."""
    return library_version()


def restore_backup(file: Path, folder: Path) -> None:
    """Put a backup into a data folder that has no database yet."""
    if not file.is_file():
        raise InvalidInput(f"There is no file {file}.", field="file")
    if (folder / FILE).exists():
        raise Conflict(f"{folder} holds a database already; restore into an empty folder.")
    restore_file(file, folder)
    App(Settings(data=folder, embedder="none")).close()


def open_app(settings: Settings) -> App:
    """The app on the data folder of the settings."""
    return App(settings)


