"""The clock that the engine reads."""

from typing import Protocol


class Clock(Protocol):
    """Tells the time as UTC, ISO 8601 with microseconds and `Z`."""

    def now(self) -> str: ...
