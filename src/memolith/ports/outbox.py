"""Work that follows from events and is done later."""

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

    def outbox_counts(self, tenant: str | None = None) -> dict[tuple[str, str], int]: ...
    def count_waiting(self, tenant: str | None, consumer: str, most: int = 1000) -> int: ...
    def outbox_errors(self) -> list[str]: ...


class OutboxWriter(Protocol):
    """Leases derived work and settles it."""

    def queue(self, consumer: str, stream: str, seq: int) -> None: ...
    def lease_jobs(
        self, consumer: str, now: str, limit: int, lease_s: int, tenant: str | None = None
    ) -> list[Job]: ...
    def finish_job(self, job: Job) -> None: ...
    def postpone_job(self, job: Job, now: str, error: str, tries: int) -> None: ...
