"""Makes vectors for what was written, off the write path."""

import hashlib
import logging
import time
from collections.abc import Callable
from threading import main_thread
from typing import NamedTuple

from memolith.domain.passages import PassageRef
from memolith.errors import DiskFull, EmbedderDown, Unavailable
from memolith.ports.clock import Clock
from memolith.ports.embedder import Embedder
from memolith.ports.outbox import Job
from memolith.ports.store import Store

LEASE_S, BATCH = 60, 32
TRIES, DOWN_STEP = 8, 3
log = logging.getLogger("memolith.worker")


class EmbedWorker(NamedTuple):
    """Drains the outbox of one model; any number of processes may do so at once."""

    store: Store
    embedder: Embedder
    clock: Clock
    quantised: Callable[[bytes], str | bytes]

    def drain(self, tenant: str | None = None, budget_s: float = 3600.0) -> int:
        """Embed what is due, newest first, for at most that long; returns how many streams were done."""
        with self.store.reading(tenant) as rows:
            # A look costs less than the write lock, and mostly there is nothing to do.
            if not rows.count_waiting(tenant, "embed", 1):
                return 0
        started, done, size = time.monotonic(), 0, 4 if budget_s < 1 else BATCH
        while time.monotonic() - started < budget_s:
            with self.store.writing(tenant, budget_s) as rows:
                jobs = rows.lease_jobs("embed", self.clock.now(), size, LEASE_S, tenant)
            if not jobs:
                break
            try:
                done += self._attempt(jobs)
            except EmbedderDown as error:
                # What stops because the program ends is no fault, and waits for the next one.
                log.log(
                    logging.WARNING if main_thread().is_alive() else logging.DEBUG,
                    "nothing embedded: %s",
                    error,
                )
                for job in jobs:
                    # They wait for the embedder, never so long that its return goes unnoticed.
                    with self.store.writing(job.tenant) as rows:
                        held = job._replace(attempts=min(job.attempts, DOWN_STEP))
                        rows.postpone_job(held, self.clock.now(), error.message, TRIES)
                break
            size = min(size * 2, BATCH)
        return done

    def _attempt(self, jobs: list[Job]) -> int:
        """Do the jobs together; if that fails, each by itself, so that one bad text stops no other."""
        try:
            self._embed(jobs)
        except Exception as error:
            if isinstance(error, DiskFull | Unavailable) and not isinstance(error, EmbedderDown):
                raise
            if isinstance(error, EmbedderDown):
                # If even this fails, it is not for the texts, and no job may be given up for it.
                if not self.embedder.wait(0.0):
                    raise
                self.embedder.embed(["ready"])
            if len(jobs) > 1:
                return sum(self._attempt([job]) for job in jobs)
            log.warning("embedding of %s failed: %s", jobs[0].stream, error)
            with self.store.writing(jobs[0].tenant) as rows:
                rows.postpone_job(
                    jobs[0], self.clock.now(), f"{type(error).__name__}: {error}", TRIES
                )
            return 0
        return len(jobs)

    def _embed(self, jobs: list[Job]) -> None:
        model, tenants = self.embedder.id, {job.tenant for job in jobs}
        due, made = dict[Job, dict[PassageRef, str]](), dict[str, str | bytes | None]()
        for tenant in tenants:
            with self.store.reading(tenant) as rows:
                for job in (job for job in jobs if job.tenant == tenant):
                    due[job] = {
                        ref: text
                        for ref, text, digest in rows.unembedded(tenant, job.stream, model)
                        if digest != _digest(text)
                    }
                    # Where the tenant has the same text elsewhere, its vector is there already.
                    made |= {
                        text: rows.vector_by_digest(tenant, _digest(text), model)
                        for text in due[job].values()
                    }
        missing = [text for text, row in made.items() if row is None]
        for start in range(0, len(missing), 256):
            part = missing[start : start + 256]
            for text, vector in zip(part, self.embedder.embed(part), strict=True):
                made[text] = None if vector is None else self.quantised(vector)
        for tenant in tenants:
            with self.store.writing(tenant) as rows:
                for job in (job for job in jobs if job.tenant == tenant):
                    # A text that has changed meanwhile has a job of its own, whose vector must not be overwritten.
                    now = {ref: text for ref, text, _ in rows.unembedded(tenant, job.stream, model)}
                    for ref, text in due[job].items():
                        if now.get(ref) == text:
                            rows.put_vector(ref, model, _digest(text), made[text])
                    rows.finish_job(job)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
