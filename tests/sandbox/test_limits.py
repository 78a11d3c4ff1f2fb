"""Which limit is passed, and what the message says."""

import pytest

from memolith.ports.sandbox import Bounds
from memolith.sandbox.limits import ProcessUsage, exceeded_space, exceeded_time
from memolith.sandbox.scratch import MAX_SCRATCH_DEPTH, MAX_SCRATCH_FILES, ScratchUsage

BOUNDS = Bounds(wall_s=60, cpu_s=120, memory_mb=100, scratch_mb=10, threads=5)
IDLE = ProcessUsage(cpu_s=0, threads=1, memory_mb=10)
EMPTY = ScratchUsage(files=0, size_mb=0)


def test_what_is_just_within_its_limits_is_let_be() -> None:
    process = ProcessUsage(cpu_s=0, threads=5, memory_mb=100)
    scratch = ScratchUsage(files=MAX_SCRATCH_FILES, size_mb=10, depth=MAX_SCRATCH_DEPTH)
    assert exceeded_space(BOUNDS, process, scratch) is None
    assert exceeded_time(BOUNDS, wall_s=60, cpu_s=120) is None


@pytest.mark.parametrize(
    ("process", "scratch", "limit"),
    [
        (IDLE._replace(memory_mb=101), EMPTY, "100 MB of memory"),
        (IDLE._replace(threads=6), EMPTY, "5 threads"),
        (IDLE, EMPTY._replace(size_mb=11), "10 MB of scratch"),
        (IDLE, EMPTY._replace(files=MAX_SCRATCH_FILES + 1), "1024 files"),
    ],
)
def test_a_limit_on_space_names_itself(
    process: ProcessUsage, scratch: ScratchUsage, limit: str
) -> None:
    assert exceeded_space(BOUNDS, process, scratch) == f"it took more than {limit}"


def test_folders_must_be_neither_deep_nor_closed() -> None:
    deep = EMPTY._replace(depth=MAX_SCRATCH_DEPTH + 1)
    assert exceeded_space(BOUNDS, IDLE, deep) == "it nested more than 50 folders"
    closed = EMPTY._replace(closed_folders=1)
    assert exceeded_space(BOUNDS, IDLE, closed) == "it made a folder that nobody may look into"


def test_a_limit_on_time_names_itself() -> None:
    assert exceeded_time(BOUNDS, wall_s=60.1, cpu_s=0) == "it took more than 60 s"
    assert exceeded_time(BOUNDS, wall_s=1, cpu_s=120.1) == "it took more than 120 s of CPU"
