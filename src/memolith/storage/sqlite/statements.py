"""Runs the statements of queries.sql on one SQLite connection."""

from collections import namedtuple
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path

import apsw

from memolith.storage.rows import Parameter, Row
from memolith.storage.sql_files import load_queries

QUERIES = load_queries(Path(__file__).with_name("queries.sql"))
"""The statements of queries.sql by name."""


class Statements:
    """One connection, on which statements are run by name."""

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db

    def rows(self, name: str, /, **values: Parameter) -> Iterator[Row]:
        """The rows of a statement."""
        return named_rows(self.db.execute(QUERIES[name], values))

    def row(self, name: str, /, **values: Parameter) -> Row | None:
        """The first row of a statement, if there is one."""
        return next(self.rows(name, **values), None)

    def do(self, name: str, /, **values: Parameter) -> None:
        """Run a statement for its effect."""
        self.db.execute(QUERIES[name], values)


def named_rows(cursor: apsw.Cursor) -> Iterator[Row]:
    """The rows of a cursor as named tuples of their columns."""
    first = next(cursor, None)
    if first is None:
        return iter(())
    columns = tuple(column[0] for column in cursor.get_description())
    make = _row_type(columns)._make
    return chain((make(first),), map(make, cursor))


@lru_cache(maxsize=500)
def _row_type(columns: tuple[str, ...]) -> type[Row]:
    return namedtuple("Row", columns)
