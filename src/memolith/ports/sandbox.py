"""Where code and files of users are handled without harm."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

Owner = tuple[str, str]
"""Whom a runner belongs to: tenant and user."""

Locate = Callable[[str], AbstractContextManager[tuple[str, Path]]]
"""Opens the file of a document by its id: the name of the file, and where it lies meanwhile."""


class Bounds(NamedTuple):
    """How much one sandboxed process may use; the settings `runner_*` and `reader_*`."""

    wall_s: float = 60.0
    cpu_s: float = 120.0
    memory_mb: int = 2048
    output_kb: int = 100
    scratch_mb: int = 256
    threads: int = 64


class SandboxState(NamedTuple):
    """The mode that locks code in and what users should know of it, or `none` and why."""

    mode: str
    note: str


class CodeResult(NamedTuple):
    """What came of a piece of code."""

    stdout: str
    stderr: str
    error: str | None
    truncated: bool
    duration_ms: int
    restarted: bool


class Sandbox(Protocol):
    """Runs code of users and reads their files where neither can do harm."""

    @property
    def state(self) -> SandboxState: ...

    def create(self, owner: Owner) -> str:
        """Start a runner that only its owner can use; returns its id."""

    def run(
        self, owner: Owner, executor: str, code: str, locate: Locate, cancelled: Callable[[], bool]
    ) -> CodeResult:
        """Run code in the runner of that id; its variables stay for the next call."""

    def read(self, file: Path, bounds: Bounds) -> str:
        """What the readers find in a file, as JSON; InvalidInput or TooLarge if they cannot."""
