"""The folders of memolith on this machine. Imports nothing heavy, because every hook needs it."""

import os
import sys
from pathlib import Path


def data_folder() -> Path:
    """The data folder that is used unless you name another: where the platform keeps such data."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "memolith"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "memolith"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "memolith"
