"""How many items a second does an import write, and what do the same rows cost the bare driver?

The floor is one transaction that inserts the rows of the import: with `executemany` into SQLite,
with COPY into PostgreSQL, without policies. CPU times are of this process + of the database.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil
from psycopg import sql

from bench.material import ME
from bench.sentences import sentences
from bench.stores import cluster, owning
from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.settings import Settings
from memolith.storage.postgres.statements import PostgresStatements
from memolith.storage.rows import Parameters
from memolith.storage.sqlite.statements import QUERIES, SqliteStatements

STORES = ("sqlite", "postgres")
LINES = 10_000
LINES_PER_IMPORT = 5_000
GOAL_PER_S = 10_000
TABLES = {
    "add_event": "event",
    "add_item": "item",
    "add_passage": "passage",
    "add_tag": "tag",
    "add_sketch": "sketch",
    "add_posting": "posting",
    "put_job": "outbox",
}
"""The table of each statement that adds rows."""
RowsByStatement = dict[str, list[Parameters]]


class Cost(NamedTuple):
    """What something took for each item, in microseconds."""

    wall: float
    own: float
    database: float

    @property
    def cpu(self) -> float:
        return self.own + self.database

    def __str__(self) -> str:
        return (
            f"{1e6 / self.wall:8,.0f} items/s   {1e6 / self.cpu:8,.0f} items per CPU second   "
            f"CPU {self.own:5.0f} + {self.database:4.0f} µs per item"
        )


def parts_of(count: int) -> list[list[str]]:
    """The lines that are imported, in several files."""
    texts = sentences(count)
    lines = [
        json.dumps({"content": f"{texts[n]} {n}", "tags": ["hundredth"] if n % 100 == 7 else []})
        for n in range(count)
    ]
    return [lines[start : start + LINES_PER_IMPORT] for start in range(0, count, LINES_PER_IMPORT)]


def bring_in(app: App, parts: Sequence[list[str]], caller: Caller = ME) -> None:
    """Import the files as a user would, without vectors."""
    for number, lines in enumerate(parts):
        app.engine.maintenance.import_(caller, lines, source=f"part {number}")


@contextmanager
def recorded() -> Iterator[RowsByStatement]:
    """The rows that are added in the block, by their statements."""
    found: RowsByStatement = defaultdict(list)
    kinds: tuple[type[SqliteStatements | PostgresStatements], ...] = (
        SqliteStatements,
        PostgresStatements,
    )
    plain = {kind: kind._do_for_each for kind in kinds}

    def record(
        statements: SqliteStatements | PostgresStatements, name: str, rows: Sequence[Parameters]
    ) -> None:
        found[name] += rows
        plain[type(statements)](statements, name, rows)  # type: ignore[arg-type]

    for kind in kinds:
        kind._do_for_each = record  # type: ignore[method-assign,assignment]
    try:
        yield found
    finally:
        for kind in kinds:
            kind._do_for_each = plain[kind]  # type: ignore[method-assign]


def insert_bare(app: App, rows: RowsByStatement) -> None:
    """Insert the rows into a data folder, a statement for each table."""
    with app.store.writing(ME.tenant) as writer:
        assert isinstance(writer.statements, SqliteStatements)
        for name, some in rows.items():
            writer.statements.db.executemany(QUERIES[name], some)


def copy_bare(app: App, rows: RowsByStatement) -> None:
    """Copy the rows into a database, as its owner, whom no policy checks."""
    with owning(app) as db, db.transaction(), db.cursor() as cursor:
        for name, some in rows.items():
            statement = sql.SQL("copy {} ({}) from stdin").format(
                sql.Identifier(TABLES[name]),
                sql.SQL(", ").join(map(sql.Identifier, some[0])),
            )
            with cursor.copy(statement) as copy:
                for row in some:
                    copy.write_row(tuple(row.values()))


@contextmanager
def empty(store: str) -> Iterator[tuple[App, Callable[[], float]]]:
    """An empty store, and what tells how many CPU seconds its database has used."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="memolith-bench-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        database = ""
        if store == "postgres":
            database = stack.enter_context(cluster(durable=True))()
        app = stack.enter_context(closing(open_app(Settings(data=folder, database=database))))
        if store == "sqlite":
            yield app, lambda: 0.0
            return
        with owning(app) as db:
            postmaster = psutil.Process(db.info.backend_pid).parent()
        assert postmaster is not None

        def used_s() -> float:
            processes = [postmaster, *postmaster.children()]
            return sum(sum(process.cpu_times()[:2]) for process in processes)

        yield app, used_s


def cost(run: Callable[[], object], items: int, database_s: Callable[[], float]) -> Cost:
    wall, own, database = time.perf_counter(), time.process_time(), database_s()
    run()
    taken = time.perf_counter() - wall, time.process_time() - own, database_s() - database
    return Cost(*(part / items * 1e6 for part in taken))


def measure(store: str, parts: Sequence[list[str]]) -> tuple[Cost, Cost]:
    """What an import costs, and its floor."""
    items = sum(map(len, parts))
    with empty(store) as (app, database_s):
        imported = cost(lambda: bring_in(app, parts), items, database_s)
    with empty(store) as (app, _), recorded() as rows:
        bring_in(app, parts)
    insert = insert_bare if store == "sqlite" else copy_bare
    with empty(store) as (app, database_s):
        floor = cost(lambda: insert(app, rows), items, database_s)
    return imported, floor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--only", choices=STORES)
    options = parser.parse_args()
    parts = parts_of(options.lines)
    for store in STORES:
        if options.only in (None, store):
            imported, floor = measure(store, parts)
            print(f"{store:9} import {imported}   (goal {GOAL_PER_S:,} items/s)")
            print(f"{store:9} floor  {floor}   import = {imported.cpu / floor.cpu:.1f} floors")


if __name__ == "__main__":
    main()
