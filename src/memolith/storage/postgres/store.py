"""The PostgreSQL store: many servers on one database or on several, and a fence around every tenant."""

import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import lru_cache
from operator import itemgetter
from pathlib import Path

import psycopg
from psycopg import errors, sql

from memolith import errors as ours
from memolith.domain.events import Changes, Event
from memolith.engine.maintenance import Progress, carry_rest, differences, follow, unequal
from memolith.storage.postgres.reader import QUERIES, Connection, PostgresReader, posting
from memolith.storage.queries import TO_SQLITE, Parameters, missing
from memolith.storage.store import SqlStore, SqlWriter

FOLDER = Path(__file__).parents[1] / "migrations" / "postgres"
LEAST_SERVER, LEAST_VECTOR = 150_000, (0, 8)
CONNECT_S, LOOK_S, FRESH_S = 5, 1.0, 1.0
TABLES = (
    "event",
    "item",
    "tag",
    "passage",
    "posting",
    "term",
    "sketch",
    "link",
    "embedding",
    "outbox",
    "outbox_done",
    "access",
    "setting",
)


# The first that fits the code of an error, or the server's words where a connection failed without a code.
_MEANINGS: tuple[tuple[str, type[ours.MemolithError], str], ...] = (
    ("53[12]00", ours.DiskFull, "The disk of the database server is full; nothing was written."),
    # A lock or a statement that took too long, a deadlock, a conflict of transactions, too many connections.
    ("55P03|57014|40P01|40001|53300", ours.StoreBusy, ""),
    ("23505", ours.VersionConflict, ""),
    (
        "25006",
        ours.StoreReadOnly,
        "The database is a read-only replica; write to the primary server.",
    ),
    ("28P01|28000|42501|.*(password|authentication|role)", ours.StoreDenied, ""),
    (
        "42P01|42703|42883|XX001",
        ours.StoreCorrupt,
        "The database does not have the tables of memolith ({}).",
    ),
    ("54000", ours.Unavailable, "A name is too long for an index of the database; shorten it."),
    (
        ".*does not exist",
        ours.StoreDenied,
        "There is no such database on the server; create it, or mend the setting `database`.",
    ),
)


@contextmanager
def translated() -> Iterator[None]:
    """No error of the driver gets past this, and none shows an address or a password."""
    try:
        yield
    except psycopg.DatabaseError as error:
        lost, code = (
            isinstance(error, psycopg.OperationalError),
            error.sqlstate or type(error).__name__,
        )
        for pattern, meaning, words in _MEANINGS:
            if re.match(pattern, f"{code} {error if lost else ''}", re.S):
                raise meaning(words.format(code)) from error
        raise (
            ours.StoreGone() if lost else ours.Unavailable(f"The database refuses this ({code}).")
        ) from error


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
        for part in sql.split(";"):
            self.db.execute(part, values)

    def posting(self, body: str, extra: str, scope: str, sign: int) -> Parameters:
        super().posting(body, extra, scope, sign)
        for term in {*body.split(), *extra.split()}:
            self._counts[term] += sign
        return posting(body, extra, scope)

    def write_totals(self) -> None:
        """Write the sums, and in how many passages each term stands."""
        if counts := {term: count for term, count in self._counts.items() if count}:
            self.do("terms_count", tenant=self.tenant, counts=json.dumps(counts))
            if min(counts.values()) < 0:
                self.do("terms_gone", tenant=self.tenant, counts=json.dumps(counts))
        self._counts.clear()
        super().write_totals()


class PostgresStore(SqlStore):
    """All that is remembered, in one database; one that leads also knows which tenants live in others."""

    name, reader, writer = "postgres", PostgresReader, PostgresWriter

    def __init__(
        self,
        url: str,
        connections: int = 10,
        busy_s: float = 20.0,
        statement_s: float = 60.0,
        pooled: bool = False,
        leads: bool = False,
    ) -> None:
        super().__init__(busy_s)
        self._leads, self._limits = leads, (connections, busy_s, statement_s, pooled)
        self._stores: dict[str, PostgresStore] = {}
        self._homes: dict[str, str] = {}
        self._known_at, self._lock = float("-inf"), threading.Lock()
        self.url, self._timeout, self._prepare = (
            url,
            f"{int(statement_s * 1000)}ms",
            None if pooled else 5,
        )
        self._free = threading.BoundedSemaphore(connections)
        with self.owning() as db:
            migrate(db)

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
        raise ours.InvalidInput(
            f"A PostgreSQL database is backed up with pg_dump -Fc -f {target.name}.", field="file"
        )

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
            return int(next(rows.rows("allowance_take", key=key, minute=minute, amount=amount))[0])

    @contextmanager
    def transaction(self, tenant: str | None, writes: bool, wait_s: float) -> Iterator[Connection]:
        """As every store; where the commit breaks off, nobody knows whether it was done."""
        text = beginning(writes, self._timeout, f"{max(1, int(wait_s * 1000))}ms", tenant)
        with (self.home(tenant) or self).owning(text) as db:
            yield db
            try:
                db.execute("commit")
            except psycopg.OperationalError as error:
                if writes:
                    raise ours.OutcomeUnknown from error

    @contextmanager
    def owning(self, first: bytes = b"") -> Iterator[Connection]:
        """A connection with the rights of who logged in, which has carried out a first statement."""
        if not self._free.acquire(timeout=self._busy_s):
            raise ours.StoreBusy("All connections to the database are in use; try again.")
        with translated(), ExitStack() as used:
            used.callback(self._free.release)
            db = self._begun(first)
            used.callback(self._give_back, db)
            yield db

    def _give_back(self, db: Connection) -> None:
        # A connection that cannot even roll back is thrown away, and the server does it by itself.
        with suppress(psycopg.Error):
            if db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                db.execute("rollback")
        if self._closed or db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            db.close()
        else:
            self._idle.append(db)

    def _begun(self, first: bytes) -> Connection:
        """An idle connection that still answers, or a new one."""
        db: Connection
        while True:
            try:
                db, fresh = self._idle.pop(), False
            except IndexError:
                db, fresh = self._connect(), True
            try:
                db.execute(first)
                return db
            except psycopg.OperationalError:
                db.close()
                if fresh:
                    raise

    def _connect(self) -> Connection:
        try:
            return psycopg.connect(
                self.url,
                autocommit=True,
                prepare_threshold=self._prepare,
                connect_timeout=CONNECT_S,
                application_name="memolith",
            )
        except psycopg.ProgrammingError as error:
            raise ours.InvalidInput(
                "This is not an address of PostgreSQL; write "
                "postgresql://USER:PASSWORD@HOST/DATABASE.",
                field="database",
            ) from error

    @contextmanager
    def writing(self, tenant: str | None, wait_s: float | None = None) -> Iterator[SqlWriter]:
        """Writes of one tenant where it lives; if it has just moved, in its new home."""
        with ExitStack() as stack:
            try:
                rows = stack.enter_context(super().writing(tenant, wait_s))
            except ours.TenantMoving:
                self.forget()
                rows = stack.enter_context(super().writing(tenant, wait_s))
            yield rows

    def forget(self) -> None:
        """Read the map anew with the next call, because it has changed."""
        self._known_at = float("-inf")

    def home(self, tenant: str | None) -> "PostgresStore | None":
        """The other database that a tenant lives in; what another process changed is known here within a second."""
        if tenant is None or not self._leads:
            return None
        if time.monotonic() - self._known_at > FRESH_S:
            with self.reading(None) as rows:
                self._homes = dict(rows.find("home"))
            self._known_at = time.monotonic()
        url = self._homes.get(tenant)
        return self._at(url) if url else None

    def _at(self, url: str) -> "PostgresStore":
        with self._lock:
            if url not in self._stores:
                self._stores[url] = PostgresStore(url, *self._limits)
            return self._stores[url]

    def homes(self) -> dict[str, str]:
        """Where the tenants of other databases live."""
        self.forget()
        self.home("")
        return dict(self._homes)

    def elsewhere(self) -> Iterator["PostgresStore"]:
        """The other databases in which tenants live, in any order, so that one which is gone holds up none for long."""
        urls = sorted(set(self.homes().values()))
        yield from map(self._at, random.sample(urls, len(urls)))

    def move(
        self,
        tenant: str,
        url: str,
        embed: Callable[["PostgresStore"], object],
        progress: Progress | None = None,
    ) -> int:
        """Carry a tenant to another database; its writes are refused only while the last few events are copied."""
        with self.writing(None) as alone:
            if alone.row("move_lock", tenant=tenant) != (True,):
                raise ours.Conflict("Somebody else moves this tenant right now; nothing was done.")
            self.forget()
            here, back = self.home(tenant) or PostgresStore(self.url), url == self.url
            target = PostgresStore(url) if back else self._at(url)
            with here.reading(None) as old, target.reading(None) as new:
                if not (count := old.last_seq(tenant)):
                    raise ours.NotFound(f"There is no tenant {tenant[:60]!r}.", field="tenant")
                if old.database() == new.database():
                    raise ours.InvalidInput(
                        "The tenant lives in this database already.", field="to"
                    )
            target.freeze(tenant, False)
            follow(here, target, tenant, progress)
            embed(target)
            if problems := differences(target, tenant):
                raise ours.StoreCorrupt(
                    f"The copy does not equal its log, so nothing was changed: {problems[0]}"
                )
            follow(here, target, tenant, progress)
            # Waits for the writer at work. A tenant that an earlier move left behind frozen is one like any other here.
            here.freeze(tenant, True)
            with ExitStack() as failed:
                failed.callback(here.freeze, tenant, False)
                follow(here, target, tenant, progress)
                carry_rest(here, target, tenant)
                if problems := unequal(here, target, tenant):
                    raise ours.StoreCorrupt(
                        f"The copy is not equal, so nothing was changed: {problems[0]}"
                    )
                with self.writing(None) as rows:
                    if back:
                        rows.drop("home", tenant=tenant)
                    else:
                        rows.put("home", {"tenant": tenant, "url": url}, ("tenant",))
                    rows.do("notify")
                failed.pop_all()
            self.forget()
            return count

    def freeze(self, tenant: str, frozen: bool) -> None:
        """Refuse a tenant's writes here, or let them in again."""
        with self.writing(None) as rows:
            rows.change("head", ("tenant",), {"tenant": tenant, "frozen": frozen})

    def purge(self, tenant: str, url: str) -> None:
        """Remove what is left of a tenant in a database that it has moved away from."""
        self.forget()
        home = self.home(tenant) or self
        with (
            closing(PostgresStore(url)) as store,
            home.reading(None) as here,
            store.writing(None) as rows,
        ):
            if (
                rows.database() == here.database()
                or rows.one(itemgetter(6), "head", tenant=tenant) is not True
            ):
                raise ours.Conflict("The tenant lives there, or never did; nothing was removed.")
            for table in TABLES:
                rows.drop(table, tenant=tenant)
            rows.change(
                "head",
                ("tenant",),
                {"tenant": tenant, "seq": 0, "passages": 0, "terms": 0, "at": ""},
            )

    def close(self) -> None:
        super().close()
        for store in self._stores.values():
            store.close()


@lru_cache(2000)
def beginning(writes: bool, timeout: str, wait: str, tenant: str | None) -> bytes:
    """What begins a transaction of a tenant, or of all of them."""
    level = sql.SQL("read committed" if writes else "repeatable read read only")
    return (
        sql.SQL(QUERIES["begin"])
        .format(
            level=level,
            timeout=timeout,
            wait=wait,
            tenant=tenant or "",
            all="on" if tenant is None else "off",
        )
        .as_bytes(None)
    )


def migrate(db: Connection) -> None:
    """Check the server and apply what is missing, one process at a time."""
    number, version, vector, set_up, replica = next(iter(db.execute(QUERIES["versions"])))
    if number < LEAST_SERVER:
        raise ours.Unavailable(f"PostgreSQL 15 or newer is needed; this server is {version}.")
    if vector and tuple(int(part) for part in vector.split(".")[:2]) < LEAST_VECTOR:
        raise ours.Unavailable(
            f"pgvector 0.8 or newer is needed; this database has {vector}. "
            "Update it with: alter extension vector update"
        )
    done = QUERIES.about("find", "migration", ())
    if (set_up and not missing(db.execute(done), FOLDER)) or replica:
        return
    try:
        with db.transaction():
            for name in ("migration_lock", "migration"):
                db.execute(QUERIES[name])
            for row, text in missing(db.execute(done), FOLDER):
                db.execute(TO_SQLITE.sub("", text).replace("bigint primary key", "bigint not null"))
                db.execute(QUERIES.about("add", "migration", row), row)
    except (errors.UndefinedFile, errors.FeatureNotSupported) as error:
        raise ours.Unavailable(
            "The server lacks the extension pgvector; install it there (0.8 or newer)."
        ) from error
    except errors.InsufficientPrivilege as error:
        raise ours.Unavailable(
            "This role may not set up the database; let its owner run `memolith migrate` once, and "
            "have pgvector created by an administrator: create extension vector"
        ) from error
