"""Items as a table for spreadsheets: CSV with one item a row."""

import csv
import json
from typing import TextIO

from memolith.domain.callers import Caller
from memolith.engine.engine import Engine
from memolith.interchange.exporters.collection import live_items

COLUMNS = (
    "id",
    "kind",
    "title",
    "text",
    "tags",
    "project",
    "namespace",
    "status",
    "owner",
    "created_at",
    "updated_at",
    "attributes",
)

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
"""With what a cell begins that spreadsheets may compute."""


def _no_formula(text: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would run it as a formula."""
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text


def write_csv(engine: Engine, caller: Caller, file: TextIO) -> int:
    """Write every item; returns how many. Tags and attributes are JSON."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    count = 0
    for item, blocks in live_items(engine, caller):
        count += 1
        writer.writerow(
            (
                item.id,
                item.kind,
                _no_formula(item.title),
                _no_formula("\n".join(block.text for block in blocks)),
                json.dumps(item.tags, ensure_ascii=False),
                _no_formula(item.project or ""),
                _no_formula(item.namespace or ""),
                item.status,
                _no_formula(item.owner),
                item.created_at,
                item.updated_at,
                json.dumps(dict(item.attributes), ensure_ascii=False, sort_keys=True),
            )
        )
    return count
