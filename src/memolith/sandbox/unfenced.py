"""Reading a file in a plain child process, where there is no sandbox and the user wants it so.

The child gets nothing of the server's environment, has limits, and becomes another user where that
is possible. It can still read whatever that user can read.
"""

import math
import os
import subprocess
import sys
import tempfile
from typing import IO, NamedTuple

from memolith.errors import TooLarge
from memolith.ports.sandbox import Bounds
from memolith.sandbox.launch import ENVIRONMENT

KILOBYTE = 1 << 10
MAX_ERROR_BYTES = 100 * KILOBYTE
NEEDED_TO_START = ("SYSTEMROOT",)
"""Without this variable Python does not start on Windows; no other is handed on."""


class ReadResult(NamedTuple):
    """What a reader printed, and its traceback if it failed."""

    output: str
    error: str


def read_unfenced(task: str, file_descriptor: int, bounds: Bounds) -> ReadResult:
    """What a function, named as `module:function`, returns for an open file, as JSON.

    Raises TooLarge, or ChildProcessError if the child was ended by the system.
    """
    limits = (str(bounds.memory_mb), str(math.ceil(bounds.cpu_s)), str(bounds.output_kb))
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
    ):
        try:
            ran = subprocess.run(
                # Isolated from variables and the working directory, and writing no bytecode.
                [sys.executable, "-I", "-B", "-m", "memolith.sandbox.unfenced_task", task, *limits],
                stdin=file_descriptor,
                stdout=stdout,
                stderr=stderr,
                env=_environment(),
                cwd=folder,
                timeout=bounds.wall_s,
            )
        except subprocess.TimeoutExpired as limit:
            raise TooLarge(f"it took more than {bounds.wall_s:g} s") from limit
        output = _start_of(stdout, bounds.output_kb * KILOBYTE)
        error = _start_of(stderr, MAX_ERROR_BYTES)
    if len(output) >= bounds.output_kb * KILOBYTE:
        raise TooLarge("there is too much in it")
    if ran.returncode == 0:
        # What libraries warn about on the way is no error.
        return ReadResult(output.decode("utf-8", "replace"), "")
    if b"MemoryError" in error:
        raise TooLarge(f"it took more than {bounds.memory_mb} MB of memory")
    if not error:
        raise ChildProcessError("it died")
    return ReadResult("", error.decode("utf-8", "replace"))


def _environment() -> dict[str, str]:
    needed = {name: os.environ[name] for name in NEEDED_TO_START if name in os.environ}
    return {**ENVIRONMENT, **needed}


def _start_of(file: IO[bytes], size: int) -> bytes:
    file.seek(0)
    return file.read(size)
