"""Keeping the memory of a long-running server small.

The allocator of glibc keeps what was freed, in a pool of its own for each of many threads. In a
server that makes vectors while it answers calls these pools grow with every burst of writes. Other
allocators are left as they are.
"""

import ctypes
from functools import cache

M_ARENA_MAX = -8
"""The number of the option of `mallopt` for the number of pools."""

MAX_POOLS = 2
"""Threads that compute share them without loss, as the model allocates for itself."""


def limit_pools() -> None:
    """Let threads that start later share a few pools of memory."""
    library = _glibc()
    if library is not None:
        library.mallopt(M_ARENA_MAX, MAX_POOLS)


def return_freed_memory() -> None:
    """Give what was freed back to the system."""
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)


@cache
def _glibc() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):
        # Windows has no library of this kind.
        return None
    return library if hasattr(library, "gnu_get_libc_version") else None
