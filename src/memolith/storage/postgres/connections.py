"""The pool of connections to one PostgreSQL database.

docs/why/libraries.md tells why this is not psycopg_pool.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.rows import namedtuple_row

from memolith.errors import InvalidInput, StoreBusy
from memolith.storage.postgres.error_translation import translated_errors
from memolith.storage.postgres.statements import (
    QUERIES,
    QUERIES_OF_DISTRIBUTED,
    Connection,
    NoAnswer,
)

CONNECT_TIMEOUT_S = 5
PREPARE_AFTER = 5
"""How often a statement is run on a connection before the driver prepares it."""


class Connections:
    """At most so many connections at once. Idle ones are kept for the next user."""

    def __init__(self, url: str, most: int, busy_s: float, behind_pooler: bool) -> None:
        self.url = url
        self._busy_s = busy_s
        self.behind_pooler: bool | None = behind_pooler or None
        """Whether a pooler stands before the server; None until the first connection."""
        self.is_distributed = False
        """Whether the tables are distributed, which a store learns when it is opened."""
        self._permits = threading.BoundedSemaphore(most)
        self._idle: list[Connection] = []
        self._is_closed = False

    @contextmanager
    def borrow(
        self, first_statement: bytes = b"", limit_s: float | None = None
    ) -> Iterator[Connection]:
        """A connection that has carried out a first statement, such as the begin of a transaction.

        Each later statement may take `limit_s` seconds; None: any time. A transaction that is
        still open when the block ends is rolled back.
        """
        if not self._permits.acquire(timeout=self._busy_s):
            raise StoreBusy("All connections to the database are in use; try again.")
        with translated_errors(), ExitStack() as cleanup:
            cleanup.callback(self._permits.release)
            if first_statement and self.is_distributed:
                first_statement += b";\n" + QUERIES_OF_DISTRIBUTED["share_settings"].encode()
            db = self._begun(first_statement)
            cleanup.callback(self._give_back, db)
            db.limit_s = limit_s
            db.is_distributed = self.is_distributed
            yield db

    def _begun(self, first_statement: bytes) -> Connection:
        """An idle connection that still answers, or a new one.

        The first statement is the test: it costs no round trip of its own.
        """
        while True:
            try:
                db = self._idle.pop()
            except IndexError:
                break
            try:
                db.execute(first_statement)
                return db
            except NoAnswer:
                # The others are connected to the same server, and would take as long each.
                self._close_idle()
                raise
            except psycopg.OperationalError:
                # The server was restarted, or a firewall has cut the connection.
                db.close()
            except psycopg.Error:
                db.close()
                raise
        db = self._connect()
        try:
            db.execute(first_statement)
        except psycopg.Error:
            db.close()
            raise
        return db

    def _connect(self) -> Connection:
        db = self._connected()
        db.limit_s = self._busy_s
        if self.behind_pooler is None:
            self.behind_pooler = self._is_behind_pooler(db)
        if not self.behind_pooler:
            # In transaction mode, a pooler such as PgBouncer may give each transaction another
            # connection of its own, which does not know what was prepared.
            db.prepare_threshold = PREPARE_AFTER
        return db

    def _is_behind_pooler(self, db: Connection) -> bool:
        """Whether the server has another process than it is said to have.

        A pooler makes up the number that it tells a client.
        """
        try:
            (row,) = db.execute(QUERIES["server_process"]).fetchall()
        except psycopg.Error:
            db.close()
            raise
        return bool(row.pid != db.info.backend_pid)

    def _connected(self) -> Connection:
        try:
            return Connection.connect(
                self.url,
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=CONNECT_TIMEOUT_S,
                application_name="memolith",
                row_factory=namedtuple_row,
            )
        except psycopg.ProgrammingError as error:
            raise InvalidInput(
                "This is not an address of PostgreSQL; write "
                "postgresql://USER:PASSWORD@HOST/DATABASE.",
                field="database",
            ) from error

    def _give_back(self, db: Connection) -> None:
        db.limit_s = self._busy_s
        # A connection that cannot even roll back is closed, and the server rolls back by itself.
        with suppress(psycopg.Error):
            if db.info.transaction_status != TransactionStatus.IDLE:
                db.execute(QUERIES["rollback"])
        db.end_streams()
        is_idle = db.info.transaction_status == TransactionStatus.IDLE
        if self._is_closed or db.is_spoiled or not is_idle:
            db.close()
        else:
            self._idle.append(db)

    def close(self) -> None:
        self._is_closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        # Other threads take from the list as well.
        with suppress(IndexError):
            while True:
                self._idle.pop().close()


@lru_cache(2000)
def transaction_start(
    tenant: str | None, writes: bool, statement_timeout: str, lock_timeout: str
) -> bytes:
    """The statements that begin a transaction of a tenant, or of all of them (None).

    The server takes no parameters where several statements come in one round trip, so the values
    are put in here, quoted by the driver.
    """
    begin = QUERIES["begin_writing" if writes else "begin_reading"]
    text = f"{begin};\n{QUERIES['set_up_transaction']}"
    values = {
        "statement_timeout": statement_timeout,
        "lock_timeout": lock_timeout,
        "all_tenants": "on" if tenant is None else "off",
        # Last, so that no part of a tenant's name is taken for a parameter.
        "tenant": tenant or "",
    }
    for name, value in values.items():
        text = text.replace(f"%({name})s", sql.Literal(value).as_string(None))
    return text.encode()
