"""Makes vectors for what was written, outside of the write itself."""

import hashlib
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from threading import main_thread
from typing import NamedTuple

from memolith.domain.passages import PassageRef
from memolith.errors import DiskFull, EmbedderDown, Unavailable
from memolith.ports.clock import Clock
from memolith.ports.embedder import Embedder
from memolith.ports.outbox import Job
from memolith.ports.store import Store

CONSUMER = "embed"
LEASE_S = 60
MAX_JOBS_PER_LEASE = 32
FIRST_LEASE_OF_SHORT_BUDGET = 4
SHORT_BUDGET_S = 1.0
"""With a shorter budget the first lease is small, so that something is done in time."""

MAX_TRIES = 8
MAX_TRIES_WHILE_DOWN = 3
"""The pause of a job grows with its tries. While the embedder is down it grows no further than
this, so that its return is noticed soon."""

MAX_TEXTS_AT_ONCE = 256

StoredVector = str | bytes | None
"""A vector in the form in which the store keeps it; None for a text that gets none."""

log = logging.getLogger("memolith.worker")


def nothing_follows(store: Store, tenant: str, ids: Sequence[str]) -> None:
    """Stands in where nothing is to be done with new vectors."""


class EmbedWorker(NamedTuple):
    """Drains the outbox of one model; any number of processes may do so at once."""

    store: Store
    embedder: Embedder
    clock: Clock
    stored_form: Callable[[bytes], str | bytes]
    """Turns a vector into the form in which the store keeps it."""
    follow_up: Callable[[Store, str, Sequence[str]], None] = nothing_follows
    """Is told the items of a tenant that have got their vectors."""

    def drain(self, tenant: str | None = None, budget_s: float = 3600.0) -> int:
        """Embed what is due, newest first, for at most that long.

        Returns how many jobs were done.
        """
        with self.store.reading(tenant) as rows:
            # Looking costs less than the write lock, and mostly there is nothing to do.
            if not rows.count_waiting(tenant, CONSUMER, 1):
                return 0
        started_s = time.monotonic()
        done = 0
        size = FIRST_LEASE_OF_SHORT_BUDGET if budget_s < SHORT_BUDGET_S else MAX_JOBS_PER_LEASE
        while time.monotonic() - started_s < budget_s:
            with self.store.writing(tenant, budget_s) as rows:
                jobs = rows.lease_jobs(CONSUMER, self.clock.now(), size, LEASE_S, tenant)
            if not jobs:
                break
            try:
                done += self._attempt(jobs)
            except EmbedderDown as error:
                self._postpone_all(jobs, error)
                break
            size = min(size * 2, MAX_JOBS_PER_LEASE)
        return done

    def _postpone_all(self, jobs: Sequence[Job], error: EmbedderDown) -> None:
        """Let jobs wait for the embedder."""
        # It is no fault if the program ends; the next one goes on.
        level = logging.WARNING if main_thread().is_alive() else logging.DEBUG
        log.log(level, "nothing embedded: %s", error)
        for job in jobs:
            held = job._replace(attempts=min(job.attempts, MAX_TRIES_WHILE_DOWN))
            with self.store.writing(job.tenant) as rows:
                rows.postpone_job(held, self.clock.now(), error.message, MAX_TRIES)

    def _attempt(self, jobs: list[Job]) -> int:
        """Do the jobs together; if that fails, each by itself.

        So a bad text stops no other. Returns how many jobs were done.
        """
        try:
            self._embed(jobs)
        except Exception as error:
            if not self._is_fault_of_texts(error):
                raise
            if len(jobs) > 1:
                return sum(self._attempt([job]) for job in jobs)
            job = jobs[0]
            log.warning("embedding of %s failed: %s", job.stream, error)
            reason = f"{type(error).__name__}: {error}"
            with self.store.writing(job.tenant) as rows:
                rows.postpone_job(job, self.clock.now(), reason, MAX_TRIES)
            return 0
        return len(jobs)

    def _is_fault_of_texts(self, error: Exception) -> bool:
        """Whether a text is to blame. If none is, no job may be given up."""
        if not isinstance(error, EmbedderDown):
            return not isinstance(error, DiskFull | Unavailable)
        if not self.embedder.wait(0.0):
            return False
        # If even this text fails, the embedder is down, and that error is raised.
        self.embedder.embed(["ready"])
        return True

    def _embed(self, jobs: Sequence[Job]) -> None:
        jobs_of_tenants: dict[str, list[Job]] = defaultdict(list)
        for job in jobs:
            jobs_of_tenants[job.tenant].append(job)
        due: dict[Job, dict[PassageRef, str]] = {}
        vectors: dict[str, StoredVector] = {}
        for tenant, jobs_of_tenant in jobs_of_tenants.items():
            self._look_up(tenant, jobs_of_tenant, due, vectors)
        self._make_missing(vectors)
        for tenant, jobs_of_tenant in jobs_of_tenants.items():
            self._store(tenant, jobs_of_tenant, due, vectors)
            self.follow_up(self.store, tenant, [job.stream for job in jobs_of_tenant])

    def _look_up(
        self,
        tenant: str,
        jobs: Sequence[Job],
        due: dict[Job, dict[PassageRef, str]],
        vectors: dict[str, StoredVector],
    ) -> None:
        """Find the passages that need a vector, and the vectors that are there already."""
        model = self.embedder.id
        with self.store.reading(tenant) as rows:
            for job in jobs:
                due[job] = {
                    passage.ref: passage.text
                    for passage in rows.unembedded(tenant, job.stream, model)
                    if passage.digest != _digest(passage.text)
                }
                for text in due[job].values():
                    # Where the tenant has the same text elsewhere, its vector is there already.
                    vectors[text] = rows.vector_by_digest(tenant, _digest(text), model)

    def _make_missing(self, vectors: dict[str, StoredVector]) -> None:
        missing = [text for text, vector in vectors.items() if vector is None]
        for start in range(0, len(missing), MAX_TEXTS_AT_ONCE):
            texts = missing[start : start + MAX_TEXTS_AT_ONCE]
            for text, vector in zip(texts, self.embedder.embed(texts), strict=True):
                if vector is not None:
                    vectors[text] = self.stored_form(vector)

    def _store(
        self,
        tenant: str,
        jobs: Sequence[Job],
        due: dict[Job, dict[PassageRef, str]],
        vectors: dict[str, StoredVector],
    ) -> None:
        model = self.embedder.id
        with self.store.writing(tenant) as rows:
            for job in jobs:
                present = rows.unembedded(tenant, job.stream, model)
                texts = {passage.ref: passage.text for passage in present}
                for ref, text in due[job].items():
                    # A text that has changed meanwhile has a job of its own, whose vector must not
                    # be overwritten.
                    if texts.get(ref) == text:
                        rows.put_vector(ref, model, _digest(text), vectors[text])
                rows.finish_job(job)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
