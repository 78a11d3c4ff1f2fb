"""The log of events."""

from collections.abc import Iterator
from typing import Protocol

from memolith.domain.events import Changes, Data, Event

NO_LIMIT = 2**63 - 1
"""As large as a limit can be in SQL."""


class EventLog(Protocol):
    """Reads the log of events, which is the truth."""

    def tenants(self) -> list[str]: ...
    def last_seq(self, tenant: str) -> int: ...
    def event(self, tenant: str, **key: str | int) -> Event | None: ...
    def events(self, tenant: str, stream: str) -> list[Event]: ...
    def events_after(self, tenant: str, seq: int, limit: int = NO_LIMIT) -> Iterator[Event]: ...
    def streams(self, tenant: str, after: str = "") -> list[str]: ...


class EventLogWriter(Protocol):
    """Appends to the log of one tenant."""

    tenant: str

    def next_event(
        self,
        stream: str,
        version: int,
        type: str,
        data: Data,
        actor: str,
        at: str,
        key: str | None = None,
    ) -> Event: ...
    def append(self, event: Event, changes: Changes) -> None: ...
    def apply(self, changes: Changes) -> None: ...
    def write_totals(self) -> None: ...
