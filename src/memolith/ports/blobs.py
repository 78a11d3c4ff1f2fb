"""Where files are kept."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol


class Blobs(Protocol):
    """Keeps files; one that is opened lies at a path until it is closed."""

    def put(self, key: str, source: Path) -> None: ...
    def opened(self, key: str) -> AbstractContextManager[Path]: ...
    def drop(self, key: str) -> None: ...
    def url(self, key: str, name: str, seconds: int) -> str | None:
        """An address that gives the file to anybody for a while, where the place of files can make one."""
