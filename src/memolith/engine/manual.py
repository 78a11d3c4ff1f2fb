"""The documentation of memolith, as a memory that can be searched."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.engine.writing import Writing

HEADING = re.compile(r"\n(?=#)")
LIBRARY_PAGES = ("clients", "library")


@dataclass(frozen=True)
class Manual:
    """Keeps the pages of a folder as documents of a tenant of their own."""

    writing: Writing
    folder: Path

    def caller(self) -> Caller:
        """Whose memory the documentation is.

        It is learned when first asked for, and again when it changes.
        """
        pages = [self._page(path) for path in sorted(self.folder.rglob("*.md"))]
        digest = hashlib.blake2b(repr(pages).encode(), digest_size=6).hexdigest()
        caller = Caller(f"manual-{digest}")
        self.writing.learn(caller, pages)
        return caller

    def _page(self, path: Path) -> Draft:
        name = path.relative_to(self.folder).as_posix()
        text = path.read_text(encoding="utf-8")
        title = text.split("\n", 1)[0].lstrip("# ")
        blocks = tuple(Block(section) for section in HEADING.split(text))
        return Draft("document", title, blocks, namespace=_section(name, path.stem), id=name)


def _section(name: str, stem: str) -> str:
    if name.startswith("reference/"):
        return "api"
    if stem in LIBRARY_PAGES:
        return "sdks"
    return "guides"
