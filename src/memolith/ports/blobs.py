"""Where the files of documents are kept."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol


class Blobs(Protocol):
    """Keeps files by their keys."""

    def put(self, key: str, source: Path) -> None:
        """Keep a copy of a file: whole, or not at all."""

    def opened(self, key: str) -> AbstractContextManager[Path]:
        """The path at which a file can be read until the context ends; NotFound if it is gone."""

    def drop(self, key: str) -> None:
        """Remove a file; nothing happens if there is none."""

    def url(self, key: str, name: str, seconds: int) -> str | None:
        """An address that gives the file to anybody for a while; None if this place has none."""
