"""Files and folders that only their owner can use, whatever the umask is.

Windows gives new files to their owner by other means, so nothing is changed there. Only light
modules are imported: hooks and the stdio server need this before their first answer.
"""

import os
import stat

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
OPEN_TO_OTHERS = 0o077

RUNNERS = "runners"
"""The folder of a data folder where sandboxed processes work. What is in it belongs to them: it is
private by itself, and may be nested to any depth.
"""


def make_private_folder(path: str) -> None:
    """Make a folder for its owner alone, with the parents that it lacks."""
    missing = []
    folder = os.path.abspath(path)
    while not os.path.isdir(folder) and folder not in missing:
        missing.append(folder)
        folder = os.path.dirname(folder)
    for folder in reversed(missing):
        try:
            os.mkdir(folder, PRIVATE_FOLDER)
        except FileExistsError:
            # Another process may have been faster.
            if not os.path.isdir(folder):
                raise


def open_private(path: str, flags: int) -> int:
    """The `opener` of a file that is written for its owner alone; an existing one becomes so."""
    descriptor = os.open(path, flags, PRIVATE_FILE)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        close_to_others(path)
    return descriptor


def close_to_others(path: str) -> bool:
    """Take a file or folder of ours away from other users; True if they had it until now."""
    try:
        if not _is_open_to_others(os.stat(path)):
            return False
        os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) & ~OPEN_TO_OTHERS)
    except OSError:
        # It is gone, or belongs to another user. `doctor` tells about the latter.
        return False
    return True


def close_folder_to_others(folder: str) -> bool:
    """Take a data folder away from other users; True if they could use it until now.

    The depths are searched only if the folder itself was open: nobody gets through a closed one.
    """
    was_open = close_to_others(folder)
    for path in paths_below(folder, at_any_depth=was_open):
        close_to_others(path)
    return was_open


def open_to_others(folder: str) -> list[str]:
    """What other users can use of a folder, the folder itself included."""
    found = []
    for path in (folder, *paths_below(folder, at_any_depth=True)):
        try:
            if _is_open_to_others(os.stat(path)):
                found.append(path)
        except OSError:
            # It is gone by now.
            continue
    return found


def paths_below(folder: str, at_any_depth: bool) -> list[str]:
    """The files and folders in a folder, without links and without what runners wrote."""
    found = []
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        for entry in _entries(place):
            if entry.is_symlink():
                continue
            found.append(entry.path)
            if at_any_depth and entry.name != RUNNERS and entry.is_dir():
                waiting.append(entry.path)
    return found


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        # It is gone by now, or another user's.
        return []


def _is_open_to_others(status: os.stat_result) -> bool:
    return os.name == "posix" and bool(status.st_mode & OPEN_TO_OTHERS)
