"""Ids as clients write them: bare, as an address, or as a URN."""

from __future__ import annotations

ITEM = "memolith://item/"


def bare_id(id: str) -> str:
    """The id itself; the last part of an address or a URN."""
    if "://" in id:
        return id.rsplit("/", 1)[-1]
    return id.rsplit(":", 1)[-1] if id.startswith("urn:") else id
