"""The command with which a client starts this installation of memolith."""

import os
import shutil
import sys
from pathlib import Path


def launch_command(arguments: list[str], data: Path | None) -> list[str]:
    """The absolute path of this very program with its arguments and the data folder, if given."""
    command = [*program(), *arguments]
    if data is not None:
        command += ["--data", os.path.abspath(data.expanduser())]
    return command


def program() -> list[str]:
    if Path(sys.argv[0]).stem == "memolith":
        script = shutil.which(sys.argv[0])
    else:
        # Beside the interpreter, because the PATH may name another installation first.
        script = shutil.which("memolith", path=os.path.dirname(sys.executable))
    if script is None:
        return [sys.executable, "-m", "memolith.doors.main"]
    return [os.path.abspath(script)]
