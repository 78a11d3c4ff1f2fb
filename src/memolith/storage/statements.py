"""Runs the statements of a `queries.sql` by name; each database has a subclass."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, TypeVar

from memolith.errors import StoreCorrupt
from memolith.storage.rows import Columns, Parameter, Parameters, Row, RowShape

Value = TypeVar("Value")
Pieces = Mapping[str, str]
"""What is put in the place of each mark of a statement, such as `/* filters */`."""

MAX_WAITING_ROWS = 5000
"""How many rows wait at most until they are added together."""

ADDED_FIRST = "add_event"
"""Events are added before the rows that follow from them. A version that is taken is then refused
as such, and not because its item is there already."""


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

    queries: Mapping[str, str]
    """The statements of queries.sql by name."""

    checked_columns: ClassVar[dict[str, tuple[str, ...]]]
    """The columns of the statements that `read` has checked in this process."""

    def __init__(self) -> None:
        self._at_end: Callable[[], None] | None = None
        """What to call when the rows of the present block are added; None outside of a block."""
        self._waiting: dict[str, list[Parameters]] = defaultdict(list)
        """The rows that wait, by the statement that adds them."""
        self._waiting_count = 0

    @property
    def adds_together(self) -> bool:
        """Whether rows wait to be added together."""
        return self._at_end is not None

    @contextmanager
    def together(self, at_end: Callable[[], None]) -> Iterator[None]:
        """Add the rows of this block together: when it ends, or before another statement is run.

        `at_end` is called each time when they have been added, to write what follows from them. If
        the block raises, rows that still wait are dropped, and the caller takes back the rest.
        """
        self._at_end = at_end
        try:
            yield
            self.add_waiting()
        except BaseException:
            self._abandon_added()
            raise
        finally:
            self._at_end = None
            self._drop_waiting()

    def add_row(self, name: str, /, **values: Parameter) -> None:
        """Run a statement that adds a row; inside of `together`, with others of its kind."""
        if self._at_end is None:
            self._do_for_each(name, [values])
            return
        self._waiting[name].append(values)
        self._waiting_count += 1
        if self._waiting_count >= MAX_WAITING_ROWS:
            self._add_rows()

    def add_waiting(self) -> None:
        """Add the rows that wait. Every other statement does so first, and sees them."""
        if self._at_end is None:
            return
        self._add_rows()
        self._await_added()
        self._at_end()

    def _add_rows(self) -> None:
        waiting = self._waiting
        self._drop_waiting()
        self._await_sent()
        for name in sorted(waiting, key=lambda name: name != ADDED_FIRST):
            self._do_for_each(name, waiting[name])

    def _drop_waiting(self) -> None:
        self._waiting = defaultdict(list)
        self._waiting_count = 0

    def do(self, name: str, /, **values: Parameter) -> None:
        """Run a statement for its effect."""
        self.add_waiting()
        self._do(name, values)

    def rows(self, name: str, /, **values: Parameter) -> Iterator[Row]:
        """The rows of a statement."""
        self.add_waiting()
        return self._named_rows(self.queries[name], values)

    def row(self, name: str, /, **values: Parameter) -> Row | None:
        """The first row of a statement, if there is one."""
        self.add_waiting()
        return next(self._named_rows(self.queries[name], values), None)

    def adapted_rows(self, name: str, pieces: Pieces, values: Parameters) -> Iterator[Row]:
        """The rows of a statement whose marks are replaced."""
        self.add_waiting()
        return self._named_rows(self._adapted(name, pieces), values, is_adapted=True)

    def read(self, name: str, shape: RowShape[Value], /, **values: Parameter) -> Iterator[Value]:
        """The values in the rows of a statement."""
        self.add_waiting()
        return self._values(name, shape, self._run(self.queries[name], values))

    def read_first(self, name: str, shape: RowShape[Value], /, **values: Parameter) -> Value | None:
        """The value in the first row of a statement, if there is one."""
        self.add_waiting()
        return next(self._values(name, shape, self._run(self.queries[name], values)), None)

    def read_adapted(
        self, name: str, shape: RowShape[Value], pieces: Pieces, values: Parameters
    ) -> Iterator[Value]:
        """The values in the rows of a statement whose marks are replaced."""
        self.add_waiting()
        result = self._run(self._adapted(name, pieces), values, is_adapted=True)
        return self._values(name, shape, result)

    def stream(self, name: str, shape: RowShape[Value], /, **values: Parameter) -> Iterator[Value]:
        """The values of a statement that may have very many rows; they are read as needed."""
        self.add_waiting()
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
    def _do(self, name: str, values: Parameters) -> None:
        """Run a statement for its effect."""

    @abstractmethod
    def _do_for_each(self, name: str, rows: Sequence[Parameters]) -> None:
        """Run a statement that adds rows for each of these."""

    @abstractmethod
    def _await_sent(self) -> None:
        """Wait until the database has added the rows that were sent before, if any are under way.

        So it never has more to do than what one wait for an answer may take.
        """

    @abstractmethod
    def _await_added(self) -> None:
        """Wait until the database has added the rows, if it does so while the program goes on."""

    @abstractmethod
    def _abandon_added(self) -> None:
        """End such a wait where the block has raised: its error is the one to tell."""

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
