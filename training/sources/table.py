"""The table of sources: where each comes from, under which licence, and what was made of it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE_FILE = Path(__file__).parent.parent / "sources.toml"


@dataclass(frozen=True)
class Source:
    """One source of lines."""

    name: str
    licence: str
    how: str
    lines: int
    """How many lines it gave when the table was written."""
    repository: str = ""
    """Owner and name on GitHub. Empty for what was written for this project."""
    commit: str = ""
    folder: str = ""
    """The folder beside the table that holds what was written for this project."""
    max_lines: int | None = None
    """At most so many lines, drawn at random with a fixed seed."""

    @property
    def url(self) -> str:
        """Where git clones it from."""
        return f"https://github.com/{self.repository}"


def read_table(path: Path = TABLE_FILE) -> list[Source]:
    """Every source that is built, in the order of the table."""
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Source(**entry) for entry in table["source"]]
