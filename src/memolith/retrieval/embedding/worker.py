"""Makes vectors for what was written, outside of the write itself."""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from threading import main_thread
from typing import NamedTuple

from memolith.domain.passages import PassageRef, text_digest
from memolith.engine.telemetry import step
from memolith.errors import DiskFull, EmbedderDown, Unavailable
from memolith.ports.clock import Clock
from memolith.ports.embedder import Embedder
from memolith.ports.outbox import Job
from memolith.ports.store import Reader, Store
from memolith.ports.vector_rows import NewVector

CONSUMER = "embed"
LEASE_S = 60
MAX_JOBS_PER_LEASE = 32
MAX_JOBS_PER_BULK_LEASE = 128
"""Where nobody waits, more texts are embedded together: the more there are, the better those of
the same length fill the runs of the model."""

LEASES_OF_WHAT_IS_LEFT = 4
"""What is left is enough for so many leases, so that several workers end together. A lease may
always take up to `MAX_JOBS_PER_LEASE`, though."""

JOBS_PER_WRITE = 32
"""How many jobs are stored at once, so that others do not wait long for the write lock."""

FIRST_LEASE_OF_SHORT_BUDGET = 4
SHORT_BUDGET_S = 1.0
"""With a budget of at most this, the first lease is small, so that something is done in time."""

POLL_S = 0.01
"""How often somebody who waits looks whether others have done what they leased."""

MAX_WAIT_FOR_OTHERS_S = 1.0
"""How long jobs that others have leased are waited for, although none of them gets done."""

MAX_TRIES = 8
MAX_TRIES_WHILE_DOWN = 3
"""The pause of a job grows with its tries. While the embedder is down it grows no further than
this, so that its return is noticed soon."""

MAX_TEXTS_AT_ONCE = 256
MAX_TEXTS_BETWEEN_LOOKS = 64
"""How many texts are embedded before the next look at the clock, where somebody waits."""

StoredVector = str | bytes | None
"""A vector in the form in which the store keeps it; None for a text that gets none."""

log = logging.getLogger("memolith.worker")


def nothing_follows(store: Store, tenant: str, ids: Sequence[str]) -> None:
    """Stands in where nothing is to be done with new vectors."""


def tell_nobody(done: int) -> None:
    """Stands in where nobody wants to know how many jobs are done."""


def _max_jobs_of_next_lease(rows: Reader, now: str) -> int:
    """How many jobs a worker may lease next, where nobody waits for it."""
    left = rows.count_due(CONSUMER, now, LEASES_OF_WHAT_IS_LEFT * MAX_JOBS_PER_BULK_LEASE)
    return max(MAX_JOBS_PER_LEASE, left // LEASES_OF_WHAT_IS_LEFT)


class EmbedWorker(NamedTuple):
    """Drains the outbox of one model; any number of processes may do so at once."""

    store: Store
    embedder: Embedder
    clock: Clock
    stored_form: Callable[[bytes], str | bytes]
    """Turns a vector into the form in which the store keeps it."""
    follow_up: Callable[[Store, str, Sequence[str]], None] = nothing_follows
    """Is told the items of a tenant that have got their vectors."""

    def drain(
        self,
        tenant: str | None = None,
        budget_s: float = 3600.0,
        tell: Callable[[int], None] = tell_nobody,
    ) -> int:
        """Embed what is due, newest first, for at most that long.

        With a tenant, somebody waits for its vectors. Then jobs that others have leased are waited
        for too, and when the time is over, jobs that are not done are due again at once. `tell`
        learns now and then how many jobs are done, which is also returned in the end.
        """
        with self.store.reading(tenant) as rows:
            # Looking costs less than the write lock, and mostly there is nothing to do.
            if not rows.count_waiting(tenant, CONSUMER, 1):
                return 0
        end_s = time.monotonic() + budget_s
        done = 0
        size = FIRST_LEASE_OF_SHORT_BUDGET if budget_s <= SHORT_BUDGET_S else MAX_JOBS_PER_LEASE
        while time.monotonic() < end_s:
            with self.store.writing(tenant, budget_s) as rows:
                now = self.clock.now()
                jobs = rows.lease_jobs(CONSUMER, now, size, LEASE_S, tenant)
                most = MAX_JOBS_PER_LEASE
                if jobs and tenant is None:
                    most = _max_jobs_of_next_lease(rows, now)
            if not jobs:
                if tenant is None or not self._others_finish(tenant, end_s):
                    break
                continue
            try:
                done += self._attempt(jobs, end_s if tenant else None)
            except EmbedderDown as error:
                self._postpone_all(jobs, error)
                break
            tell(done)
            size = min(size * 2, most)
        return done

    def _others_finish(self, tenant: str, end_s: float) -> bool:
        """Wait until others have settled what they leased; False if they do not in time."""
        leased = self._count_leased(tenant)
        if not leased:
            return False
        progress_s = time.monotonic()
        while leased:
            now_s = time.monotonic()
            if now_s >= end_s or now_s - progress_s >= MAX_WAIT_FOR_OTHERS_S:
                return False
            time.sleep(POLL_S)
            before = leased
            leased = self._count_leased(tenant)
            if leased != before:
                progress_s = now_s
        return True

    def _count_leased(self, tenant: str) -> int:
        with self.store.reading(tenant) as rows:
            return rows.count_leased(tenant, CONSUMER, self.clock.now())

    def _postpone_all(self, jobs: Sequence[Job], error: EmbedderDown) -> None:
        """Let jobs wait for the embedder."""
        # It is no fault if the program ends; the next one goes on.
        level = logging.WARNING if main_thread().is_alive() else logging.DEBUG
        log.log(level, "nothing embedded: %s", error)
        for job in jobs:
            held = job._replace(attempts=min(job.attempts, MAX_TRIES_WHILE_DOWN))
            with self.store.writing(job.tenant) as rows:
                rows.postpone_job(held, self.clock.now(), error.message, MAX_TRIES)

    def _attempt(self, jobs: list[Job], end_s: float | None) -> int:
        """Do the jobs together; if that fails, each by itself.

        So a bad text stops no other. Returns how many jobs were done.
        """
        try:
            return self._embed(jobs, end_s)
        except Exception as error:
            if not self._is_fault_of_texts(error):
                raise
            if len(jobs) > 1:
                return sum(self._attempt([job], end_s) for job in jobs)
            job = jobs[0]
            # The text of the error may hold the text that it is about.
            log.warning("embedding of %s failed with %s", job.stream, type(error).__name__)
            reason = f"{type(error).__name__}: {error}"
            with self.store.writing(job.tenant) as rows:
                rows.postpone_job(job, self.clock.now(), reason, MAX_TRIES)
            return 0

    def _is_fault_of_texts(self, error: Exception) -> bool:
        """Whether a text is to blame. If none is, no job may be given up."""
        if not isinstance(error, EmbedderDown):
            return not isinstance(error, DiskFull | Unavailable)
        if not self.embedder.wait(0.0):
            return False
        # If even this text fails, the embedder is down, and that error is raised.
        self.embedder.embed(["ready"])
        return True

    def _embed(self, jobs: Sequence[Job], end_s: float | None) -> int:
        """Make and store vectors until the time is over; returns how many jobs were done."""
        jobs_of_tenants: dict[str, list[Job]] = defaultdict(list)
        for job in jobs:
            jobs_of_tenants[job.tenant].append(job)
        due: dict[Job, dict[PassageRef, str]] = {}
        vectors: dict[str, StoredVector] = {}
        missing: dict[str, None] = {}
        for tenant, jobs_of_tenant in jobs_of_tenants.items():
            self._look_up(tenant, jobs_of_tenant, due, vectors, missing)
        self._make_vectors(list(missing), vectors, end_s)
        done = 0
        for tenant, jobs_of_tenant in jobs_of_tenants.items():
            for start in range(0, len(jobs_of_tenant), JOBS_PER_WRITE):
                some_jobs = jobs_of_tenant[start : start + JOBS_PER_WRITE]
                done_streams = self._store(tenant, some_jobs, due, vectors)
                self.follow_up(self.store, tenant, done_streams)
                done += len(done_streams)
        return done

    def _look_up(
        self,
        tenant: str,
        jobs: Sequence[Job],
        due: dict[Job, dict[PassageRef, str]],
        vectors: dict[str, StoredVector],
        missing: dict[str, None],
    ) -> None:
        """Find the passages that need a vector, and the vectors that are there already."""
        model = self.embedder.id
        digests: dict[str, bytes] = {}
        with self.store.reading(tenant) as rows:
            found = rows.unembedded_of(tenant, {job.stream for job in jobs}, model)
            for job in jobs:
                due[job] = {}
                for ref, text, known_digest in found.get(job.stream, ()):
                    digest = text_digest(text)
                    if known_digest != digest:
                        due[job][ref] = text
                        digests[text] = digest
            known = rows.vectors_by_digest(tenant, set(digests.values()), model)
        for text, digest in digests.items():
            # Where the tenant has the same text elsewhere, its vector is there already.
            if digest in known:
                vectors[text] = known[digest]
            else:
                missing[text] = None

    def _make_vectors(
        self, texts: Sequence[str], vectors: dict[str, StoredVector], end_s: float | None
    ) -> None:
        """Make vectors of the texts in their order: of some at least, until the time is over."""
        size = MAX_TEXTS_AT_ONCE if end_s is None else MAX_TEXTS_BETWEEN_LOOKS
        for start in range(0, len(texts), size):
            part = texts[start : start + size]
            with step("embed", texts=len(part), model=self.embedder.id):
                made = self.embedder.embed(part)
            for text, vector in zip(part, made, strict=True):
                vectors[text] = None if vector is None else self.stored_form(vector)
            if end_s is not None and time.monotonic() >= end_s:
                return

    def _store(
        self,
        tenant: str,
        jobs: Sequence[Job],
        due: dict[Job, dict[PassageRef, str]],
        vectors: dict[str, StoredVector],
    ) -> list[str]:
        """Store what was made; returns the streams whose job is done.

        A job for which the time was too short keeps its vectors and is due again.
        """
        model = self.embedder.id
        done = []
        new: dict[PassageRef, NewVector] = {}
        # Before the write: nobody should wait for a lock meanwhile.
        digests = {text: text_digest(text) for job in jobs for text in due[job].values()}
        with self.store.writing(tenant) as rows:
            found = rows.unembedded_of(tenant, {job.stream for job in jobs}, model)
            for job in jobs:
                present = {passage.ref: passage for passage in found.get(job.stream, ())}
                for ref, text in due[job].items():
                    # A text that has changed meanwhile has a job of its own, whose vector must not
                    # be overwritten.
                    if text not in vectors or ref not in present or present[ref].text != text:
                        continue
                    vector = vectors[text]
                    if vector is not None and present[ref].digest is None:
                        new[ref] = NewVector(ref, digests[text], vector)
                    else:
                        rows.put_vector(ref, model, digests[text], vector)
                if all(text in vectors for text in due[job].values()):
                    done.append(job)
                else:
                    rows.release_job(job)
            rows.put_new_vectors(model, new.values())
            rows.finish_jobs(done)
        return [job.stream for job in done]
