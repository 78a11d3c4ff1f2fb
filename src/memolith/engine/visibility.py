"""What a caller may see of items and links."""

import time

from memolith.domain.callers import Caller
from memolith.domain.clock import iso
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.errors import NotFound
from memolith.ports.store import Reader

NEVER = "~"
"""Sorts after every time."""


def visible(rows: Reader, caller: Caller, id: str, forgotten: bool = False) -> Item:
    """Return the item, if the caller may see it.

    The error is the same for an item that does not exist and for one that belongs to somebody else.
    """
    item = rows.item(caller.tenant, id)
    if item is None or not item.admits(caller) or (is_gone(item) and not forgotten):
        raise NotFound(f"There is no item {id[:100]!r}, or it was forgotten.", id=id)
    return item


def is_gone(item: Item) -> bool:
    """Whether the item was forgotten or has expired."""
    if item.forgotten:
        return True
    expires_at = str(item.attributes.get("expires_at") or NEVER)
    now = iso(time.time_ns() // 1000)
    return expires_at <= now


def sees_both_ends(rows: Reader, caller: Caller, link: Link, forgotten: bool = True) -> bool:
    """Whether the caller may see both ends of a link; with `forgotten`, also ends that are gone."""
    ends = rows.items(caller.tenant, (link.source, link.target)).values()
    if len(ends) != 2:
        return False
    return all(end.admits(caller) and (forgotten or not is_gone(end)) for end in ends)
