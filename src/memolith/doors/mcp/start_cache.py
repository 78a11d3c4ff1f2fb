"""The answers that open an MCP session, kept in the cache folder from one start to the next.

Importing the MCP SDK and building every tool takes a second, and clients start a stdio server with
each of their own sessions. So the first start on a machine keeps its answers to `initialize`,
`server/discover`, `ping` and `tools/list`, and the next start reads them from here.

A file is only used if it was made by the same versions of everything that shapes the answers, if it
is whole, and if no other user could have written it. Anything else costs time, never correctness.

This module is imported before the first answer, so it imports only what is quick.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import zlib

from memolith import __version__
from memolith.private_files import make_private_folder, open_private

StartAnswers = dict[str, dict[str, bytes]]
"""Results as JSON, by protocol version and method."""

PACKAGES = ("mcp", "mcp_types", "pydantic", "pydantic_core")
"""The packages whose version shapes the answers, by the name of their import."""

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED_FOLDERS = frozenset(
    "__pycache__ adapters analysts cli http install readers retrieval sandbox storage".split()
)
"""Folders that no tool may import from, so that a change to them cannot change the answers."""
SOURCE_SUFFIXES = (".py", ".toml")
FILE_PREFIX = "start-"
MAX_FILES = 20
"""How many files are kept, one for each profile and set of versions."""
MAX_FILE_BYTES = 16 << 20
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class StartCache:
    """The kept answers for one choice of tools."""

    def __init__(self, folder: str, profile: str, read_only: bool) -> None:
        self.folder = folder
        self.key = cache_key(profile, read_only)
        """What the answers depend on. None if that is unknown; then nothing is read or kept."""
        name = f"{FILE_PREFIX}{zlib.crc32(json.dumps(self.key).encode()):08x}.jsonl"
        self.path = os.path.join(folder, name)

    def disable(self) -> None:
        """Read and keep nothing from now on."""
        self.key = None

    def read(self) -> StartAnswers:
        """The kept answers; empty if there are none that fit."""
        if self.key is None:
            return {}
        try:
            if not stat.S_ISREG(os.stat(self.path).st_mode):
                return {}
            with open(self.path, "rb") as file:
                if not is_own(os.fstat(file.fileno())):
                    return {}
                head, _, body = file.read(MAX_FILE_BYTES).partition(b"\n")
            header = json.loads(head)
            if header["key"] != self.key or header["crc32"] != zlib.crc32(body):
                return {}
            return unpacked(header["lines"], body)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return {}

    def can_write(self) -> bool:
        """Make the folder; False if nothing can be kept in it."""
        if self.key is None:
            return False
        try:
            # Its parent may be a data folder that does not exist yet.
            make_private_folder(self.folder)
        except OSError:
            return False
        return os.access(self.folder, os.W_OK)

    def write(self, answers: StartAnswers) -> None:
        """Keep the answers for the next start, if that is possible."""
        if not self.can_write():
            return
        lines, body = packed(answers)
        head = json.dumps({"key": self.key, "crc32": zlib.crc32(body), "lines": lines})
        temporary = f"{self.path}.{os.getpid()}.tmp"
        try:
            # Another process sees the whole file or none; of two that write at once, the last wins.
            with open(temporary, "wb", opener=open_private) as file:
                file.write(head.encode() + b"\n" + body)
            os.replace(temporary, self.path)
            self.remove_oldest()
        except OSError:
            remove_if_there(temporary)

    def remove_oldest(self) -> None:
        names = [name for name in os.listdir(self.folder) if name.startswith(FILE_PREFIX)]
        paths = [os.path.join(self.folder, name) for name in names]
        paths.sort(key=os.path.getmtime, reverse=True)
        for path in paths[MAX_FILES:]:
            remove_if_there(path)


def packed(answers: StartAnswers) -> tuple[dict[str, dict[str, int]], bytes]:
    """Which line each answer is, and the lines; most protocol versions share theirs."""
    numbers: dict[bytes, int] = {}
    lines: dict[str, dict[str, int]] = {}
    for version, results in answers.items():
        lines[version] = {}
        for method, result in results.items():
            lines[version][method] = numbers.setdefault(result, len(numbers))
    return lines, b"\n".join(numbers)


def unpacked(lines: dict[str, dict[str, int]], body: bytes) -> StartAnswers:
    texts = body.split(b"\n")
    answers: StartAnswers = {}
    for version, numbers in lines.items():
        answers[version] = {method: texts[number] for method, number in numbers.items()}
    return answers


def remove_if_there(path: str) -> None:
    # Not with `contextlib`, which nothing else needs before the first answer.
    try:
        os.unlink(path)
    except OSError:
        return


def is_own(status: os.stat_result) -> bool:
    """Whether only this user or the administrator can have written a file.

    The answers describe tools to a model, so another user must not be able to change them.
    """
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & WRITABLE_BY_OTHERS


def cache_key(profile: str, read_only: bool) -> dict[str, object] | None:
    """Everything that the answers depend on; None if a version cannot be told."""
    try:
        versions = installed_versions()
        fingerprint = source_fingerprint(PACKAGE_FOLDER)
    except OSError:
        return None
    if versions is None:
        return None
    return {
        "profile": profile,
        "read_only": read_only,
        "memolith": f"{__version__} {fingerprint}",
        "packages": versions,
        "python": sys.implementation.cache_tag,
        # With -OO there are no docstrings, which the descriptions of the tools are made from.
        "optimize": sys.flags.optimize,
    }


def installed_versions() -> dict[str, str] | None:
    """The versions of PACKAGES that an import would find; None if one cannot be told.

    Read from the names of the `dist-info` folders, because `importlib.metadata` would cost more
    than the rest of the start.
    """
    names_by_folder: dict[str, list[str]] = {}
    versions = {}
    for package in PACKAGES:
        folder = import_folder(package)
        if folder is None:
            return None
        if folder not in names_by_folder:
            names_by_folder[folder] = os.listdir(folder)
        version = version_beside(names_by_folder[folder], package)
        if version is None:
            return None
        versions[package] = version
    return versions


def import_folder(package: str) -> str | None:
    """The first folder on the path that holds the package."""
    for folder in sys.path:
        if os.path.isfile(os.path.join(folder, package, "__init__.py")):
            return folder or "."
    return None


def version_beside(names: list[str], package: str) -> str | None:
    """The version of a package in the folder with these names; None unless there is exactly one."""
    found = []
    for name in names:
        if name.startswith(package + "-") and name.endswith(".dist-info"):
            found.append(name.removeprefix(package + "-").removesuffix(".dist-info"))
    return found[0] if len(found) == 1 else None


def source_fingerprint(package: str) -> str:
    """Changes with every change to the source that the tools are made from.

    The version alone does not tell two checkouts apart.
    """
    files: list[tuple[str, int, int]] = []
    folders = [package]
    while folders:
        for entry in os.scandir(folders.pop()):
            if entry.name.endswith(SOURCE_SUFFIXES):
                status = entry.stat()
                files.append((entry.path, status.st_size, status.st_mtime_ns))
            elif entry.name not in SKIPPED_FOLDERS and entry.is_dir():
                folders.append(entry.path)
    files.sort()
    return f"{zlib.crc32(repr(files).encode()):08x}"
