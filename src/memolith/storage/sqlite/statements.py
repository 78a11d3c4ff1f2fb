"""Runs the statements of queries.sql on one SQLite connection."""

from collections import namedtuple
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import apsw

from memolith.storage.rows import Parameters, Row
from memolith.storage.sql_files import load_queries
from memolith.storage.statements import Result, Statements

QUERIES = load_queries(Path(__file__).with_name("queries.sql"))
"""The statements of queries.sql by name."""


class SqliteStatements(Statements):
    """The statements for SQLite. A cursor steps through the rows as they are asked for."""

    queries = QUERIES
    checked_columns: ClassVar[dict[str, tuple[str, ...]]] = {}

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__()
        self.db = db

    def _do(self, name: str, values: Parameters) -> None:
        self.db.execute(QUERIES[name], values)

    def _do_for_each(self, name: str, rows: Sequence[Parameters]) -> None:
        self.db.executemany(QUERIES[name], rows)

    def _await_sent(self) -> None:
        """Nothing to wait for: SQLite has added the rows when it returns."""

    def _await_added(self) -> None:
        """Nothing to wait for here, either."""

    def _abandon_added(self) -> None:
        """Nothing to end, either."""

    def _named_rows(self, text: str, values: Parameters, is_adapted: bool = False) -> Iterator[Row]:
        cursor = self.db.execute(text, values)
        columns = self._columns(cursor)
        if columns is None:
            return iter(())
        return map(_row_type(columns)._make, cursor)

    def _run(self, text: str, values: Parameters, is_adapted: bool = False) -> Result:
        cursor = self.db.execute(text, values)
        return Result(cursor, cursor)

    def _run_as_stream(self, text: str, values: Parameters) -> Result:
        return self._run(text, values)

    def _columns(self, cursor: apsw.Cursor) -> tuple[str, ...] | None:
        try:
            return tuple(column[0] for column in cursor.get_description())
        except apsw.ExecutionCompleteError:
            return None


@lru_cache(maxsize=500)
def _row_type(columns: tuple[str, ...]) -> type[Row]:
    return namedtuple("Row", columns)
