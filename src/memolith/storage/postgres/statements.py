"""Runs the statements of queries.sql on one PostgreSQL connection."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from memolith.storage.rows import Parameter, Parameters, Row
from memolith.storage.sql_files import load_queries

QUERIES = load_queries(Path(__file__).with_name("queries.sql"))
"""The statements of queries.sql by name."""

ROWS_PER_PORTION = 2000
"""How many rows of a whole tenant are fetched at once."""

_cursor_numbers = itertools.count()


class Connection(psycopg.Connection[Row]):
    """A connection whose rows are named tuples.

    It knows the streams of its transaction, which end with it: the server drops them then, and
    `end_streams` lets the driver know without asking the server.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.streams: list[psycopg.ServerCursor[Row]] = []

    def end_streams(self) -> None:
        """Close the streams of a transaction that has ended."""
        while self.streams:
            self.streams.pop().close()


class Statements:
    """One connection, on which statements are run by name."""

    def __init__(self, db: Connection) -> None:
        self.db = db

    def rows(self, name: str, /, **values: Parameter) -> Iterator[Row]:
        """The rows of a statement, which the driver prepares if it is run often."""
        return iter(self.db.execute(QUERIES[name], values, binary=True).fetchall())

    def row(self, name: str, /, **values: Parameter) -> Row | None:
        """The first row of a statement, if there is one."""
        return next(self.rows(name, **values), None)

    def stream(self, name: str, /, **values: Parameter) -> Iterator[Row]:
        """The rows of a statement that may have very many, fetched in portions."""
        cursor = self.db.cursor(f"rows_{next(_cursor_numbers)}")
        cursor.itersize = ROWS_PER_PORTION
        self.db.streams.append(cursor)
        return iter(cursor.execute(QUERIES[name], values))

    def run(self, statement: str, values: Parameters) -> Iterator[Row]:
        """The rows of a statement that is not prepared, because its text depends on the call.

        It is planned for these values: what suits one tenant may be wrong for another.
        """
        cursor = self.db.execute(statement, values, prepare=False, binary=True)
        return iter(cursor.fetchall())

    def do(self, name: str, /, **values: Parameter) -> None:
        """Run a statement for its effect. Inside a pipeline, its error shows at the end."""
        self.db.execute(QUERIES[name], values)
