"""Keeps files by their keys, below one folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memolith.errors import NotFound, of_system


class FolderBlobs:
    """Files below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, key: str, source: Path) -> None:
        try:
            (self.root / key).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, self.root / key)
        except OSError as error:
            raise of_system(error) from error

    @contextmanager
    def opened(self, key: str) -> Iterator[Path]:
        if not (self.root / key).is_file():
            raise NotFound("The stored file is not there any more.")
        yield self.root / key

    def drop(self, key: str) -> None:
        try:
            (self.root / key).unlink(missing_ok=True)
        except OSError as error:
            raise of_system(error) from error

    def url(self, key: str, name: str, seconds: int) -> str | None:
        """Only the server can give such a file away."""
        return None
