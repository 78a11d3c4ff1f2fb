"""The limits on a call that the server enforces while it waits for the answer.

The values come from the settings `runner_wall_s`, `runner_memory_mb` and so on, or `reader_*` for
reading a file. What the kernel enforces besides stands in `rlimits.py`.
"""

import os
from typing import NamedTuple

from memolith.ports.sandbox import Bounds
from memolith.sandbox.scratch import MAX_SCRATCH_DEPTH, MAX_SCRATCH_FILES, ScratchUsage

MEGABYTE = 1 << 20

# Fields of /proc/PID/stat behind the name of the program, counted from 0: see proc(5).
STAT_USER_TICKS = 11
STAT_SYSTEM_TICKS = 12
STAT_THREADS = 17
STAT_RESIDENT_PAGES = 21


class ProcessUsage(NamedTuple):
    """What a process has used, or uses now."""

    cpu_s: float
    threads: int
    memory_mb: int


def process_usage(pid: int) -> ProcessUsage:
    # Read as bytes, for this is asked twice for every call.
    with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
        stat = file.read()
    # The name of the program stands in brackets and may itself hold blanks and brackets.
    fields = stat.rpartition(b")")[2].split()
    ticks = int(fields[STAT_USER_TICKS]) + int(fields[STAT_SYSTEM_TICKS])
    resident_bytes = int(fields[STAT_RESIDENT_PAGES]) * os.sysconf("SC_PAGE_SIZE")
    return ProcessUsage(
        cpu_s=ticks / os.sysconf("SC_CLK_TCK"),
        threads=int(fields[STAT_THREADS]),
        memory_mb=resident_bytes // MEGABYTE,
    )


def exceeded_space(bounds: Bounds, process: ProcessUsage, scratch: ScratchUsage) -> str | None:
    """Which limit on memory, threads or files is passed; the runner is then ended at once."""
    if process.memory_mb > bounds.memory_mb:
        return f"it took more than {bounds.memory_mb} MB of memory"
    if process.threads > bounds.threads:
        return f"it took more than {bounds.threads} threads"
    if scratch.size_mb > bounds.scratch_mb:
        return f"it took more than {bounds.scratch_mb} MB of scratch"
    if scratch.files > MAX_SCRATCH_FILES:
        return f"it took more than {MAX_SCRATCH_FILES} files"
    if scratch.depth > MAX_SCRATCH_DEPTH:
        return f"it nested more than {MAX_SCRATCH_DEPTH} folders"
    if scratch.closed_folders:
        return "it made a folder that nobody may look into"
    return None


def exceeded_time(bounds: Bounds, wall_s: float, cpu_s: float) -> str | None:
    """Which limit on time is passed; the call is then interrupted and may keep its variables."""
    if wall_s > bounds.wall_s:
        return f"it took more than {bounds.wall_s:g} s"
    if cpu_s > bounds.cpu_s:
        return f"it took more than {bounds.cpu_s:g} s of CPU"
    return None
