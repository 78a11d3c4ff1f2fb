"""One transaction per call, whoever asks for it: reads and writes inside it share it.

The capabilities of the engine each ask the store for a transaction of their own. Here they get the
one that is open already in the same call, so that a call needs one connection, sees what it has
just written, and is kept whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Literal, TypeVar

from memolith.engine.telemetry import timed
from memolith.errors import MemolithError
from memolith.ports.store import Reader, Store, Writer

Rows = TypeVar("Rows", bound=Reader)


class _Open:
    """The transaction that is open in this thread, or the call that will open one."""

    def __init__(self, call: CallTransaction | None = None) -> None:
        self.call = call
        """The call that keeps its transaction open to its end; None for a single block."""
        self.reader: Reader | None = None
        self.writer: Writer | None = None
        self.tenant: str | None = None
        self.after_commit: list[Callable[[], None]] = []
        self.if_taken_back: list[Callable[[], None]] = []

    def joins(self, tenant: str | None) -> bool:
        """Whether what is open serves this tenant."""
        return self.tenant == tenant

    def run_after_commit(self, report: Callable[[MemolithError], None]) -> None:
        """Do what was put off until the commit; what fails now cannot undo the write."""
        actions = self.after_commit
        self.after_commit = []
        self.if_taken_back = []
        for action in actions:
            try:
                action()
            except MemolithError as error:
                report(error)

    def run_if_taken_back(self) -> None:
        """Release what was held for a write that is not there after all."""
        actions = self.if_taken_back
        self.after_commit = []
        self.if_taken_back = []
        for action in actions:
            action()


class CallTransaction:
    """The transaction of one call: begun by its first write, committed when the call ends."""

    def __init__(self, on_begin: Callable[[Writer], None]) -> None:
        self.on_begin = on_begin
        """Sees the transaction before the first write; it may raise to stop the call."""
        self.open = _Open(self)
        self._block: AbstractContextManager[Writer] | None = None

    @property
    def writer(self) -> Writer | None:
        """The transaction, once the call has written."""
        return self.open.writer

    @property
    def has_more_to_do(self) -> bool:
        """Whether something is left to be done after the commit."""
        return bool(self.open.after_commit)

    def begin(self, block: AbstractContextManager[Writer], tenant: str | None) -> Writer:
        """Begin the transaction, unless `on_begin` stops the call."""
        writer = block.__enter__()
        self._block = block
        self.open.writer = writer
        self.open.tenant = tenant
        try:
            self.on_begin(writer)
        except BaseException as error:
            self.roll_back(error)
            raise
        return writer

    def commit(self) -> None:
        """Make everything durable."""
        try:
            self._end(None)
        except BaseException:
            self.open.run_if_taken_back()
            raise

    def roll_back(self, error: BaseException) -> None:
        """Take everything back. The next write of the call, if there is one, begins anew."""
        try:
            self._end(error)
        finally:
            self.open.run_if_taken_back()

    def _end(self, error: BaseException | None) -> None:
        block = self._block
        self._block = None
        self.open.writer = None
        self.open.tenant = None
        if block is None:
            return
        if error is None:
            block.__exit__(None, None, None)
        else:
            # What the store makes of the error is raised by whoever caught it first.
            block.__exit__(type(error), error, error.__traceback__)


class Transactions:
    """A store whose transactions are shared by everything that happens in one call."""

    def __init__(self, store: Store, report: Callable[[MemolithError], None]) -> None:
        """`report` hears what went wrong after a commit."""
        self._store = store
        self._report = report
        self.name = store.name
        self._current: ContextVar[_Open | None] = ContextVar("open transaction", default=None)

    @contextmanager
    def call(self, on_begin: Callable[[Writer], None]) -> Iterator[CallTransaction]:
        """Everything in this block is one transaction, which is committed at its end."""
        if self._current.get() is not None:
            raise RuntimeError("a call inside of a transaction")
        call = CallTransaction(on_begin)
        token = self._current.set(call.open)
        try:
            try:
                yield call
            except BaseException as error:
                call.roll_back(error)
                raise
            call.commit()
        finally:
            self._current.reset(token)
        call.open.run_after_commit(self._report)

    @contextmanager
    def reading(self, tenant: str | None) -> Iterator[Reader]:
        """Reads that see the same moment as the reads and writes around them."""
        current = self._current.get()
        if current is not None and current.joins(tenant):
            rows = current.writer or current.reader
            if rows is not None:
                yield rows
                return
        if current is not None and (current.writer or current.reader):
            raise RuntimeError("a read of another tenant inside of a transaction")
        with (
            self._begun("store.read", self._store.reading(tenant)) as rows,
            self._opened(current, "reader", rows, tenant),
        ):
            yield rows

    @contextmanager
    def writing(self, tenant: str | None, wait_s: float | None = None) -> Iterator[Writer]:
        """A part of the transaction that is open; a failing part is taken back alone."""
        current = self._current.get()
        if current is not None and current.reader is not None:
            raise RuntimeError("a write inside of a read")
        if current is not None and current.writer is not None:
            if not current.joins(tenant):
                raise RuntimeError("a write to another tenant inside of a transaction")
            with current.writer.savepoint():
                yield current.writer
        elif current is not None and current.call is not None:
            yield from self._first_write(current.call, tenant, wait_s)
        else:
            yield from self._single_write(tenant, wait_s)

    def _first_write(
        self, call: CallTransaction, tenant: str | None, wait_s: float | None
    ) -> Iterator[Writer]:
        block = self._begun("store.write", self._store.writing(tenant, wait_s))
        writer = call.begin(block, tenant)
        try:
            yield writer
        except BaseException as error:
            # There is nothing else in the transaction yet.
            call.roll_back(error)
            raise

    def _single_write(self, tenant: str | None, wait_s: float | None) -> Iterator[Writer]:
        opened = _Open()
        try:
            with (
                self._begun("store.write", self._store.writing(tenant, wait_s)) as rows,
                self._opened(opened, "writer", rows, tenant),
            ):
                yield rows
        except BaseException:
            opened.run_if_taken_back()
            raise
        opened.run_after_commit(self._report)

    def _begun(
        self, step: str, block: AbstractContextManager[Rows]
    ) -> AbstractContextManager[Rows]:
        return timed(step, block, **{"db.system.name": self.name})

    @contextmanager
    def _opened(
        self,
        current: _Open | None,
        kind: Literal["reader", "writer"],
        rows: Reader,
        tenant: str | None,
    ) -> Iterator[None]:
        """Let what happens in this block find the transaction."""
        opened = current or _Open()
        token = self._current.set(opened)
        setattr(opened, kind, rows)
        opened.tenant = tenant
        try:
            yield
        finally:
            setattr(opened, kind, None)
            opened.tenant = None
            self._current.reset(token)

    def after_commit(
        self, action: Callable[[], None], if_taken_back: Callable[[], None] | None = None
    ) -> None:
        """Do this when what was written is durable: at once, if no transaction is open.

        `if_taken_back` is done instead when the transaction fails.
        """
        current = self._current.get()
        if current is not None and current.writer is not None:
            current.after_commit.append(action)
            if if_taken_back is not None:
                current.if_taken_back.append(if_taken_back)
        else:
            action()

    def rebuilding(self) -> AbstractContextManager[Callable[[str], Writer]]:
        return self._store.rebuilding()

    def shred(self) -> bool:
        return self._store.shred()

    def sizes(self) -> dict[str, int]:
        return self._store.sizes()

    def check(self) -> list[str]:
        return self._store.check()

    def close(self) -> None:
        self._store.close()
