"""The folders of memolith on this machine.

Paths are plain strings here: hooks and the stdio server ask for them before their first answer, and
importing `pathlib` costs 11 ms.
"""

import os
import sys


def default_data_folder() -> str:
    """The data folder that is used unless you name another: where the platform keeps such data."""
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
