"""The PostgreSQL store: many servers on one database or on several."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg

from memolith.engine.progress import Progress
from memolith.engine.stale_reads import StaleReads, permitted_stale_reads
from memolith.errors import (
    InvalidInput,
    MemolithError,
    OutcomeUnknown,
    TenantMoving,
    Unavailable,
)
from memolith.storage.postgres import rate_limit
from memolith.storage.postgres.connections import Connections, transaction_start
from memolith.storage.postgres.distribution import distribute
from memolith.storage.postgres.reader import PostgresReader
from memolith.storage.postgres.replicas import REPLICA_WAIT_S, Replicas
from memolith.storage.postgres.schema import migrate
from memolith.storage.postgres.statements import QUERIES, Connection, PostgresStatements
from memolith.storage.postgres.tenant_homes import TenantHomes
from memolith.storage.postgres.tenant_move import TenantMove, purge_tenant
from memolith.storage.postgres.writer import PostgresWriter
from memolith.storage.tenant_facts import TenantFacts
from memolith.storage.terms import TERMS_VERSION

ANSWER_GRACE_S = 5.0
"""How much longer than the limit for a statement to wait for a server that should have ended it."""

LISTEN_TIMEOUT_S = 1.0
"""How often a listener looks whether it should stop."""

__all__ = ["PostgresStore", "migrate"]


class PostgresStore:
    """All that is remembered, in one database.

    A store that leads also knows which tenants live in other databases, and reads and writes them
    there. Row-level security keeps a transaction to the rows of its tenant.
    """

    name = "postgres"

    def __init__(
        self,
        url: str,
        connections: int = 10,
        busy_s: float = 20.0,
        statement_s: float = 60.0,
        pooled: bool = False,
        leads: bool = False,
        replicas: Sequence[str] = (),
        max_stale_s: float = 60.0,
    ) -> None:
        """Reads of callers who permit it are served by replicas, at most `max_stale_s` old."""
        self.url = url
        self._busy_s = busy_s
        self._statement_timeout = f"{int(statement_s * 1000)}ms"
        self._answer_s = statement_s + ANSWER_GRACE_S
        self._leads = leads
        self._connections = Connections(url, connections, busy_s, pooled)
        wait_s = min(busy_s, REPLICA_WAIT_S)
        self._replicas = Replicas(
            [Connections(other, connections, wait_s, pooled) for other in replicas], max_stale_s
        )
        self._facts = TenantFacts()
        self._homes = TenantHomes(
            self._read_homes,
            lambda other: PostgresStore(other, connections, busy_s, statement_s, pooled),
        )
        with ExitStack() as on_failure:
            # A store that cannot be opened leaves no connection open.
            on_failure.callback(self._connections.close)
            with self.owning() as db:
                self._connections.is_distributed = migrate(db)
            self._renew_text_index()
            on_failure.pop_all()

    def _renew_text_index(self) -> None:
        """Once after an update of the program, bring the text index up to its terms."""
        with self.reading(None) as rows:
            versions = rows.statements.row("versions")
            assert versions is not None, "the statement always has one row"
            if rows.terms_version() == TERMS_VERSION or versions.replica:
                return
        with self.writing(None) as writer:
            writer.statements.do("lock_migrations")
            writer.renew_text_index()

    # Transactions

    @contextmanager
    def reading(self, tenant: str | None) -> Iterator[PostgresReader]:
        """Reads of one tenant that all see the same moment; None reads across tenants.

        Where the caller permits stale reads, a replica serves them, and the primary if none can.
        """
        stale = permitted_stale_reads() if self._replicas else None
        with ExitStack() as stack:
            if stale is None or self.home(tenant) is not None:
                db = stack.enter_context(self._reading_now(tenant))
            else:
                db = self._begin_stale_reading(stack, tenant, stale)
            yield PostgresReader(PostgresStatements(db), tenant, self._facts)

    def _reading_now(self, tenant: str | None) -> AbstractContextManager[Connection]:
        return self._transaction(tenant, writes=False, wait_s=self._busy_s)

    def _begin_stale_reading(
        self, stack: ExitStack, tenant: str | None, stale: StaleReads
    ) -> Connection:
        start = self._start_of(tenant, writes=False, wait_s=self._busy_s)
        db = self._replicas.enter(stack, start, self._answer_s, stale)
        if db is not None:
            return db
        try:
            return stack.enter_context(self._reading_now(tenant))
        except Unavailable:
            db = self._replicas.enter(stack, start, self._answer_s, stale, resting=True)
            if db is None:
                raise
            return db

    @contextmanager
    def writing(self, tenant: str | None, wait_s: float | None = None) -> Iterator[PostgresWriter]:
        """Writes of one tenant where it lives; if it has just moved, in its new home."""
        with ExitStack() as stack:
            try:
                rows = stack.enter_context(self._writing_at_home(tenant, wait_s))
            except TenantMoving:
                self.forget()
                self._thaw_if_abandoned(tenant)
                rows = stack.enter_context(self._writing_at_home(tenant, wait_s))
            yield rows

    @contextmanager
    def _writing_at_home(
        self, tenant: str | None, wait_s: float | None
    ) -> Iterator[PostgresWriter]:
        wait = self._busy_s if wait_s is None else min(wait_s, self._busy_s)
        with self._transaction(tenant, writes=True, wait_s=wait) as db:
            yield PostgresWriter(PostgresStatements(db), tenant)

    @contextmanager
    def rebuilding(self) -> Iterator[Callable[[str], PostgresWriter]]:
        """Empty the rows that follow from the log, to be written anew in one transaction."""
        with self.writing(None) as rows:
            rows.empty_rebuilt_tables()
            yield rows.begin
            rows.copy_all_accesses_to_items()

    @contextmanager
    def _transaction(self, tenant: str | None, writes: bool, wait_s: float) -> Iterator[Connection]:
        """A connection in a transaction, in the database that the tenant lives in."""
        start = self._start_of(tenant, writes, wait_s)
        store = self.home(tenant) or self
        with store.owning(start, self._answer_s) as db:
            yield db
            db.has_warned = False
            try:
                db.execute(QUERIES["commit"])
            except psycopg.OperationalError as error:
                # The connection broke off, so nobody knows whether the commit was done.
                if writes:
                    raise OutcomeUnknown from error
            if writes and db.has_warned:
                # It is done there, but somebody ended the wait for a replica: after a failover it
                # may be gone.
                raise OutcomeUnknown(
                    "No second database server has confirmed the write; look for it, or repeat it "
                    "with its key."
                )

    def _start_of(self, tenant: str | None, writes: bool, wait_s: float) -> bytes:
        lock_timeout = f"{max(1, int(wait_s * 1000))}ms"
        return transaction_start(tenant, writes, self._statement_timeout, lock_timeout)

    @contextmanager
    def owning(
        self, first_statement: bytes = b"", limit_s: float | None = None
    ) -> Iterator[Connection]:
        """A connection with the rights of the user who logged in.

        Each statement may take `limit_s` seconds; None: any time.
        """
        with self._connections.borrow(first_statement, limit_s) as db:
            yield db

    # Maintenance

    def shred(self) -> bool:
        """Let the space of what was erased be overwritten; False if this role may not."""
        with suppress(MemolithError), self.owning() as db:
            notices: list[str] = []
            db.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
            db.execute(QUERIES["vacuum"])
            return not notices
        return False

    def compact(self) -> None:
        """Let what was erased be overwritten; PostgreSQL does the rest by itself."""
        self.shred()

    def check(self) -> list[str]:
        """No problems if the database answers; the server watches over its own files."""
        with self.reading(None):
            return []

    def backup(self, target: Path, progress: Progress | None = None) -> None:
        """Not possible from here: the server has better means."""
        raise InvalidInput(
            f"A PostgreSQL database is backed up with pg_dump -Fc -f {target.name}.", field="file"
        )

    def sizes(self) -> dict[str, int]:
        """The bytes of the database."""
        with self.reading(None) as rows:
            row = rows.statements.row("database_size")
            return {"database": row.bytes if row else 0}

    def take_calls(self, key: str, minute: int, amount: int) -> int:
        """Take calls of a key in a minute; returns how many all servers together have taken."""
        with self.writing(None) as rows:
            return rate_limit.take_calls(rows, key, minute, amount)

    @property
    def is_behind_pooler(self) -> bool:
        """Whether transactions may use different connections, so that nobody can listen."""
        return bool(self._connections.behind_pooler)

    def beat(self) -> None:
        """Commit a transaction that changes nothing, so that replicas know how old they are."""
        with self.writing(None) as rows:
            rows.statements.do("heartbeat")

    def close(self) -> None:
        self._connections.close()
        self._replicas.close()
        self._homes.close()

    # Tenants in other databases

    def home(self, tenant: str | None) -> "PostgresStore | None":
        """The store of the other database that a tenant lives in."""
        if tenant is None or not self._leads:
            return None
        return self._homes.store_of(tenant)

    def homes(self) -> dict[str, str]:
        """The addresses of other databases by the tenants that live there."""
        return self._homes.urls() if self._leads else {}

    def elsewhere(self) -> Iterator["PostgresStore"]:
        """The stores of the other databases in which tenants live."""
        return self._homes.stores() if self._leads else iter(())

    def store_at(self, url: str) -> "PostgresStore":
        """The store of another database, opened when first needed."""
        return self._homes.store_at(url)

    def plain_store(self, url: str) -> "PostgresStore":
        """A new store of a database that does not look for tenants elsewhere."""
        return PostgresStore(url)

    def forget(self) -> None:
        """Read the map of tenants again with the next call, because it has changed."""
        self._homes.forget()

    def _read_homes(self) -> dict[str, str]:
        with self.reading(None) as rows:
            return {row.tenant: row.url for row in rows.statements.rows("homes")}

    def listen(self, heard: Callable[[], None], stopping: threading.Event) -> None:
        """Call `heard` whenever another server has moved a tenant, until stopped.

        It has a connection of its own. If a hint is lost, the map is old for a second at most.
        """
        with self.owning() as db:
            db.execute(QUERIES["listen"])
            # What was told while nobody listened is not known here.
            heard()
            while not stopping.is_set():
                for _ in db.notifies(timeout=LISTEN_TIMEOUT_S):
                    heard()
            db.close()

    def move(
        self,
        tenant: str,
        url: str,
        embed: Callable[["PostgresStore"], object],
        progress: Progress | None = None,
    ) -> int:
        """Move a tenant to another database; returns how many events it had."""
        return TenantMove(self, tenant, url, embed, progress).run()

    def _thaw_if_abandoned(self, tenant: str | None) -> None:
        """Let a tenant write again whose move was killed before its new home was noted.

        Who moves a tenant holds a lock until the map is written. So if the lock is free, the home
        that the map names is where the tenant lives, and it is frozen there for nothing.
        """
        if tenant is None or not self._leads:
            return
        with self.writing(None) as lock:
            if lock.lock_tenant_move(tenant):
                self.forget()
                home = self.home(tenant)
                if home is None:
                    lock.set_frozen(tenant, False)
                else:
                    home.freeze(tenant, False)

    def analyze(self) -> None:
        """Let the planner know what the tables hold now, as far as this role may."""
        with self.owning() as db:
            db.execute(QUERIES["analyze"])

    def distribute(self) -> list[str]:
        """Distribute the tables over the servers of a Citus cluster; returns what is left to do."""
        with self.owning() as db:
            left = distribute(db)
        self._connections.is_distributed = True
        return left

    def freeze(self, tenant: str, frozen: bool) -> None:
        """Refuse a tenant's writes in this database, or let them in again."""
        with self.writing(None) as rows:
            rows.set_frozen(tenant, frozen)

    def purge(self, tenant: str, url: str) -> None:
        """Remove what is left of a tenant in a database that it has moved away from."""
        purge_tenant(self, tenant, url)
