"""Where everything is kept: the ports of a store, put together."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from memolith.ports.answers import Answers, AnswersWriter
from memolith.ports.event_log import EventLog, EventLogWriter
from memolith.ports.items import ItemRows, ItemRowsWriter
from memolith.ports.links import LinkRows
from memolith.ports.outbox import Outbox, OutboxWriter
from memolith.ports.records import Records, RecordsWriter
from memolith.ports.text_index import TextIndex
from memolith.ports.usage import UsageRows, UsageRowsWriter
from memolith.ports.vector_rows import VectorRows, VectorRowsWriter


class Reader(
    EventLog,
    ItemRows,
    LinkRows,
    TextIndex,
    VectorRows,
    Outbox,
    Records,
    Answers,
    UsageRows,
    Protocol,
):
    """Reads that all see the same moment."""


class Writer(
    Reader,
    EventLogWriter,
    ItemRowsWriter,
    VectorRowsWriter,
    OutboxWriter,
    RecordsWriter,
    AnswersWriter,
    UsageRowsWriter,
    Protocol,
):
    """Reads and writes of one tenant that happen together or not at all."""

    def batch(self) -> AbstractContextManager[None]:
        """Add the rows of the block together, which takes less time than one after the other.

        Everything that is read in the block sees them. If the block raises, some are not added:
        take back the transaction, or the savepoint around the block.
        """
        ...

    def savepoint(self) -> AbstractContextManager[None]:
        """If the block raises, what was written in it is taken back, and nothing else."""
        ...


class Store(Protocol):
    """Where everything is kept, by tenant. The tenant None means all of them, for maintenance."""

    name: str

    def reading(self, tenant: str | None) -> AbstractContextManager[Reader]:
        """Reads of one tenant that all see the same moment."""
        ...

    def writing(
        self, tenant: str | None, wait_s: float | None = None
    ) -> AbstractContextManager[Writer]:
        """Reads and writes in one transaction, which is durable when the block ends.

        Another writer of the tenant is waited for, at most `wait_s` seconds.
        """
        ...

    def rebuilding(self) -> AbstractContextManager[Callable[[str], Writer]]:
        """Empty the rows that follow from the log, and let them be written anew.

        You get a function that returns the writer of a tenant. All is one transaction.
        """
        ...

    def shred(self) -> bool:
        """Overwrite what was erased; False if something held it back."""
        ...

    def sizes(self) -> dict[str, int]:
        """How many bytes each file of the store, or the whole database, takes."""
        ...

    def check(self) -> list[str]:
        """What the database itself finds wrong with its files."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...
