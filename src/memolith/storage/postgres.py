"""The PostgreSQL store: one database, many servers, a fence around every tenant."""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

import psycopg
from psycopg import errors, sql

from memolith import errors as ours
from memolith.engine.events import Changes, Event
from memolith.engine.model import Item, Passage
from memolith.storage.postgres_read import QUERIES, Connection, PostgresReader, posting
from memolith.storage.queries import TO_SQLITE, Parameters, checksum, migrations, missing
from memolith.storage.store import SqlStore, SqlWriter

FOLDER = Path(__file__).with_name("migrations") / "postgres"
LEAST_SERVER, LEAST_VECTOR = 150_000, (0, 8)
CONNECT_S, LOOK_S = 5, 1.0


@contextmanager
def translated() -> Iterator[None]:
    """No error of the driver gets past this, and none shows an address or a password."""
    try:
        yield
    except (errors.DiskFull, errors.OutOfMemory) as error:
        raise ours.DiskFull("The disk of the database server is full; nothing was written.") from error
    except (errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected,
            errors.SerializationFailure, errors.TooManyConnections) as error:
        raise ours.StoreBusy from error
    except errors.UniqueViolation as error:
        raise ours.VersionConflict from error
    except errors.ReadOnlySqlTransaction as error:
        raise ours.StoreReadOnly("The database is a read-only replica; write to the primary server.") from error
    except (errors.InvalidPassword, errors.InvalidAuthorizationSpecification, errors.InsufficientPrivilege) as error:
        raise ours.StoreDenied from error
    except (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedFunction, errors.DataCorrupted) as error:
        raise ours.StoreCorrupt(f"The database does not have the tables of memolith ({error.sqlstate}).") from error
    except psycopg.OperationalError as error:
        # The driver gives no code for a failed connection, only the server's words.
        text = str(error)
        if error.sqlstate == "54000":
            raise ours.Unavailable("A name is too long for an index of the database; shorten it.") from error
        if "password" in text or "authentication" in text or "role" in text:
            raise ours.StoreDenied from error
        if "does not exist" in text:
            raise ours.StoreDenied("There is no such database on the server; create it, or mend the setting "
                                   "`database`.") from error
        raise ours.StoreGone from error
    except psycopg.DatabaseError as error:
        raise ours.Unavailable(f"The database refuses this ({error.sqlstate or type(error).__name__}).") from error


class PostgresWriter(SqlWriter, PostgresReader):
    """Writes to PostgreSQL; the lock on the head row lets one writer of a tenant in at a time."""

    row_is_seq = True

    def __init__(self, db: Connection, tenant: str | None) -> None:
        super().__init__(db, tenant)
        self._counts: Counter[str] = Counter()

    def append(self, event: Event, changes: Changes) -> None:
        """Write the event and all that follows from it in one journey to the server."""
        with self.db.pipeline():
            super().append(event, changes)

    def execute(self, sql: str, values: Parameters) -> None:
        """Run statements for what they do; inside a journey, what is wrong with them shows at the end."""
        for part in sql.split(";\n"):
            self.db.execute(part, values)

    def posting(self, item: Item, passage: Passage, sign: int) -> Parameters:
        made = super().posting(item, passage, sign)
        body, extra, scope = (str(made[name]) for name in ("body", "extra", "scope"))
        for term in {*body.split(), *extra.split()}:
            self._counts[term] += sign
        return posting(body, extra, scope)

    def finish(self) -> None:
        """Write the sums, and in how many passages each term stands."""
        if counts := {term: count for term, count in self._counts.items() if count}:
            self.do("terms_count", tenant=self.tenant, counts=json.dumps(counts))
            if min(counts.values()) < 0:
                self.do("terms_gone", tenant=self.tenant, counts=json.dumps(counts))
        self._counts.clear()
        super().finish()


class PostgresStore(SqlStore):
    """All that is remembered, in one database."""

    name, reader, writer = "postgres", PostgresReader, PostgresWriter

    def __init__(self, url: str, connections: int = 10, busy_s: float = 20.0, statement_s: float = 60.0,
                 pooled: bool = False) -> None:
        super().__init__(busy_s)
        self.url, self._timeout, self._prepare = url, f"{int(statement_s * 1000)}ms", None if pooled else 5
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
        with suppress(ours.MemolithError), self.owning() as db:
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
        raise ours.InvalidInput(f"A PostgreSQL database is backed up with pg_dump -Fc -f {target.name}.", field="file")

    def sizes(self) -> dict[str, int]:
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
            (used,) = next(rows.rows("allowance_take", tenant="", key=key, minute=minute, amount=amount))
            rows.do("allowance_old", minute=minute - 1)
        return int(used)

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
                    raise ours.OutcomeUnknown from error

    @contextmanager
    def _connection(self, first: bytes | None = None) -> Iterator[Connection]:
        """A connection that has carried out the first statement; one that died while it was idle is replaced."""
        if not self._free.acquire(timeout=self._busy_s):
            raise ours.StoreBusy("All connections to the database are in use; try again.")
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
            raise ours.InvalidInput("This is not an address of PostgreSQL; write "
                                    "postgresql://USER:PASSWORD@HOST/DATABASE.", field="database") from error


@lru_cache(2000)
def beginning(writes: bool, timeout: str, wait: str, tenant: str | None) -> bytes:
    """What begins a transaction of a tenant, or of all of them."""
    level = sql.SQL("read committed" if writes else "repeatable read read only")
    return sql.SQL(QUERIES["begin"]).format(level=level, timeout=timeout, wait=wait, tenant=tenant or "",
                                            all="on" if tenant is None else "off").as_bytes(None)


def migrate(db: Connection) -> None:
    """Check the server and apply what is missing, one process at a time."""
    number, version, vector, set_up, replica = next(iter(db.execute(QUERIES["versions"])))
    if number < LEAST_SERVER:
        raise ours.Unavailable(f"PostgreSQL 15 or newer is needed; this server is {version}.")
    if vector and tuple(int(part) for part in vector.split(".")[:2]) < LEAST_VECTOR:
        raise ours.Unavailable(f"pgvector 0.8 or newer is needed; this database has {vector}. "
                               "Update it with: alter extension vector update")
    known = migrations(FOLDER)
    if (set_up and not missing(db.execute(QUERIES["migrations"]), known)) or replica:
        return
    try:
        with db.transaction():
            db.execute(QUERIES["migration_table"])
            for number, name, text in missing(list(db.execute(QUERIES["migrations"])), known):
                db.execute(TO_SQLITE.sub("", text).replace("bigint primary key", "bigint not null"))
                oldest = re.match(r"-- oldest: (\d+)", text)
                db.execute(QUERIES["migration_add"], {"number": number, "name": name, "checksum": checksum(text),
                                                      "oldest": int(oldest[1]) if oldest else number})
    except (errors.UndefinedFile, errors.FeatureNotSupported) as error:
        raise ours.Unavailable("The server lacks the extension pgvector; install it there (0.8 or newer).") from error
    except errors.InsufficientPrivilege as error:
        raise ours.Unavailable("This role may not set up the database; let its owner run `memolith migrate` once, and "
                               "have pgvector created by an administrator: create extension vector") from error
