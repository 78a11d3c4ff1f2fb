"""Where everything is kept: the ports of a store, put together."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from memolith.ports.event_log import EventLog, EventLogWriter
from memolith.ports.items import ItemRows, ItemRowsWriter
from memolith.ports.links import LinkRows
from memolith.ports.outbox import Outbox, OutboxWriter
from memolith.ports.records import Records, RecordsWriter
from memolith.ports.text_index import TextIndex
from memolith.ports.vector_rows import VectorRows, VectorRowsWriter


class Reader(EventLog, ItemRows, LinkRows, TextIndex, VectorRows, Outbox, Records, Protocol):
    """Reads that all see the same moment."""


class Writer(
    Reader,
    EventLogWriter,
    ItemRowsWriter,
    VectorRowsWriter,
    OutboxWriter,
    RecordsWriter,
    Protocol,
):
    """Reads and writes of one tenant that happen wholly or not at all."""


class Store(Protocol):
    """Where everything is kept, by tenant; None stands for all tenants, which only upkeep uses."""

    name: str

    def reading(self, tenant: str | None) -> AbstractContextManager[Reader]: ...
    def writing(
        self, tenant: str | None, wait_s: float | None = None
    ) -> AbstractContextManager[Writer]: ...
    def rebuilding(self) -> AbstractContextManager[Callable[[str], Writer]]: ...
    def shred(self) -> bool: ...
    def check(self) -> list[str]: ...
    def close(self) -> None: ...
