"""Tells a collector what calls do. There is none unless `collect_with` names one.

As with logging, there is one for the whole process, so that every part can tell without being given
anything. Hooks import this, so it uses the standard library alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

from memolith.ports.telemetry import CallFacts, CallSpan, Fact, Span, Telemetry

Block = TypeVar("Block")


class RequestIds(NamedTuple):
    """By which ids a request is found in the log and in the traces."""

    request_id: str
    trace_id: str = ""


current_request: ContextVar[RequestIds | None] = ContextVar("current request", default=None)
"""The request that this thread or task serves, if any."""


class _Untold:
    """Stands in where nobody collects anything."""

    trace_id = ""

    def note(self, name: str, fact: Fact) -> None:
        """Told to nobody."""

    def ended(self, outcome: str, seconds: float, *, is_fault: bool) -> None:
        """Told to nobody."""

    def __enter__(self) -> _Untold:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was begun."""


_UNTOLD = _Untold()
_collector: Telemetry | None = None


def collect_with(collector: Telemetry) -> None:
    """Tell this collector from now on."""
    global _collector
    _collector = collector


def stop_collecting(collector: Telemetry) -> None:
    """Tell nobody any more, unless another collector has taken its place."""
    global _collector
    if _collector is collector:
        _collector = None


def call_span(facts: CallFacts) -> AbstractContextManager[CallSpan]:
    """A call of a tool, for as long as the block runs."""
    if _collector is None:
        return _UNTOLD
    return _collector.call(facts)


def step(name: str, **facts: Fact) -> AbstractContextManager[Span]:
    """A step of the call at hand; steps inside of the block are parts of it."""
    if _collector is None:
        return _UNTOLD
    return _collector.step(name, facts, encloses=True)


def timed(
    name: str, block: AbstractContextManager[Block], **facts: Fact
) -> AbstractContextManager[Block]:
    """The same block, told as a step. It may end after the step around it, as transactions do."""
    if _collector is None:
        return block
    return _timed(_collector.step(name, facts, encloses=False), block)


@contextmanager
def _timed(
    telling: AbstractContextManager[Span], block: AbstractContextManager[Block]
) -> Iterator[Block]:
    with telling, block as value:
        yield value
