"""The time as text: UTC, ISO 8601, microseconds, `Z`."""

import threading
import time
from datetime import datetime, timedelta

DAY_S = 86_400


_clock_lock = threading.Lock()


class SystemClock:
    """The time of this machine, never standing still or going back within a process."""

    _last = 0

    def now(self) -> str:
        with _clock_lock:
            self._last = max(self._last + 1, time.time_ns() // 1000)
            return iso(self._last)


def iso(microseconds: int) -> str:
    """Microseconds since 1970 as text."""
    return (datetime(1970, 1, 1) + timedelta(microseconds=microseconds)).strftime(
        "%Y-%m-%dT%H:%M:%S.%fZ"
    )


def shifted(at: str, seconds: float) -> str:
    return (
        (datetime.fromisoformat(at) + timedelta(seconds=seconds))
        .strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        .rjust(27, "0")
    )
