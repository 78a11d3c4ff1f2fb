"""Which model serves the search by meaning, and the making of vectors for what waits."""

from collections.abc import Callable, Sequence
from typing import Protocol

from memolith.ports.clock import Clock
from memolith.ports.embedder import Embedder
from memolith.ports.store import Store
from memolith.ports.vectors import Meaning, Vectors
from memolith.retrieval.embedding.worker import EmbedWorker, nothing_follows, tell_nobody

NO_BUDGET_S = 3600.0
ITEMS_PER_QUEUING = 500
VECTORS_PER_DELETE = 200
"""How much is written at once where nobody waits for it, and others may want to write."""


class VectorStage(Protocol):
    """Where vectors are kept and searched."""

    def vectors(self, embedder: Embedder) -> Vectors:
        """The vectors of a model."""
        ...

    def row(self, vector: bytes) -> str | bytes:
        """A vector in the form in which it is stored."""
        ...

    def renew(self, embedder: Embedder, always: bool = False) -> bool:
        """Bring what speeds up the search up to date, where that pays."""
        ...

    def drop(self, embedder: Embedder | None) -> None:
        """Remove everything that was derived from the stored vectors."""
        ...


class Embeddings:
    """Makes vectors with the chosen model, and searches with the earlier one until all are made."""

    def __init__(
        self,
        store: Store,
        stage: VectorStage,
        clock: Clock,
        embedder: Embedder | None,
        builtin: Embedder,
        follow_up: Callable[[Store, str, Sequence[str]], None] = nothing_follows,
    ) -> None:
        """`follow_up` is told the items of a tenant that have got their vectors."""
        self.embedder = embedder
        self.stage = stage
        self._store = store
        self._clock = clock
        self._builtin = builtin
        self._follow_up = follow_up
        self._is_complete = False
        """Whether everything was embedded by the chosen model when we last looked."""
        self._has_queued = False
        """Whether what only another model has embedded was queued."""

    def embed_waiting(
        self,
        tenant: str | None = None,
        budget_s: float = NO_BUDGET_S,
        tell: Callable[[int], None] = tell_nobody,
    ) -> int:
        """Make vectors of what waits, for at most that long; returns how many streams were done."""
        return self.embed_in(self._store, tenant, budget_s, tell)

    def embed_in(
        self,
        store: Store,
        tenant: str | None = None,
        budget_s: float = NO_BUDGET_S,
        tell: Callable[[int], None] = tell_nobody,
    ) -> int:
        """Make vectors of what waits in another store."""
        if self.embedder is None:
            return 0
        worker = EmbedWorker(store, self.embedder, self._clock, self.stage.row, self._follow_up)
        return worker.drain(tenant, budget_s, tell)

    def meaning(self) -> Meaning | None:
        """The model that searches use, with its vectors; None if search by meaning is off."""
        if self.embedder is None:
            return None
        # The model loads on its own thread while numpy is imported and the snapshot is mapped.
        self.embedder.wait(0.0)
        serving = self.serving_model(self.embedder)
        return Meaning(serving, self.stage.vectors(serving))

    def serving_model(self, embedder: Embedder) -> Embedder:
        """The chosen model, or the built-in one for as long as that has made more vectors."""
        if self._is_complete:
            return embedder
        with self._store.reading(None) as rows:
            vectors = rows.models()
            waits = rows.count_waiting(None, "embed", 1) > 0
        if vectors.keys() - {embedder.id} and not self._has_queued:
            self._queue_missing(embedder)
            self._has_queued = True
            waits = True
        if waits and vectors.get(self._builtin.id, 0) > vectors.get(embedder.id, 0):
            return self._builtin
        self._is_complete = not waits
        return embedder

    def renew_index(self, always: bool = False) -> bool:
        """Bring what speeds up the search by meaning up to date, where that pays."""
        return self.embedder is not None and self.stage.renew(self.embedder, always)

    def drop_index(self) -> None:
        """Remove what was derived from the vectors, which may still hold what was erased."""
        self.stage.drop(self.embedder)

    def drop_vectors_of_other_models(self) -> None:
        """Remove the vectors of earlier models, once the chosen one has embedded everything."""
        if self.embedder is None:
            return
        model = self.embedder.id
        with self._store.reading(None) as rows:
            models = rows.models()
            has_others = len(models) > 1 and model in models
            if not has_others or rows.count_waiting(None, "embed", 1):
                return
        while True:
            # Found without the lock: in a large store that takes longer than to remove them.
            with self._store.reading(None) as rows:
                places = rows.vectors_of_other_models(model, VECTORS_PER_DELETE)
            if not places:
                return
            with self._store.writing(None) as writer:
                writer.drop_vectors_of_other_models(model, places)

    def _queue_missing(self, embedder: Embedder) -> None:
        """Queue what the model has not embedded, a few items at a time: others write meanwhile."""
        with self._store.reading(None) as rows:
            tenants = rows.tenants()
        for tenant in tenants:
            last = ""
            while True:
                with self._store.reading(tenant) as rows:
                    ids = rows.items_without_vectors(tenant, embedder.id, last, ITEMS_PER_QUEUING)
                if not ids:
                    break
                with self._store.writing(tenant) as writer:
                    writer.queue_missing_vectors(ids, self._clock.now())
                last = ids[-1]

    def retry_failed(self) -> None:
        """Try again what could not be embedded."""
        with self._store.reading(None) as rows:
            if not rows.outbox_counts().get(("embed", "failed")):
                return
        with self._store.writing(None) as writer:
            writer.retry_failed("embed", self._clock.now())
