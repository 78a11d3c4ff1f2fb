"""Reads the files of a repository: a clone, a bare git directory, or a plain folder."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MAX_FILE_BYTES = 4 * 1024 * 1024
"""Larger files are passed over, so that every copy of a repository gives the same lines.

Some mirrors keep no larger ones.
"""


class SourceError(Exception):
    """A repository cannot be read; the message says which one and what to do."""


class Repository:
    """The text files of one repository, sorted by path."""

    def paths(self, under: str, suffix: str = "") -> list[str]:
        """The paths in a folder and its subfolders that end in the suffix."""
        prefix = under.rstrip("/") + "/" if under else ""
        return [path for path in self.all_paths() if self._matches(path, prefix, suffix)]

    @staticmethod
    def _matches(path: str, prefix: str, suffix: str) -> bool:
        return path.startswith(prefix) and path.endswith(suffix)

    def all_paths(self) -> list[str]:
        """Every path that can be read."""
        raise NotImplementedError

    def text(self, path: str) -> str:
        """What a file says. Characters that are not UTF-8 are replaced."""
        return self._bytes(path).decode("utf-8", errors="replace").replace("\r\n", "\n")

    def _bytes(self, path: str) -> bytes:
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what is open."""


class FolderRepository(Repository):
    """A plain folder, such as an unpacked archive."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all_paths(self) -> list[str]:
        """Every path that can be read."""
        files = (path for path in self._folder.rglob("*") if path.is_file())
        small = (path for path in files if path.stat().st_size <= MAX_FILE_BYTES)
        return sorted(path.relative_to(self._folder).as_posix() for path in small)

    def _bytes(self, path: str) -> bytes:
        try:
            return (self._folder / path).read_bytes()
        except OSError as error:
            raise SourceError(f"{self._folder} has no readable file {path!r}") from error


class GitRepository(Repository):
    """One commit of a git directory, read without a work tree."""

    def __init__(self, git_dir: Path, commit: str) -> None:
        self._git_dir = git_dir
        self._commit = commit
        self._blobs = self._list_blobs()
        self._reader = subprocess.Popen(
            [*self._git(), "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def _git(self) -> list[str]:
        return ["git", f"--git-dir={self._git_dir}"]

    def _list_blobs(self) -> dict[str, str]:
        listing = subprocess.run(
            [*self._git(), "ls-tree", "-r", "-l", "-z", self._commit],
            capture_output=True,
            check=False,
        )
        if listing.returncode != 0:
            raise SourceError(
                f"{self._git_dir} has no commit {self._commit!r}: fetch it, or give --any-commit "
                "to read the newest one at hand"
            )
        blobs = {}
        for entry in listing.stdout.decode("utf-8", errors="replace").split("\0"):
            if not entry:
                continue
            described, path = entry.split("\t", 1)
            _mode, kind, digest, size = described.split()
            # A file that the mirror does not hold has no number for its size.
            if kind == "blob" and size.isdigit() and int(size) <= MAX_FILE_BYTES:
                blobs[path] = digest
        return blobs

    def all_paths(self) -> list[str]:
        """Every path that can be read."""
        return sorted(self._blobs)

    def _bytes(self, path: str) -> bytes:
        digest = self._blobs.get(path)
        if digest is None:
            raise SourceError(f"{self._git_dir} has no readable file {path!r} at {self._commit}")
        assert self._reader.stdin is not None
        assert self._reader.stdout is not None
        self._reader.stdin.write(f"{digest}\n".encode())
        self._reader.stdin.flush()
        header = self._reader.stdout.readline().split()
        if len(header) != 3:
            raise SourceError(f"git cannot read {path!r} from {self._git_dir}")
        content = self._reader.stdout.read(int(header[2]))
        self._reader.stdout.read(1)
        return content

    def close(self) -> None:
        """End the git process that reads the files."""
        assert self._reader.stdin is not None
        assert self._reader.stdout is not None
        self._reader.stdin.close()
        self._reader.wait()
        self._reader.stdout.close()


def git_directory(folder: Path) -> Path | None:
    """The git directory of a clone or of a bare repository, None for a plain folder."""
    for candidate in (folder, folder / ".git", folder / "repo", folder / "repo" / ".git"):
        if (candidate / "HEAD").is_file() and (candidate / "objects").is_dir():
            return candidate
    return None


@contextmanager
def open_repository(folder: Path, commit: str) -> Iterator[Repository]:
    """The repository in a folder: at the commit when it has a git directory, else as it lies."""
    git_dir = git_directory(folder)
    repository: Repository
    if git_dir is None:
        repository = FolderRepository(folder)
    else:
        repository = GitRepository(git_dir, commit)
    try:
        yield repository
    finally:
        repository.close()


def clone(url: str, commit: str, folder: Path) -> None:
    """Fetch one commit of a repository, without its history, into a new bare git directory."""
    folder.mkdir(parents=True, exist_ok=True)
    git = ["git", f"--git-dir={folder}"]
    steps = [
        ["git", "init", "--quiet", "--bare", str(folder)],
        [*git, "fetch", "--quiet", "--depth=1", url, commit],
        [*git, "update-ref", "HEAD", commit],
    ]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SourceError(f"cannot fetch {commit} of {url}: {done.stderr.strip()}")
