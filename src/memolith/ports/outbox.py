"""Work that follows from events and is done later."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Job(NamedTuple):
    """A piece of derived work, leased from the outbox."""

    tenant: str
    seq: int
    consumer: str
    stream: str
    attempts: int


class Outbox(Protocol):
    """Reads how much derived work waits."""

    def outbox_counts(self, tenant: str | None = None) -> dict[tuple[str, str], int]:
        """How many jobs there are, by consumer and `pending`, `processed` or `failed`."""
        ...

    def count_waiting(self, tenant: str | None, consumer: str, most: int = 1000) -> int:
        """How many jobs are not done yet; counting stops at `most`."""
        ...

    def count_due(self, consumer: str, now: str, most: int) -> int:
        """How many jobs of all tenants a worker could lease now; counting stops at `most`.

        Those that were given up, that wait for another try or that somebody works on do not count.
        """
        ...

    def count_leased(self, tenant: str, consumer: str, now: str) -> int:
        """How many jobs of a tenant somebody works on; leases that have ended do not count."""
        ...

    def outbox_errors(self) -> list[str]:
        """Why jobs were given up, newest first."""
        ...


class OutboxWriter(Protocol):
    """Leases derived work and settles it."""

    def queue(self, consumer: str, stream: str, seq: int) -> None:
        """Add a job for an item or link. It is due at once."""
        ...

    def lease_jobs(
        self, consumer: str, now: str, limit: int, lease_s: int, tenant: str | None = None
    ) -> list[Job]:
        """Take jobs that are due, newest first and in turns between tenants.

        A job that is neither finished nor postponed is due again when its lease ends.
        """
        ...

    def finish_job(self, job: Job) -> None:
        """Remove a job that is done, and count it."""
        ...

    def finish_jobs(self, jobs: Sequence[Job]) -> None:
        """The same for several jobs of the tenant."""
        ...

    def release_job(self, job: Job) -> None:
        """Give back a job that was not done for lack of time. It is due at once."""
        ...

    def postpone_job(self, job: Job, now: str, error: str, tries: int) -> None:
        """Put a failed job back with a growing pause, or give it up after so many tries."""
        ...

    def retry_failed(self, consumer: str, now: str) -> None:
        """Make the jobs that were given up due again."""
        ...
