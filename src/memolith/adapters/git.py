"""The git repository around a folder, read from its files; no program is run."""

import hashlib
import re
from functools import partial
from pathlib import Path

from memolith.ports.repository import Checkout

BRANCH_PREFIX = "ref: refs/heads/"
REFTABLE_BRANCH = ".invalid"
"""What HEAD names where references are kept in a reftable, whose format is not read here."""

# Blanks of one line only: a row of empty lines would be scanned once for each of them.
_REMOTE = re.compile(r'^[^\S\n]*\[remote "(.+)"\]((?:\n(?![^\S\n]*\[).*)*)', re.M)
_URL = re.compile(r"^[^\S\n]*url[^\S\n]*=[^\S\n]*(\S.*)$", re.M | re.I)
_HOST_AND_PATH = re.compile(r"(?:[\w+.-]+://)?(?:[^@/]*@)?([^/:]+)(?::\d+(?=/))?[:/]+(.+)")
_PACKED_BRANCH = re.compile(r"^[0-9a-f]+ refs/(?:heads|remotes/[^/\n]+)/(.+)$", re.M)


def checkout(start: Path) -> Checkout | None:
    """The repository that a folder lies in; every call reads it anew."""
    start = start.resolve()
    for folder in (start, *start.parents):
        git = _git_folder(folder)
        head = _text(git / "HEAD")
        if head:
            # A worktree shares most of the repository with the folder that it was made from.
            common = (git / (_text(git / "commondir") or ".")).resolve()
            return Checkout(
                path=str(folder),
                project=project_name(common),
                branch=_branch(head),
                branches=partial(branches, common),
            )
    return None


def project_name(common: Path) -> str:
    """`github.com/acme/widgets`, from the address of its remote.

    Without a remote: the name of the folder and a hash of its path, which no other folder has.
    """
    remotes = _remotes(common)
    if not remotes:
        digest = hashlib.blake2b(str(common).encode(), digest_size=4).hexdigest()
        return f"{common.parent.name}-{digest}"
    address = remotes.get("origin") or min(remotes.values())
    parts = _HOST_AND_PATH.match(address)
    name = address
    if parts:
        host, path = parts.groups()
        name = f"{host.lower()}/{path}"
    return name.strip("/").removesuffix(".git")


def branches(common: Path) -> frozenset[str] | None:
    """Every branch, of remotes and without a commit too; None if they cannot be read."""
    if (common / "reftable").is_dir():
        return None
    names = set(_PACKED_BRANCH.findall(_text(common / "packed-refs")))
    for head in (common / "HEAD", *common.glob("worktrees/*/HEAD")):
        branch = _branch(_text(head))
        if branch:
            names.add(branch)
    references = common / "refs"
    for folder in (references / "heads", *(references / "remotes").glob("*")):
        for path in folder.rglob("*"):
            if path.is_file():
                names.add(path.relative_to(folder).as_posix())
    return frozenset(names)


def _git_folder(folder: Path) -> Path:
    """Where the repository of a folder would be kept, if it has one."""
    git = folder / ".git"
    pointer = _text(git)
    if not pointer:
        return git
    # In a worktree or a submodule `.git` is a file that names the folder.
    return (folder / pointer.removeprefix("gitdir:").strip()).resolve()


def _remotes(common: Path) -> dict[str, str]:
    """The addresses of the remotes by name."""
    remotes = {}
    for name, section in _REMOTE.findall(_text(common / "config")):
        url = _URL.search(section)
        if url:
            remotes[name] = url[1].rstrip().removeprefix('"').removesuffix('"')
    return remotes


def _branch(head: str) -> str | None:
    """The branch that is checked out; None if a commit is, or if it cannot be told."""
    if not head.startswith(BRANCH_PREFIX):
        return None
    name = head.removeprefix(BRANCH_PREFIX)
    if name == REFTABLE_BRANCH:
        return None
    return name


def _text(path: Path) -> str:
    """The text of a file; empty if there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
