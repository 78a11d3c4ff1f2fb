"""The folders of runners: what hostile code keeps in them, and how they are removed.

Code may nest folders deeper than any path is long, take away their permissions, and unlink files
that it goes on using. So nothing here works with whole paths, and nothing is recursive.
"""

import os
import stat
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from memolith.sandbox.constants import NOBODY

MEGABYTE = 1 << 20
DISK_BLOCK_BYTES = 512
"""The unit of `st_blocks`, whatever the file system."""

MAX_SCRATCH_FILES = 1024
"""Folders count as files."""

MAX_SCRATCH_DEPTH = 50
"""The server keeps a handle open for each level while it looks."""

FOLDER_FLAGS = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0)
SUBFOLDER_FLAGS = FOLDER_FLAGS | getattr(os, "O_NOFOLLOW", 0)
OWNER_ONLY = 0o700
DELETED_MARK = b" (deleted)"
MAPS_FIELDS = 5
"""How many fields of a line in /proc/PID/maps stand before the path: see proc(5)."""

OPEN_FILES_INTERVAL_S = 0.02
"""How often the open files of a process are looked at, so that short calls stay short."""

MAPS_INTERVAL_S = 0.1
"""How often the maps of a process are looked at: with large packages loaded it takes 1 ms."""

FileId = tuple[int, int]
"""The device and the inode number of a file."""


class ScratchUsage(NamedTuple):
    """How much there is in a scratch folder."""

    files: int
    size_mb: int
    depth: int = 0
    """How many folders lie within each other."""
    closed_folders: int = 0
    """Folders that their owner may not look into."""


class _Level(NamedTuple):
    """A folder on the way down: a handle, and the names of the folders in it still to be seen."""

    handle: int
    subfolders: list[str]


class _Tally:
    """Counts what is found, each file once."""

    def __init__(self) -> None:
        self.files = 0
        self.blocks = 0
        self.depth = 0
        self.closed_folders = 0

    @property
    def has_too_much(self) -> bool:
        return self.files > MAX_SCRATCH_FILES or self.depth > MAX_SCRATCH_DEPTH

    def list_folder(self, handle: int) -> _Level:
        subfolders: list[str] = []
        with os.scandir(handle) as entries:
            for entry in entries:
                # It may be gone by now.
                with suppress(FileNotFoundError):
                    self.blocks += entry.stat(follow_symlinks=False).st_blocks
                    self.files += 1
                    if entry.is_dir(follow_symlinks=False):
                        subfolders.append(entry.name)
                if self.has_too_much:
                    break
        return _Level(handle, subfolders)

    def walk(self, folder: str) -> None:
        """Count what lies in a folder, until it is too much."""
        levels = [self.list_folder(os.open(folder, FOLDER_FLAGS))]
        try:
            while levels and not self.has_too_much:
                level = levels[-1]
                if not level.subfolders:
                    os.close(levels.pop().handle)
                    continue
                self._go_down(levels, level.subfolders.pop())
        finally:
            for level in levels:
                os.close(level.handle)

    def _go_down(self, levels: list[_Level], name: str) -> None:
        try:
            handle = os.open(name, SUBFOLDER_FLAGS, dir_fd=levels[-1].handle)
        except PermissionError:
            self.closed_folders += 1
        except (FileNotFoundError, NotADirectoryError):
            # It was moved or removed meanwhile.
            return
        else:
            levels.append(self.list_folder(handle))
            self.depth = max(self.depth, len(levels) - 1)

    def usage(self, more_mb: int = 0) -> ScratchUsage:
        size_mb = self.blocks * DISK_BLOCK_BYTES // MEGABYTE + more_mb
        return ScratchUsage(self.files, size_mb, self.depth, self.closed_folders)


class SharedScratch:
    """A scratch folder on a disk that others use too, and the process that fills it."""

    def __init__(self, folder: str, pid: int, known: Collection[FileId], max_file_mb: int) -> None:
        self._folder = os.path.realpath(folder)
        self._pid = pid
        self._known = known
        """Files without a name that the process was given."""
        self._max_file_mb = max_file_mb
        self._open: dict[FileId, int] = {}
        self._mapped: set[int] = set()
        self._look_at_open_files_from = 0.0
        self._look_at_maps_from = 0.0

    def usage(self) -> ScratchUsage:
        """What lies in the folder, with the files that the process has unlinked and still uses."""
        tally = _Tally()
        tally.walk(self._folder)
        now = time.monotonic()
        if now >= self._look_at_open_files_from:
            self._look_at_process(now)
        for file_id, blocks in self._open.items():
            if file_id not in self._known:
                tally.files += 1
                tally.blocks += blocks
        # Nobody can tell the size of a file that is only mapped, so it counts as large as it may
        # be.
        only_mapped = self._mapped - {inode for _, inode in self._open}
        tally.files += len(only_mapped)
        return tally.usage(more_mb=len(only_mapped) * self._max_file_mb)

    def _look_at_process(self, now: float) -> None:
        with _allowed_to_look_into(self._pid):
            self._open = _unlinked_open_files(self._pid)
            self._look_at_open_files_from = now + OPEN_FILES_INTERVAL_S
            if now >= self._look_at_maps_from:
                self._mapped = _unlinked_mapped_files(self._pid, self._folder)
                self._look_at_maps_from = now + MAPS_INTERVAL_S


@contextmanager
def _allowed_to_look_into(pid: int) -> Iterator[None]:
    """A server that is root in a container may lack the right to look into processes of others.

    Then it looks as the user of that process, which every user may do.
    """
    if os.getuid() != 0 or os.access(f"/proc/{pid}/fd/0", os.F_OK):
        yield
        return
    # Loads the C library as Linux has it, and this module is imported on every system.
    from memolith.sandbox import libc

    libc.set_file_user(NOBODY, NOBODY)
    try:
        yield
    finally:
        libc.set_file_user(os.geteuid(), os.getegid())


def _unlinked_open_files(pid: int) -> dict[FileId, int]:
    """The blocks of each file that has no name any more but is open."""
    found: dict[FileId, int] = {}
    folder = f"/proc/{pid}/fd"
    for descriptor in os.listdir(folder):
        # It may be closed by now.
        with suppress(FileNotFoundError):
            status = os.stat(f"{folder}/{descriptor}")
            if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                found[status.st_dev, status.st_ino] = status.st_blocks
    return found


def _unlinked_mapped_files(pid: int, folder: str) -> set[int]:
    """The inode numbers of files below a folder that have no name any more but are mapped."""
    with open(f"/proc/{pid}/maps", "rb", buffering=0) as file:
        maps = file.readall()
    if DELETED_MARK not in maps:
        return set()
    found: set[int] = set()
    below_folder = os.fsencode(f"{folder}/")
    for line in maps.splitlines():
        if line.endswith(DELETED_MARK):
            *_, inode, path = line.split(maxsplit=MAPS_FIELDS)
            if path.startswith(below_folder):
                found.add(int(inode))
    return found


def remove_folder(path: str) -> None:
    """Remove a folder with all that is in it, as far as the system allows.

    Each subfolder is first moved up to the top, so no path gets long and two handles are enough.
    Whoever filled the folder must have ended.
    """
    with suppress(OSError):
        _empty_folder(path)
        os.rmdir(path)


def _empty_folder(path: str) -> None:
    with _opened(path) as top:
        waiting = _remove_files(top)
        moved = 0
        while waiting:
            name = waiting.pop()
            os.chmod(name, OWNER_ONLY, dir_fd=top)
            with _opened(name, top) as folder:
                for subfolder in _remove_files(folder):
                    moved += 1
                    new_name = f"{moved}-{os.urandom(8).hex()}"
                    # Only who may write to a folder can move it to another one.
                    os.chmod(subfolder, OWNER_ONLY, dir_fd=folder)
                    os.rename(subfolder, new_name, src_dir_fd=folder, dst_dir_fd=top)
                    waiting.append(new_name)
            os.rmdir(name, dir_fd=top)


@contextmanager
def _opened(name: str, parent: int | None = None) -> Iterator[int]:
    handle = os.open(name, SUBFOLDER_FLAGS, dir_fd=parent)
    try:
        yield handle
    finally:
        os.close(handle)


def _remove_files(folder: int) -> list[str]:
    """Remove all that is no folder, and return the names of the folders."""
    subfolders = []
    with os.scandir(folder) as entries:
        listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in listed:
        if is_folder:
            subfolders.append(name)
        else:
            os.unlink(name, dir_fd=folder)
    return subfolders
