"""Who has read which item, and which programs have called: no events, but counts that are kept."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from memolith.domain.callers import Caller

MAX_COUNTED_READS = 10_000
"""How far the reads of a list are counted; a list that is longer has this total."""


class ItemRead(NamedTuple):
    """How often, and when last, a user read an item through a tool."""

    item: str
    reader: str
    tool: str
    times: int
    last: str


class TitledRead(NamedTuple):
    """The same, with the title of the item."""

    item: str
    title: str
    reader: str
    tool: str
    times: int
    last: str


class ReadsWanted(NamedTuple):
    """Which reads a list shows; None leaves a field open."""

    item: str | None = None
    reader: str | None = None
    since: str | None = None
    of_everybody: bool = False
    """Whether reads are shown that neither the caller made nor are of an item of the caller."""


class ReadPage(NamedTuple):
    """A stretch of a list of reads, and how many there are in all."""

    reads: tuple[TitledRead, ...]
    total: int


class ClientCalls(NamedTuple):
    """The calls that a program made with a key."""

    key: str
    """The id of the key; empty for a program on this machine that needs none."""
    program: str
    caller: str
    """The user whom the key stood for."""
    calls: int
    errors: int
    first: str
    last: str
    last_error: str
    """The type of the last error; empty if there was none."""


class UsageRows(Protocol):
    """Reads who has read and called."""

    def item_reads(
        self, caller: Caller, wanted: ReadsWanted, limit: int, offset: int = 0
    ) -> ReadPage:
        """The reads of items that the caller may see, the last one first."""
        ...

    def all_item_reads(self, tenant: str) -> list[ItemRead]:
        """Every read of a tenant."""
        ...

    def client_calls(self, tenant: str) -> list[ClientCalls]:
        """The calls of every program of a tenant, the last one first."""
        ...

    def tenants_with_old_usage(self, before: str) -> list[str]:
        """The tenants with reads or calls whose last one is older than this."""
        ...


class UsageRowsWriter(Protocol):
    """Counts reads and calls."""

    def add_item_reads(self, reads: Iterable[ItemRead]) -> None:
        """Add to the counts of reads; an item that is gone is left out."""
        ...

    def add_client_calls(self, calls: Iterable[ClientCalls]) -> None:
        """Add to the counts of calls."""
        ...

    def delete_usage(self, before: str) -> None:
        """Remove the reads and calls of the tenant whose last one is older than this."""
        ...
