"""Runs the statements of a `queries.sql` by name; each database has a subclass."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar

from memolith.errors import StoreCorrupt
from memolith.storage.rows import Columns, Parameter, Parameters, Row, RowShape

Value = TypeVar("Value")
Pieces = Mapping[str, str]
"""What is put in the place of each mark of a statement, such as `/* filters */`."""


class Result(NamedTuple):
    """What a statement answered."""

    cursor: Any
    """The driver's cursor, which knows the columns."""
    rows: Iterable[Columns]
    """The rows as plain tuples."""


class Statements(ABC):
    """One connection, on which statements are run by name.

    `rows` and `row` give named tuples. `read` gives values of the engine, for statements that are
    run often or have many rows: their columns are checked when they are first run, and no row
    has to be named.
    """

    queries: ClassVar[Mapping[str, str]]
    """The statements of queries.sql by name."""

    checked_columns: ClassVar[dict[str, tuple[str, ...]]]
    """The columns of the statements that `read` has checked in this process."""

    @abstractmethod
    def do(self, name: str, /, **values: Parameter) -> None:
        """Run a statement for its effect."""

    def rows(self, name: str, /, **values: Parameter) -> Iterator[Row]:
        """The rows of a statement."""
        return self._named_rows(self.queries[name], values)

    def row(self, name: str, /, **values: Parameter) -> Row | None:
        """The first row of a statement, if there is one."""
        return next(self._named_rows(self.queries[name], values), None)

    def adapted_rows(self, name: str, pieces: Pieces, values: Parameters) -> Iterator[Row]:
        """The rows of a statement whose marks are replaced."""
        return self._named_rows(self._adapted(name, pieces), values, is_adapted=True)

    def read(self, name: str, shape: RowShape[Value], /, **values: Parameter) -> Iterator[Value]:
        """The values in the rows of a statement."""
        return self._values(name, shape, self._run(self.queries[name], values))

    def read_first(self, name: str, shape: RowShape[Value], /, **values: Parameter) -> Value | None:
        """The value in the first row of a statement, if there is one."""
        return next(self._values(name, shape, self._run(self.queries[name], values)), None)

    def read_adapted(
        self, name: str, shape: RowShape[Value], pieces: Pieces, values: Parameters
    ) -> Iterator[Value]:
        """The values in the rows of a statement whose marks are replaced."""
        result = self._run(self._adapted(name, pieces), values, is_adapted=True)
        return self._values(name, shape, result)

    def stream(self, name: str, shape: RowShape[Value], /, **values: Parameter) -> Iterator[Value]:
        """The values of a statement that may have very many rows; they are read as needed."""
        return self._values(name, shape, self._run_as_stream(self.queries[name], values))

    def _adapted(self, name: str, pieces: Pieces) -> str:
        text = self.queries[name]
        for mark, piece in pieces.items():
            text = text.replace(mark, piece)
        return text

    def _values(self, name: str, shape: RowShape[Value], result: Result) -> Iterator[Value]:
        if self.checked_columns.get(name) is not shape.columns:
            self._check_columns(name, shape, result)
        return map(shape.make, result.rows)

    def _check_columns(self, name: str, shape: RowShape[Value], result: Result) -> None:
        columns = self._columns(result.cursor)
        if columns is None:
            return
        if columns != shape.columns:
            raise StoreCorrupt(
                f"The statement {name} has the columns {', '.join(columns)}; "
                f"expected are {', '.join(shape.columns)}."
            )
        self.checked_columns[name] = shape.columns

    # What each database does in its own way

    @abstractmethod
    def _named_rows(self, text: str, values: Parameters, is_adapted: bool = False) -> Iterator[Row]:
        """Run a text and give its rows as named tuples. An adapted text may never come again."""

    @abstractmethod
    def _run(self, text: str, values: Parameters, is_adapted: bool = False) -> Result:
        """Run a text. An adapted text may never come again."""

    @abstractmethod
    def _run_as_stream(self, text: str, values: Parameters) -> Result:
        """Run a text whose rows are not to be read all at once."""

    @abstractmethod
    def _columns(self, cursor: Any) -> tuple[str, ...] | None:
        """The names of the columns of a cursor; None if it has no rows and does not tell."""
