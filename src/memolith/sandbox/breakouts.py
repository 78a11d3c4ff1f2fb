"""Attempts to break out, run inside a new sandbox to see whether it holds.

A mode is used only if all of them fail. The full battery is `tests/programs/escapes.py`.
"""

import os
import socket
from collections.abc import Callable
from pathlib import Path

ALL_FAILED = "checked"


def attempt_all(canary: str, server_pid: int) -> None:
    """Print the name of each attempt that got through, then `checked`."""
    attempts: dict[str, Callable[[], object]] = {
        "reading the data": lambda: Path(canary).read_text(),
        "writing": lambda: Path(canary).write_text("changed"),
        "sockets": lambda: socket.socket().close(),
        "new processes": _start_process,
        "the server's environment": lambda: Path(f"/proc/{server_pid}/environ").read_bytes(),
    }
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError:
            continue
        print(name, end=", ")
    print(ALL_FAILED)


def _start_process() -> None:
    if os.fork() == 0:
        os._exit(0)
