"""Lists in pages, with a cursor that says where the next one begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError

Entry = TypeVar("Entry")

# Large enough for every tool there is, because some clients never ask for a second page.
PAGE = 250


def page(entries: Sequence[Entry], params: types.PaginatedRequestParams | None) -> tuple[list[Entry], str | None]:
    """The entries of the page that was asked for, and the cursor of the next, if there is one."""
    cursor = params.cursor if params is not None else None
    start = 0
    if cursor is not None:
        start = int(cursor) if cursor.isascii() and cursor.isdecimal() and len(cursor) < 10 else 0
        if not 0 < start < len(entries):
            raise MCPError(types.INVALID_PARAMS, "The cursor is not valid (any more); list again from the start.")
    end = start + PAGE
    return list(entries[start:end]), str(end) if end < len(entries) else None
