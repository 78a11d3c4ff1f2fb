"""New ids."""

import os
import threading
import time
import uuid

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


def short_id() -> str:
    """Twelve random hexadecimal digits; whoever uses them checks that they are not taken."""
    return os.urandom(6).hex()
