"""Ids that sort by time, and the clock."""

import os
import re
import threading
import time
import uuid
from datetime import datetime, timedelta

from memolith.errors import InvalidInput

DAY_S = 86_400
UNITS_S, LONGEST_S = {"s": 1, "m": 60, "h": 3600, "d": DAY_S, "w": 7 * DAY_S}, 100 * 365 * DAY_S
_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """A UUIDv7; ids made one after the other in a process are in order."""
    global _last
    with _lock:
        _last = max(_last + 1, time.time_ns() * 4096 // 1_000_000)
        stamp = _last
    high = (stamp >> 12 << 16) | 0x7000 | (stamp & 0xFFF)
    low = (int.from_bytes(os.urandom(8), "big") & (1 << 62) - 1) | 1 << 63
    return str(uuid.UUID(int=high << 64 | low))


class SystemClock:
    """The time of this machine, never standing still or going back within a process."""

    _last = 0

    def now(self) -> str:
        with _lock:
            self._last = max(self._last + 1, time.time_ns() // 1000)
            return iso(self._last)


def iso(microseconds: int) -> str:
    """Microseconds since 1970 as text."""
    return (datetime(1970, 1, 1) + timedelta(microseconds=microseconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds(field: str, text: str) -> int:
    """How long `90s`, `15m`, `24h`, `7d` or `2w` is, up to a hundred years."""
    found = re.fullmatch(r"([0-9]{1,12})([smhdw])", text)
    if found is None or (length := int(found[1]) * UNITS_S[found[2]]) > LONGEST_S:
        raise InvalidInput(f"{field} is no duration; write it like 90s, 15m, 24h, 7d or 2w.", field=field, value=text)
    return length


def shifted(at: str, seconds: float) -> str:
    return (datetime.fromisoformat(at) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
