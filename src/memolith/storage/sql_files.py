"""Loads the statements of a `queries.sql` file by name."""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from memolith.errors import StoreCorrupt

FILTERS_MARK = "/* filters */"
"""Where the conditions of a filter are inserted; see `filters.py` of each database."""

_SEPARATOR = re.compile(r"^-- name: (\w+)\n((?:--.*\n)+)", re.MULTILINE)


def load_queries(file: Path) -> Mapping[str, str]:
    """The statements of a file by name, without their comments and the semicolon at the end.

    A statement follows a line `-- name: list_items` and at least one line of comment.
    """
    text = file.read_text(encoding="utf-8")
    _, *parts = _SEPARATOR.split(text)
    queries: dict[str, str] = {}
    for name, _comment, body in zip(parts[0::3], parts[1::3], parts[2::3], strict=True):
        statement, semicolon, rest = body.partition(";\n")
        # What follows a statement is blank, or the heading of the next section.
        is_complete = semicolon and not rest.split("-- ========")[0].strip()
        if name in queries or not is_complete:
            raise StoreCorrupt(f"{file.name}: the statement {name} is wrong or there twice.")
        queries[name] = statement
    return MappingProxyType(queries)
