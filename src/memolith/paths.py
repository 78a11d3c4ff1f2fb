"""Where things lie on a machine, known without the imports that settings need."""

import os
import sys
from pathlib import Path


def data_folder() -> Path:
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "memolith"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "memolith"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "memolith"
