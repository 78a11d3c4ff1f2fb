"""Reads that may be a little old: a caller permits them, and is told how old they were.

A store with replicas may serve them there. They go on while there is no primary.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class StaleReads:
    """How old the answer of one call may be, and how old it was."""

    max_age_s: float
    age_s: float | None = None
    """The age of the oldest data that was read; None if all of it came from the primary."""

    def note(self, age_s: float) -> None:
        """Something this old was read."""
        self.age_s = max(age_s, self.age_s or 0.0)


_permitted: ContextVar[StaleReads | None] = ContextVar("stale reads", default=None)


def permitted_stale_reads() -> StaleReads | None:
    """What the caller permits; None if everything must be current."""
    return _permitted.get()


@contextmanager
def permitting(stale: StaleReads | None) -> Iterator[None]:
    """Reads in this block may be as old as this says."""
    token = _permitted.set(stale)
    try:
        yield
    finally:
        _permitted.reset(token)
