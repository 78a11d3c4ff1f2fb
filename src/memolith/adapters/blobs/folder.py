"""Files of documents in a folder."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from memolith.errors import NotFound, of_system
from memolith.private_files import close_to_others, make_private_folder


class FolderBlobs:
    """Keeps files below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, key: str, source: Path) -> None:
        target = self.root / key
        with _system_errors_translated():
            make_private_folder(str(target.parent))
            close_to_others(str(target.parent))
            # Written elsewhere first, so that the file is there whole or not at all.
            with TemporaryDirectory(prefix=".", dir=self.root) as folder:
                copy = Path(folder, "file")
                shutil.copyfile(source, copy)
                close_to_others(str(copy))
                _flush_to_disk(copy)
                copy.replace(target)

    @contextmanager
    def opened(self, key: str) -> Iterator[Path]:
        path = self.root / key
        if not path.is_file():
            raise NotFound("The stored file is not there any more.")
        yield path

    def drop(self, key: str) -> None:
        with _system_errors_translated():
            (self.root / key).unlink(missing_ok=True)

    def url(self, key: str, name: str, seconds: int) -> str | None:
        """None: only the server itself can give such a file away."""
        return None


def _flush_to_disk(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def _system_errors_translated() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise of_system(error) from error
