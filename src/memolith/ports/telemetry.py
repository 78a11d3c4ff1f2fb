"""Who is told what a call did and what it spent its time on."""

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

Fact = str | int | float | bool
"""What may be told about a step: names and numbers, never arguments or texts."""

DURATION_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper bounds of the buckets in which the durations of calls are counted."""


class TraceContext(NamedTuple):
    """The span of another program that a call belongs to, in the form of W3C Trace Context."""

    parent: str
    """The value of `traceparent`."""
    state: str = ""
    """The value of `tracestate`."""


class CallFacts(NamedTuple):
    """What is told about a call of a tool."""

    tool: str
    family: str
    tenant: str
    door: str
    request_id: str
    trace: TraceContext | None


class Waiting(NamedTuple):
    """How many texts wait for a vector, and how many could not get one."""

    pending: int
    failed: int


class Span(Protocol):
    """A step that has begun."""

    def note(self, name: str, fact: Fact) -> None:
        """Tell something about the step."""
        ...


class CallSpan(Protocol):
    """A call of a tool that has begun."""

    @property
    def trace_id(self) -> str:
        """The id of the trace that it belongs to; empty if there is none."""
        ...

    def ended(self, outcome: str, seconds: float, *, is_fault: bool) -> None:
        """Tell how it ended: `ok` or the kind of the error, and whether the server is at fault."""
        ...


class Telemetry(Protocol):
    """Collects what calls did."""

    def call(self, facts: CallFacts) -> AbstractContextManager[CallSpan]:
        """A call of a tool, for as long as the block runs."""
        ...

    def step(
        self, name: str, facts: dict[str, Fact], *, encloses: bool
    ) -> AbstractContextManager[Span]:
        """A step of the call at hand; with `encloses`, steps inside of it are parts of it."""
        ...

    def close(self) -> None:
        """Send what has not been sent."""
        ...
