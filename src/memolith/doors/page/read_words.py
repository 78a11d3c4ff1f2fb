"""How somebody came to read an item, in plain words."""

from collections.abc import Mapping
from typing import Any

from memolith.tools.call import PAGE_FAMILY

SEARCHING = ("search", "recall", "query")
"""What is in the names of the tools that search."""
PACKING_TOOL = "context"
"""The tool of `core` that packs passages, which others with this word in their names do not."""


def is_on_page(read: Mapping[str, Any]) -> bool:
    """Whether it was read on the web page."""
    family: str = read["family"]
    return family == PAGE_FAMILY


def is_hit(read: Mapping[str, Any]) -> bool:
    """Whether a search found it; else it was asked for by its id."""
    tool = read["tool"]
    return tool == PACKING_TOOL or any(word in tool for word in SEARCHING)


def read_verb(read: Mapping[str, Any]) -> str:
    """What somebody did, with the item to follow."""
    return "found" if is_hit(read) else "opened"


def read_way(read: Mapping[str, Any]) -> str:
    """How somebody came to the item."""
    if is_on_page(read):
        return "by a search on the web page" if is_hit(read) else "on the web page"
    way = f"through {read['family']} {read['tool']}"
    return f"by a search {way}" if is_hit(read) else way
