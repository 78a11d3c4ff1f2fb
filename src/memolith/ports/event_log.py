"""The log of events."""

from collections.abc import Iterator
from typing import Protocol

from memolith.domain.events import Changes, Data, Event
from memolith.domain.items import Item

NO_LIMIT = 2**63 - 1
"""The largest limit that SQL accepts."""


class EventLog(Protocol):
    """Reads the log of events. Everything else in a store can be rebuilt from it."""

    def database(self) -> str:
        """The random id of this database, which no other database has."""
        ...

    def tenants(self) -> list[str]:
        """Every tenant that has events, oldest first."""
        ...

    def last_seq(self, tenant: str) -> int:
        """The sequence number of the tenant's newest event; 0 if there is none."""
        ...

    def event_by_seq(self, tenant: str, seq: int) -> Event | None:
        """The event with this sequence number."""
        ...

    def event_by_key(self, tenant: str, actor: str, key: str) -> Event | None:
        """The event that this actor wrote under this idempotency key."""
        ...

    def events(self, tenant: str, stream: str) -> list[Event]:
        """The history of one item or link, oldest first."""
        ...

    def events_after(self, tenant: str, seq: int, limit: int = NO_LIMIT) -> Iterator[Event]:
        """The events with a higher sequence number, in order."""
        ...

    def streams(self, tenant: str, after: str = "") -> list[str]:
        """The ids of all items and links that have an event later than this time, sorted."""
        ...


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
    ) -> Event:
        """An event with the next sequence number, not yet written.

        Its time is never earlier than that of the event before it.
        """
        ...

    def append(self, event: Event, changes: Changes) -> None:
        """Write the event, apply its row changes and queue the work that follows from it."""
        ...

    def apply(self, changes: Changes) -> None:
        """Change the rows as one event says, without writing the event."""
        ...

    def index_again(self, item: Item) -> None:
        """Write what the text index has of an item anew. Call `write_totals` after it."""
        ...

    def write_totals(self) -> None:
        """Write the tenant's totals. Call it after `apply`; `append` does so itself."""
        ...
