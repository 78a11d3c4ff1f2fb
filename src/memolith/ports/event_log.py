"""The log of events."""

from collections.abc import Collection, Iterator
from typing import NamedTuple, Protocol

from memolith.domain.callers import Caller
from memolith.domain.events import Changes, Data, Event, EventFilter, EventHead
from memolith.domain.items import Item

NO_LIMIT = 2**63 - 1
"""The largest limit that SQL accepts."""


class StreamsWanted(NamedTuple):
    """Which streams a list shows."""

    folder: str
    """How their names begin; it ends with a slash."""
    after: int = 0
    """Only events with a higher sequence number count."""
    before: int = NO_LIMIT
    """Only events with a lower sequence number count."""
    actor: str | None = None
    """Only events that this user caused count."""
    projects: tuple[str, ...] = ()
    """Only events in one of these projects or in none count; empty for all."""


class StreamPage(NamedTuple):
    """The names of some streams, and how many there are in all."""

    streams: list[str]
    total: int


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

    def list_events(self, caller: Caller, chosen: EventFilter, limit: int) -> list[EventHead]:
        """The newest of the events that the caller may see and the filter keeps.

        An event of a link is seen by those who see both ends. What happened to something that
        has no row (it was erased, or is a setting or a secret) is seen by an admin and by whoever
        made it, unless they are kept to some projects.
        """
        ...

    def last_seq_at(self, tenant: str, at: str) -> int:
        """The sequence number of the last event up to this time; 0 if there is none."""
        ...

    def count_events_by_actor(self, caller: Caller, after: int) -> dict[str, int]:
        """How many events with a higher number each actor caused, as far as the caller sees them.

        What is computed does not count.
        """
        ...

    def newest_versions(self, tenant: str, streams: Collection[str]) -> dict[str, int]:
        """The version of the last event of each item or link that somebody caused."""
        ...

    def present_streams(self, tenant: str, streams: Collection[str]) -> set[str]:
        """Which of these streams have events, also those of what was erased."""
        ...

    def list_streams(
        self, tenant: str, wanted: StreamsWanted, limit: int, offset: int
    ) -> StreamPage:
        """The streams of a folder that have events in a stretch of the log, the newest first."""
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
