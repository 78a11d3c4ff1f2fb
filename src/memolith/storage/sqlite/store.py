"""The SQLite store: one file in WAL mode, many processes."""

import itertools
import json
import os
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from memolith import errors as ours
from memolith.domain.attributes import Json
from memolith.domain.callers import Caller
from memolith.domain.passages import PassageRef
from memolith.domain.queries import Filter
from memolith.ports.vector_slots import Slot, SlotChange, SlotItem, SlotMarks
from memolith.storage.queries import TO_POSTGRES, Parameter, Parameters, Queries, Row, missing
from memolith.storage.reader import SqlReader, Strings
from memolith.storage.store import SqlStore, SqlWriter

FILE = "memolith.db"
FOLDER = Path(__file__).parents[1] / "migrations" / "sqlite"
Progress = Callable[[int, int], None]
MUCH_FREE, SHRED_TRIES = 1000, 20
library_version = apsw.sqlite_lib_version
_PRAGMAS = (
    "journal_mode=wal",
    "synchronous=full",
    "secure_delete=on",
    "temp_store=memory",
    "cache_size=-8000",
    "mmap_size=1073741824",
)
# The kinds of pages that hold trees, where the header of the first one begins, and a byte that SQLite only locks.
INTERIOR, LEAF = (2, 5), (10, 13)
FIRST_HEADER, LOCKED_BYTE = 100, 2**30
_MEANINGS: dict[type[Exception], type[ours.MemolithError]] = {
    apsw.FullError: ours.DiskFull,
    apsw.BusyError: ours.StoreBusy,
    apsw.LockedError: ours.StoreBusy,
    apsw.ConstraintError: ours.VersionConflict,
    UnicodeDecodeError: ours.StoreCorrupt,
    apsw.CorruptError: ours.StoreCorrupt,
    apsw.NotADBError: ours.StoreCorrupt,
    apsw.ReadOnlyError: ours.StoreReadOnly,
    **dict.fromkeys(
        (apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError), ours.StoreReadOnly
    ),
}
_WRITE_FAULTS = (apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_TRUNCATE)


@contextmanager
def translated() -> Iterator[None]:
    """No error of the driver gets past this."""
    try:
        yield
    except tuple(_MEANINGS) as error:
        raise _MEANINGS[type(error)] from error
    except apsw.SQLError as error:
        raise ours.StoreCorrupt(
            f"The database is not one of memolith, or it is damaged ({error})."
        ) from error
    except apsw.IOError as error:
        # Some systems report a full disk as a failed write.
        if getattr(error, "extendedresult", 0) in _WRITE_FAULTS:
            raise ours.DiskFull(
                "The disk refuses to be written: it is full or the quota is used up."
            ) from error
        raise ours.Unavailable(
            "The disk gives an error while the database is read or written."
        ) from error
    except OSError as error:
        raise ours.of_system(error) from error


def _sql_value(op: str, value: Json) -> Parameter:
    value = [value] if op == "glob" and not isinstance(value, list) else value
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return int(value) if isinstance(value, bool) else value


def plain(text: str) -> str:
    """A statement as SQLite reads it."""
    text = (
        TO_POSTGRES.sub("", text)
        .replace("attribute(", "json_extract(")
        .replace("bigint primary", "integer primary")
    )
    text = text.replace("jsonb_array_elements_text(", "json_each(")
    return re.sub(
        r"in (?:each|numbers)\(:([\w{}]+)\)", r"in (select value from json_each(:\1))", text
    )


QUERIES = Queries("sqlite/queries.sql", lambda name: "$." + json.dumps(name), _sql_value, plain)


class SqliteReader(SqlReader):
    """Reads from SQLite."""

    db: apsw.Connection
    queries = QUERIES

    def run(self, sql: str, values: Parameters) -> Iterator[Row]:
        return self.db.execute(sql, {"tenant": self.tenant, **values})

    def match(
        self, words: Strings, phrases: Strings, every: bool, scopes: Collection[Strings]
    ) -> str:
        """An FTS5 expression over body and extra, and over the scope column."""
        groups = [f'"{phrase}"' for phrase in phrases]
        if words:
            groups.append(
                "(" + (" AND " if every else " OR ").join(f'"{word}"' for word in words) + ")"
            )
        return " AND ".join(
            [
                "{body extra} : (" + " AND ".join(groups) + ")",
                *(f"scope : ({' OR '.join(group)})" for group in scopes),
            ]
        )

    def stale(self, expected: dict[PassageRef, tuple[str, str, str]]) -> list[PassageRef]:
        found: dict[int, int] = defaultdict(int)
        for term, doc, column, offset in self.rows("instances"):
            found[doc] += hash((term, column, offset))
        wrong = [
            ref
            for ref, columns in expected.items()
            if found.pop(ref, 0)
            != sum(
                hash((term, name, offset))
                for name, text in zip(("body", "extra", "scope"), columns, strict=True)
                for offset, term in enumerate(text.split())
            )
        ]
        others = {id for (id,) in self.rows("passage_ids")}
        return wrong + [PassageRef(-doc) for doc in found if doc not in others]

    def slot_marks(self) -> SlotMarks:
        return SlotMarks(*next(self.rows("slot_marks")))

    def slots(self, model: str, after: int, upto: int) -> Iterator[Slot]:
        return map(Slot._make, self.rows("slots", after=after, upto=upto, model=model))

    def slot_changes(self, after: int) -> list[SlotChange]:
        return [SlotChange._make(row) for row in self.rows("slot_changes", seq=after)]

    def slot_items(self, item_rows: Collection[int]) -> list[SlotItem]:
        found = self.rows("slot_items", rows=json.dumps(list(item_rows)))
        return [SlotItem._make(row) for row in found]

    def vectors_at(self, model: str, refs: Collection[PassageRef]) -> dict[PassageRef, bytes]:
        return dict(self.rows("vectors_of", model=model, ids=json.dumps(list(refs))))

    def first_vectors(
        self, caller: Caller, chosen: Filter, model: str
    ) -> list[tuple[PassageRef, bytes]]:
        return list(self.filtered("beginnings", caller, chosen, model=model))

    def passing_slots(
        self, caller: Caller, chosen: Filter, model: str, ids: Collection[int]
    ) -> dict[int, PassageRef]:
        vectors = json.dumps(list(ids))
        return dict(
            self.filtered("passing", caller, chosen, "passage", model=model, vectors=vectors)
        )

    def item_rows_passing(self, caller: Caller, chosen: Filter, limit: int) -> list[int]:
        found = self.filtered("items_passing", caller, chosen, limit=limit)
        return [item_row for (item_row,) in found]

    def item_rows_tagged(self, tenant: str, tag: str, limit: int) -> list[int]:
        found = self.rows("items_tagged", tenant=tenant, tag=tag, limit=limit)
        return [item_row for (item_row,) in found]


class SqliteWriter(SqlWriter, SqliteReader):
    """Writes to SQLite under the write lock."""

    def prune_slots(self, upto: int) -> None:
        self.do("slots_prune", seq=upto)


class SqliteStore(SqlStore):
    """All that is remembered, in one folder."""

    name, reader, writer = "sqlite", SqliteReader, SqliteWriter

    def __init__(self, folder: Path, busy_s: float = 20.0) -> None:
        super().__init__(busy_s)
        self.folder, self.file, self._pid = folder, folder / FILE, os.getpid()
        with translated():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._connection() as db:
                _migrate(db)

    @contextmanager
    def transaction(
        self, tenant: str | None, writes: bool, wait_s: float
    ) -> Iterator[apsw.Connection]:
        with translated(), self._connection(wait_s) as db:
            db.transaction_mode = "immediate" if writes else "deferred"
            with db:
                yield db

    def shred(self) -> bool:
        """Leave no byte of what was erased in any file; False if readers or a full disk did not let us."""
        log = self.file.with_name(FILE + "-wal")
        # A new connection: pages that an older one has cached would bring the old bytes back.
        with suppress(ours.DiskFull, ours.StoreBusy), translated(), closing(self._open()) as db:
            for _ in range(SHRED_TRIES):
                if db.pragma("wal_checkpoint", "truncate")[0]:
                    return False
                with db:
                    if log.exists() and log.stat().st_size:
                        # Somebody wrote in between, so the file is not the whole truth yet.
                        continue
                    _blank(self.file, db.pragma("page_size"))
                    # A change of any kind makes every other connection drop the pages it has cached.
                    db.execute(
                        "update setting set value = value where tenant = '' and name = 'database'"
                    )
                return not db.pragma("wal_checkpoint", "truncate")[0]
        return False

    def compact(self) -> None:
        """Give back what is free in the file where that is much, and empty the write-ahead log."""
        with translated(), self._connection() as db:
            pages, free = db.pragma("page_count"), db.pragma("freelist_count")
            if free > MUCH_FREE and free > pages // 4:
                db.execute("vacuum")
        self.shred()

    def backup(self, target: Path, progress: Progress = lambda done, total: None) -> None:
        """Copy everything into one new file while others go on writing."""
        with translated(), self._connection() as db, _copied(db, target, progress) as copy:
            copy.execute("pragma journal_mode=delete")

    def check(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        # A connection that was used before may check what it remembers of the text index, not what others wrote since.
        with translated(), closing(self._open()) as db:
            return [text for (text,) in db.execute("pragma integrity_check(20)") if text != "ok"]

    def sizes(self) -> dict[str, int]:
        """Bytes on disk per file of the data folder."""
        return {
            path.name: path.stat().st_size
            for path in sorted(self.folder.iterdir())
            if path.is_file()
        }

    @contextmanager
    def _connection(self, wait_s: float | None = None) -> Iterator[apsw.Connection]:
        if self._pid != os.getpid():
            # SQLite connections do not survive a fork; closing them here would disturb the parent, so they stay.
            self._inherited, self._idle, self._pid = self._idle, [], os.getpid()
        try:
            db = self._idle.pop()
        except IndexError:
            db = self._open()
        db.set_busy_handler(_patience(self._busy_s if wait_s is None else wait_s))
        try:
            yield db
        finally:
            if self._closed:
                db.close()
            else:
                self._idle.append(db)

    def _open(self) -> apsw.Connection:
        db = apsw.Connection(str(self.file))
        db.create_scalar_function(
            "casefold", lambda *text: str(text[0]).casefold(), 1, deterministic=True
        )
        db.transaction_mode = "immediate"
        wait = _patience(self._busy_s)
        db.set_busy_handler(wait)
        for pragma in _PRAGMAS:
            # To enter WAL mode takes a lock for which SQLite asks no busy handler.
            for tries in itertools.count():
                try:
                    db.execute(f"pragma {pragma}").fetchall()
                    break
                except apsw.BusyError:
                    if not wait(tries):
                        raise
        return db


def restore_backup(file: Path, folder: Path) -> None:
    """Put a backup into a data folder that has no database yet."""
    if not file.is_file():
        raise ours.InvalidInput(f"There is no file {file}.", field="file")
    if (folder / FILE).exists():
        raise ours.Conflict(f"{folder} holds a database already; restore into an empty folder.")
    with translated(), closing(apsw.Connection(str(file))) as source:
        if problems := [
            text for (text,) in source.execute("pragma integrity_check(5)") if text != "ok"
        ]:
            raise ours.StoreCorrupt(f"The backup is damaged: {problems[0]}")
        if not source.execute("select count(*) from sqlite_schema where name = 'migration'").get:
            raise ours.StoreCorrupt("This file is no backup of memolith.")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _copied(source, folder / FILE) as target:
            _migrate(target)


@contextmanager
def _copied(
    source: apsw.Connection, file: Path, progress: Progress = lambda done, total: None
) -> Iterator[apsw.Connection]:
    """A copy for its owner alone, to be finished here; it then appears at its place, whole or not at all."""
    partial = file.with_name(file.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_WRONLY, 0o600))
        with closing(apsw.Connection(str(partial))) as copy:
            with copy.backup("main", source, "main") as run:
                while not run.done:
                    run.step(500)
                    progress(run.page_count - run.remaining, run.page_count)
            yield copy
        os.replace(partial, file)
    finally:
        partial.unlink(missing_ok=True)


def _migrate(db: apsw.Connection) -> None:
    """Bring the schema up to date; a schema from the future or of another program is refused untouched."""
    tables = {name for (name,) in db.execute("select name from sqlite_schema")}
    if tables and "migration" not in tables:
        raise ours.StoreCorrupt("The database file belongs to another program.")
    done = QUERIES.about("find", "migration", ())
    if tables and not missing(db.execute(done), FOLDER):
        return
    with db:
        db.execute(QUERIES["migration"])
        for row, text in missing(list(db.execute(done)), FOLDER):
            db.execute(plain(text)).fetchall()
            db.execute(QUERIES.about("add", "migration", row), row)


def _blank(file: Path, size: int) -> None:
    """Blank the unused middle of pages, where SQLite leaves stale copies of rows that it moved elsewhere."""
    # Through SQLite's own file layer: to close the file by other means would drop the locks of this process.
    raw = apsw.VFSFile("", str(file), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])
    try:
        for start in range(0, raw.xFileSize(), size):
            if start <= LOCKED_BYTE < start + size:
                continue
            page, header = raw.xRead(size, start), 0 if start else FIRST_HEADER
            if (kind := page[header]) not in (*INTERIOR, *LEAF):
                continue
            cells = int.from_bytes(page[header + 3 : header + 5], "big")
            first = header + (12 if kind in INTERIOR else 8) + 2 * cells
            last = int.from_bytes(page[header + 5 : header + 7], "big") or 65536
            if page[first:last].strip(b"\0"):
                raw.xWrite(bytes(last - first), start + first)
        raw.xSync(apsw.SQLITE_SYNC_FULL)
    finally:
        raw.xClose()


def _patience(limit_s: float) -> Callable[[int], bool]:
    """Short random sleeps: SQLite's own growing ones starve a writer for seconds."""
    started = 0.0

    def wait(tries: int) -> bool:
        nonlocal started
        if tries == 0:
            started = time.monotonic()
        time.sleep(random.uniform(0.0005, 0.0025))
        return time.monotonic() - started < limit_s

    return wait
