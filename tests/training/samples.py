"""Tiny repositories in the forms that the builders read. Every text is made up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from training.sources.repository import FolderRepository


def repository(folder: Path, files: Mapping[str, object]) -> FolderRepository:
    """A folder with these files; what is not a string is written as JSON."""
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        file.write_text(text, encoding="utf-8")
    return FolderRepository(folder)


def task(instances: Sequence[tuple[str, Sequence[str]]]) -> dict[str, object]:
    """A file of Natural Instructions with these instances."""
    return {"Instances": [{"input": shown, "output": list(out)} for shown, out in instances]}
