"""The PostgreSQL store: one database, many servers, a fence around every tenant."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

import psycopg
from psycopg import sql

from memolith.errors import InvalidInput, MemolithError, OutcomeUnknown, StoreBusy
from memolith.storage.postgres_faults import translated
from memolith.storage.postgres_migrate import migrate
from memolith.storage.postgres_read import QUERIES, Connection, PostgresReader
from memolith.storage.postgres_write import PostgresWriter
from memolith.storage.store import SqlStore

CONNECT_S = 5
LOOK_S = 1.0


class PostgresStore(SqlStore):
    """All that is remembered, in one database."""

    name, reader, writer = "postgres", PostgresReader, PostgresWriter

    def __init__(self, url: str, connections: int = 10, busy_s: float = 20.0, statement_s: float = 60.0,
                 pooled: bool = False) -> None:
        super().__init__(busy_s)
        self.url = url
        self._timeout = f"{int(statement_s * 1000)}ms"
        self._prepare = None if pooled else 5
        self._free = threading.BoundedSemaphore(connections)
        with self.owning() as db:
            migrate(db)

    @contextmanager
    def owning(self) -> Iterator[Connection]:
        """A connection with the rights of who logged in, for work on tables and indexes."""
        with translated(), self._connection() as db:
            yield db

    def shred(self) -> bool:
        """Give the pages of what was erased free; False if this role may not."""
        with suppress(MemolithError), self.owning() as db:
            notices: list[str] = []
            db.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
            db.execute(QUERIES["clean"])
            return not notices
        return False

    def compact(self) -> None:
        """Let what was erased be overwritten; PostgreSQL does the rest by itself."""
        self.shred()

    def check(self) -> list[str]:
        """What is wrong with the database as such; it watches over its own files."""
        with self.reading(None):
            return []

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        """Not here: the server has better means."""
        raise InvalidInput(f"A PostgreSQL database is backed up with pg_dump -Fc -f {target.name}.", field="file")

    def sizes(self) -> dict[str, int]:
        """Bytes of the whole database."""
        with self.reading(None) as rows:
            return {"database": (rows.row("size") or (0,))[0]}

    def listen(self, heard: Callable[[], None], stopping: threading.Event) -> None:
        """Hear on a connection of its own what other servers tell; a lost hint costs a second, as caches also look."""
        with self.owning() as db:
            db.execute(QUERIES["listen"])
            # What was told while nobody listened is not known here.
            heard()
            while not stopping.is_set():
                for _ in db.notifies(timeout=LOOK_S):
                    heard()
            db.close()

    def take_calls(self, key: str, minute: int, amount: int) -> int:
        """Take so many calls of this minute; returns how many all servers took together."""
        with self.writing(None) as rows:
            found = rows.row("allowance_take", tenant="", key=key, minute=minute, amount=amount)
            rows.do("allowance_old", minute=minute - 1)
        assert found is not None
        return int(found[0])

    @contextmanager
    def transaction(self, tenant: str | None, writes: bool, wait_s: float) -> Iterator[Connection]:
        """As every store; where the commit breaks off, nobody knows whether it was done."""
        text = beginning(writes, self._timeout, f"{max(1, int(wait_s * 1000))}ms", tenant)
        with translated(), self._connection(text) as db:
            whole = False
            try:
                yield db
                whole = True
            finally:
                if not whole:
                    # A connection that cannot even do this is thrown away, and the server rolls back by itself.
                    with suppress(psycopg.Error):
                        db.execute("rollback")
            try:
                db.execute("commit")
            except psycopg.OperationalError as error:
                if writes:
                    raise OutcomeUnknown from error

    @contextmanager
    def _connection(self, first: bytes | None = None) -> Iterator[Connection]:
        """A connection that has carried out the first statement; one that died while it was idle is replaced."""
        if not self._free.acquire(timeout=self._busy_s):
            raise StoreBusy("All connections to the database are in use; try again.")
        try:
            db = self._begun(first)
            try:
                yield db
            finally:
                if db.closed or self._closed or db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    db.close()
                else:
                    self._idle.append(db)
        finally:
            self._free.release()

    def _begun(self, first: bytes | None) -> Connection:
        db: Connection
        while True:
            try:
                db, fresh = self._idle.pop(), False
            except IndexError:
                db, fresh = self._connect(), True
            try:
                if first is not None:
                    db.execute(first)
                return db
            except psycopg.OperationalError:
                db.close()
                if fresh:
                    raise

    def _connect(self) -> Connection:
        try:
            return psycopg.connect(self.url, autocommit=True, prepare_threshold=self._prepare,
                                   connect_timeout=CONNECT_S, application_name="memolith")
        except psycopg.ProgrammingError as error:
            raise InvalidInput("This is not an address of PostgreSQL; write postgresql://USER:PASSWORD@HOST/DATABASE.",
                               field="database") from error


@lru_cache(2000)
def beginning(writes: bool, timeout: str, wait: str, tenant: str | None) -> bytes:
    """What begins a transaction of a tenant, or of all of them."""
    text = sql.SQL(QUERIES["begin_writing" if writes else "begin_reading"])
    return text.format(timeout=timeout, wait=wait, tenant=tenant or "",
                       all="on" if tenant is None else "off").as_bytes(None)
