"""Where things lie on a machine.

Paths are plain strings here: the stdio server asks for them before its first answer, and importing
`pathlib` would cost it 11 ms.
"""

import os
import sys


def default_data_folder() -> str:
    """The data folder of a user who has chosen none."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", os.path.join(home, "AppData", "Local"))
        return os.path.join(local, "memolith")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "memolith")
    data_home = os.environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(data_home, "memolith")


def cache_folder(data: str | None = None) -> str:
    """The folder for what can be made again: MEMOLITH_CACHE, else `cache` in the data folder.

    It lies in the data folder because nothing is written outside of that unless the user says so.
    """
    chosen = os.environ.get("MEMOLITH_CACHE")
    if chosen:
        return chosen
    return os.path.join(data or os.environ.get("MEMOLITH_DATA") or default_data_folder(), "cache")
