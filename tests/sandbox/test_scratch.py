"""Folders that hostile code has filled are measured and removed, however it hid things there."""

import ctypes
import mmap
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memolith.ports.sandbox import Bounds
from memolith.sandbox.linux import LinuxSandbox
from memolith.sandbox.scratch import (
    MAX_SCRATCH_DEPTH,
    MAX_SCRATCH_FILES,
    ScratchUsage,
    SharedScratch,
    remove_folder,
)

if sys.platform != "linux":
    pytest.skip("the sandbox is made of what Linux offers", allow_module_level=True)

LIBC = ctypes.CDLL(None)
LIBC.mmap.restype = ctypes.c_void_p
PAGE = mmap.PAGESIZE
DEEPER_THAN_A_PATH_IS_LONG = 3000
MEGABYTE = 1 << 20
DEAD_PID = 1 << 22
"""No process has this number: the kernel gives none beyond it."""


def scratch_usage(folder: str) -> ScratchUsage:
    """What lies in a folder that this process has nothing to do with."""
    opened = [os.fstat(int(name)) for name in os.listdir("/proc/self/fd") if is_open(int(name))]
    ours = frozenset((status.st_dev, status.st_ino) for status in opened)
    return SharedScratch(folder, os.getpid(), ours, max_file_mb=0).usage()


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def nest(folder: Path, depth: int, name: str = "d") -> int:
    """Make folders within folders; returns a handle on the innermost."""
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=handle)
        inner = os.open(name, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    return handle


def write_at(handle: int, name: str, size: int) -> None:
    file = os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=handle)
    os.write(file, bytes(size))
    os.close(file)


@contextmanager
def few_open_files(count: int) -> Iterator[None]:
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + count, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_folders_nested_deeper_than_a_path_are_removed_with_few_handles(tmp_path: Path) -> None:
    target = tmp_path / "deep"
    target.mkdir()
    innermost = nest(target, DEEPER_THAN_A_PATH_IS_LONG)
    write_at(innermost, "file", 10)
    os.close(innermost)
    with few_open_files(10):
        remove_folder(str(target))
    assert not target.exists()


def test_folders_without_permissions_are_removed(tmp_path: Path) -> None:
    target = tmp_path / "closed"
    inner = target / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    (target / "link").symlink_to("/etc")
    inner.chmod(0)
    inner.parent.chmod(0o300)
    remove_folder(str(target))
    assert not target.exists()
    assert Path("/etc").is_dir()


def test_a_folder_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    remove_folder(str(tmp_path / "nothing"))


@pytest.mark.parametrize("mode", ["namespace", "landlock"])
def test_a_server_starts_after_one_that_left_nested_folders(tmp_path: Path, mode: str) -> None:
    sandbox = LinuxSandbox(tmp_path, Bounds(), mode)
    left = sandbox._home(mode) / f"memolith-runner-{DEAD_PID}-left"
    left.mkdir(parents=True)
    os.close(nest(left, DEEPER_THAN_A_PATH_IS_LONG))
    try:
        # Where this mode does not work, the reason must be another one.
        assert "recursion" not in sandbox.state.note
        assert not left.exists()
    finally:
        sandbox.close()
        remove_folder(str(left))


def test_what_lies_deeper_than_a_path_is_measured(tmp_path: Path) -> None:
    handle = nest(tmp_path, 30, "d" * 250)
    write_at(handle, "file", 3 * MEGABYTE)
    os.close(handle)
    usage = scratch_usage(str(tmp_path))
    assert (usage.files, usage.size_mb, usage.depth) == (31, 3, 30)
    remove_folder(str(tmp_path / ("d" * 250)))


def test_looking_ends_where_there_is_too_much(tmp_path: Path) -> None:
    deep = tmp_path / "deep"
    deep.mkdir()
    os.close(nest(deep, MAX_SCRATCH_DEPTH * 4))
    assert scratch_usage(str(deep)).depth == MAX_SCRATCH_DEPTH + 1
    remove_folder(str(deep))
    wide = tmp_path / "wide"
    wide.mkdir()
    for number in range(MAX_SCRATCH_FILES + 100):
        (wide / str(number)).mkdir()
    assert scratch_usage(str(wide)).files == MAX_SCRATCH_FILES + 1


def test_folders_are_counted_like_files(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / str(number)).mkdir()
    assert scratch_usage(str(tmp_path)).files == 5


def test_unlinked_files_count_while_they_are_open_or_mapped(tmp_path: Path) -> None:
    def usage() -> tuple[int, int]:
        found = SharedScratch(str(tmp_path), os.getpid(), known, max_file_mb=7).usage()
        return found.files - before.files, found.size_mb - before.size_mb

    known: frozenset[tuple[int, int]] = frozenset()
    before = SharedScratch(str(tmp_path), os.getpid(), known, max_file_mb=7).usage()
    path = tmp_path / "gone"
    with path.open("w+b") as file:
        file.write(bytes(3 * MEGABYTE))
        file.flush()
        assert usage() == (1, 3)
        path.unlink()
        assert usage() == (1, 3)
        status = os.fstat(file.fileno())
        known = frozenset({(status.st_dev, status.st_ino)})
        assert usage() == (0, 0)
        known = frozenset()
        # Not by the module mmap, which keeps the file open.
        mapped = LIBC.mmap(None, PAGE, mmap.PROT_READ, mmap.MAP_PRIVATE, file.fileno(), 0)
        assert usage() == (1, 3)
    # Its size is not known any more.
    assert usage() == (1, 7)
    LIBC.munmap(ctypes.c_void_p(mapped), PAGE)
    assert usage() == (0, 0)
