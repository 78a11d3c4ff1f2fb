"""Where code and files of users are handled without harm."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

Owner = tuple[str, str]


Locate = Callable[[str], AbstractContextManager[tuple[str, Path]]]


"""The name of a document's file, and where it lies meanwhile."""


class Bounds(NamedTuple):
    """What one child of the sandbox may use."""

    wall_s: float = 60.0
    cpu_s: float = 120.0
    memory_mb: int = 2048
    output_kb: int = 100
    scratch_mb: int = 256
    threads: int = 64


class Ran(NamedTuple):
    """What came of a piece of code."""

    stdout: str
    stderr: str
    error: str | None
    truncated: bool
    duration_ms: int
    restarted: bool


class Sandbox(Protocol):
    """Runs code of users, and reads files of theirs, where neither can do harm."""

    @property
    def state(self) -> tuple[str, str]:
        """The mode that fences them in and what it leaves to be seen, or `none` and why."""

    def create(self, owner: Owner) -> str: ...
    def run(
        self, owner: Owner, executor: str, code: str, locate: Locate, cancelled: Callable[[], bool]
    ) -> Ran: ...
    def read(self, task: str, file: Path, bounds: Bounds) -> str: ...
