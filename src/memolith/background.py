"""Work beside the calls: vectors for what was written, upkeep, and news from other servers."""

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count

from memolith.adapters.free_memory import limit_pools, return_freed_memory
from memolith.engine.reading import Reading
from memolith.engine.usage import Usage
from memolith.errors import MemolithError
from memolith.ports.store import Store
from memolith.retrieval.embedding.serving import Embeddings

ROUND_S = 2.0
ROUNDS_BETWEEN_UPKEEP = 300
EMBED_BUDGET_S = 5.0
UPKEEP_STEP_S = 1.0
STOP_WAIT_S = 2.0
log = logging.getLogger(__name__)


def _ignore_progress(done: int, total: int) -> None:
    """Stands in where nobody wants to see the progress."""


@dataclass(frozen=True)
class Upkeep:
    """Everything that keeps a store quick and small."""

    embeddings: Embeddings
    reading: Reading
    usage: Usage
    compact: Callable[[], None]
    forget_old_answers: Callable[[], None]

    def run(self, progress: Callable[[int, int], None] = _ignore_progress) -> dict[str, int]:
        """Embed what waits, drop vectors of other models, renew the index, and compact."""
        done = {"embedded": 0, "snapshot": 0}
        if self.embeddings.embedder:
            self.embeddings.serving_model(self.embeddings.embedder)
            self.embeddings.retry_failed()
            while True:
                step = self.embeddings.embed_waiting(budget_s=UPKEEP_STEP_S)
                if not step:
                    break
                done["embedded"] += step
                progress(done["embedded"], 0)
            done["snapshot"] = int(self.embeddings.renew_index())
            self.embeddings.drop_vectors_of_other_models()
        self.flush_counts()
        self.usage.forget_old()
        self.forget_old_answers()
        self.compact()
        return done

    def flush_counts(self) -> None:
        """Write what was counted while others read and called."""
        self.reading.flush_accesses()
        self.usage.flush()


@dataclass(frozen=True)
class Round:
    """What the background does in each round."""

    upkeep: Upkeep
    other_stores: Callable[[], Iterable[Store]]
    """The other databases, where tenants of this one live."""
    tidy_sandbox: Callable[[], None]

    def __call__(self, number: int) -> None:
        embeddings = self.upkeep.embeddings
        self.upkeep.flush_counts()
        self.tidy_sandbox()
        if embeddings.embed_waiting(budget_s=EMBED_BUDGET_S):
            embeddings.renew_index()
            # After a burst of writes, most of what it took is free.
            return_freed_memory()
        for store in self.other_stores():
            embeddings.embed_in(store, budget_s=EMBED_BUDGET_S)
        if (number + 1) % ROUNDS_BETWEEN_UPKEEP == 0:
            self.upkeep.run()


class Background:
    """Threads that repeat their work until stopped; a failure is logged and tried again."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def is_running(self) -> bool:
        return bool(self._threads)

    def start(self, work: Callable[[int], None]) -> None:
        """Repeat the work on a thread of its own; it is given the number of the round."""
        thread = threading.Thread(target=self._repeat, args=(work,), daemon=True)
        self._threads.append(thread)
        limit_pools()
        thread.start()

    def stop(self) -> None:
        """Ask all threads to end, and wait a moment for them."""
        self.stopping.set()
        for thread in self._threads:
            thread.join(STOP_WAIT_S)

    def _repeat(self, work: Callable[[int], None]) -> None:
        for number in count():
            try:
                work(number)
            except (MemolithError, OSError) as error:
                log.warning("background work failed and will be tried again: %s", error)
            if self.stopping.wait(ROUND_S):
                return
