"""The git repository around a folder, read from its files; no program is run."""

import hashlib
import re
from functools import partial
from pathlib import Path

from memolith.ports.repository import Checkout

_REMOTE = re.compile(r'^\s*\[remote "(.+)"\]((?:\n(?!\s*\[).*)*)', re.M)
_URL = re.compile(r'^\s*url\s*=\s*"?(.+?)"?\s*$', re.M | re.I)
_ADDRESS = re.compile(r"(?:[\w+.-]+://)?(?:[^@/]*@)?([^/:]+)(?::\d+(?=/))?[:/]+(.+)")
_PACKED = re.compile(r"^[0-9a-f]+ refs/(?:heads|remotes/[^/\n]+)/(.+)$", re.M)


def checkout(start: Path) -> Checkout | None:
    """The repository that a folder lies in; each call looks anew."""
    start = start.resolve()
    for folder in (start, *start.parents):
        git = folder / ".git"
        if where := _text(git):
            # A worktree or a submodule: the file says where the rest is.
            git = (folder / where.removeprefix("gitdir:").strip()).resolve()
        if head := _text(git / "HEAD"):
            common = (git / (_text(git / "commondir") or ".")).resolve()
            return Checkout(str(folder), project(common), _branch(head), partial(branches, common))
    return None


def project(common: Path) -> str:
    """`github.com/acme/widgets` from the address of its remote; without one, a name that no other folder has."""
    remotes = {
        name: url[1]
        for name, body in _REMOTE.findall(_text(common / "config"))
        if (url := _URL.search(body))
    }
    if not remotes:
        return f"{common.parent.name}-{hashlib.blake2b(str(common).encode(), digest_size=4).hexdigest()}"
    address = remotes.get("origin") or min(remotes.values())
    parts = _ADDRESS.match(address)
    return (f"{parts[1].lower()}/{parts[2]}" if parts else address).strip("/").removesuffix(".git")


def branches(common: Path) -> frozenset[str] | None:
    """Every branch, those of remotes and those that have no commit yet included."""
    if (common / "reftable").is_dir():
        return None
    found = {
        *_PACKED.findall(_text(common / "packed-refs")),
        *(_branch(_text(head)) for head in (common / "HEAD", *common.glob("worktrees/*/HEAD"))),
    }
    for folder in (common / "refs" / "heads", *(common / "refs" / "remotes").glob("*")):
        found |= {
            path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
        }
    return frozenset(name for name in found if name)


def _branch(head: str) -> str | None:
    """The branch that is checked out; none where a commit is, nor where the name is kept in another form."""
    name = head.removeprefix("ref: refs/heads/")
    return None if name in (head, ".invalid") else name


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
