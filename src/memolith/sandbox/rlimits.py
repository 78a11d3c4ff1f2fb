"""Limits that the kernel keeps for a process by itself, whatever the server sees of it."""

import resource

MEGABYTE = 1 << 20
ADDRESS_SPACE_BEYOND_MEMORY_MB = 2048
"""Much of the address space is reserved and never touched, so its limit is wider."""

MAX_OPEN_FILES = 64
MAX_PENDING_SIGNALS = 128
STACK_MB = 8


def set_rlimits(memory_mb: int, scratch_mb: int) -> None:
    address_space_mb = memory_mb + ADDRESS_SPACE_BEYOND_MEMORY_MB
    _set(resource.RLIMIT_AS, address_space_mb * MEGABYTE)
    _set(resource.RLIMIT_STACK, STACK_MB * MEGABYTE)
    _set(resource.RLIMIT_FSIZE, scratch_mb * MEGABYTE)
    _set(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
    _set(resource.RLIMIT_SIGPENDING, MAX_PENDING_SIGNALS)
    _set(resource.RLIMIT_CORE, 0)
    _set(resource.RLIMIT_MEMLOCK, 0)
    _set(resource.RLIMIT_MSGQUEUE, 0)


def limit_threads(threads: int) -> None:
    """Limit the processes and threads of this user in this user namespace."""
    _set(resource.RLIMIT_NPROC, threads)


def _set(limit: int, value: int) -> None:
    resource.setrlimit(limit, (value, value))
