"""Runs the statements of queries.sql on one PostgreSQL connection."""

import itertools
import json
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import psycopg
from psycopg.pq import PipelineStatus
from psycopg.rows import tuple_row
from psycopg.waiting import Ready

from memolith.storage.rows import Columns, Parameter, Parameters, Row
from memolith.storage.sql_files import load_queries
from memolith.storage.statements import Result, Statements

QUERIES = load_queries(Path(__file__).with_name("queries.sql"))
"""The statements of queries.sql by name."""

MATCHING_CALL = (
    "matching(nullif(%(match)s, '')::tsquery, "
    "array(select jsonb_array_elements_text(%(words)s::jsonb)))"
)
"""The function that finds what matches a query, as it stands in the statements of the search."""

_OTHER_QUERIES = load_queries(Path(__file__).with_name("queries_distributed.sql"))

QUERIES_OF_DISTRIBUTED = {
    name: text.replace(MATCHING_CALL, f"({_OTHER_QUERIES['matching']})")
    for name, text in {**QUERIES, **_OTHER_QUERIES}.items()
}
"""The same for a database whose tables are distributed over several servers."""

ROWS_PER_PORTION = 2000
"""How many rows of a whole tenant are fetched at once."""

_cursor_numbers = itertools.count()
Answer = TypeVar("Answer")


class NoAnswer(psycopg.OperationalError):
    """The server has the statement and says nothing: it hangs, or the network swallows it all."""


class Connection(psycopg.Connection[Row]):
    """A connection whose rows are named tuples, and on which no wait is without an end.

    It knows the streams of its transaction, which end with it: the server drops them then, and
    `end_streams` lets the driver know without asking the server.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.streams: list[psycopg.ServerCursor[Columns]] = []
        self.limit_s: float | None = None
        """How long to wait for an answer; None for work that may take any time."""
        self.has_warned = False
        """Whether the server has warned of something since this was last set to False."""
        self.is_distributed = False
        """Whether the tables of the database are distributed over several servers."""
        self.is_spoiled = False
        """Whether nobody should use the connection after its present transaction."""
        self.add_notice_handler(self._note_warning)

    def _note_warning(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self.has_warned = True

    def wait(self, gen: Generator[Any, Any, Answer], *arguments: Any, **options: Any) -> Answer:
        """Wait for the server, within the limit. A connection that says nothing is closed.

        The server has its own limit for statements; this one is for a server that keeps none.
        """
        if self.limit_s is None:
            return super().wait(gen, *arguments, **options)
        try:
            return super().wait(_within(gen, self.limit_s), *arguments, **options)
        except NoAnswer:
            self.close()
            raise

    @contextmanager
    def pipeline(self) -> Iterator[psycopg.Pipeline]:
        """Send the statements of this block without waiting for each answer.

        When a statement fails, the server passes over the others. The driver may take one of those
        for prepared, so from then on nothing is run as prepared on this connection.
        """
        try:
            with super().pipeline() as pipeline:
                yield pipeline
        except BaseException:
            self.prepare_threshold = None
            self.is_spoiled = True
            raise

    def end_streams(self) -> None:
        """Close the streams of a transaction that has ended."""
        while self.streams:
            self.streams.pop().close()


class PostgresStatements(Statements):
    """The statements for PostgreSQL, which the driver prepares if they are run often."""

    queries = QUERIES
    checked_columns: ClassVar[dict[str, tuple[str, ...]]] = {}

    def __init__(self, db: Connection) -> None:
        super().__init__()
        self.db = db
        if db.is_distributed:
            self.queries = QUERIES_OF_DISTRIBUTED
        self._sending = ExitStack()
        """Ends the pipeline in which rows are added while the next ones are made."""
        self._pipeline: psycopg.Pipeline | None = None

    def _do(self, name: str, values: Parameters) -> None:
        # Inside a pipeline, its error shows at the end.
        self.db.execute(QUERIES[name], values)

    def _do_for_each(self, name: str, rows: Sequence[Parameters]) -> None:
        if self.adds_together and self.db.pgconn.pipeline_status == PipelineStatus.OFF:
            self._pipeline = self._sending.enter_context(self.db.pipeline())
        by_tenant: dict[Parameter, list[Parameters]] = defaultdict(list)
        for row in rows:
            by_tenant[row["tenant"]].append(row)
        for tenant, of_tenant in by_tenant.items():
            # The statement takes all rows at once; COPY would not heed row-level security.
            as_json = json.dumps(of_tenant, ensure_ascii=False)
            self.db.execute(QUERIES[name], {"tenant": tenant, "rows": as_json})

    def _await_sent(self) -> None:
        if self._pipeline is not None:
            self._pipeline.sync()

    def _await_added(self) -> None:
        self._pipeline = None
        self._sending.close()

    def _abandon_added(self) -> None:
        self._pipeline = None
        # Given the error at hand, the driver keeps to itself that the pipeline was broken off.
        self._sending.__exit__(*sys.exc_info())

    def _named_rows(self, text: str, values: Parameters, is_adapted: bool = False) -> Iterator[Row]:
        cursor = self.db.execute(text, values, prepare=_prepare(is_adapted), binary=True)
        return iter(cursor.fetchall())

    def _run(self, text: str, values: Parameters, is_adapted: bool = False) -> Result:
        cursor = self.db.cursor(binary=True, row_factory=tuple_row)
        cursor.execute(text, values, prepare=_prepare(is_adapted))
        return Result(cursor, cursor.fetchall())

    def _run_as_stream(self, text: str, values: Parameters) -> Result:
        cursor = self.db.cursor(f"rows_{next(_cursor_numbers)}", row_factory=tuple_row)
        cursor.itersize = ROWS_PER_PORTION
        self.db.streams.append(cursor)
        cursor.execute(text, values)
        return Result(cursor, cursor)

    def _columns(
        self, cursor: psycopg.Cursor[Columns] | psycopg.ServerCursor[Columns]
    ) -> tuple[str, ...] | None:
        assert cursor.description is not None, "the statement has rows"
        return tuple(column.name for column in cursor.description)


def _within(gen: Generator[Any, Any, Answer], limit_s: float) -> Generator[Any, Any, Answer]:
    """The same steps of the driver, but for NoAnswer when nothing has come for so long.

    The driver asks every tenth of a second whether to go on: it sends that nothing is ready. One
    wait may be for the answers to several statements, each of which may take the whole time.
    """
    deadline = time.monotonic() + limit_s
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready & Ready.R:
                deadline = time.monotonic() + limit_s
            elif ready == Ready.NONE and time.monotonic() > deadline:
                raise NoAnswer(f"no answer within {limit_s:g} s")
            wanted = gen.send(ready)
    except StopIteration as end:
        answer: Answer = end.value
        return answer


def _prepare(is_adapted: bool) -> bool | None:
    """Whether to prepare a statement; None lets the driver decide.

    One whose text depends on the call is planned for its values: what suits one tenant may be
    wrong for another.
    """
    return False if is_adapted else None
