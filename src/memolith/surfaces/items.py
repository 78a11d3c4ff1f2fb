"""Items as every family takes and shows them: ids as clients write them, whole texts, what a change has left."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from pydantic import JsonValue

from memolith.engine.model import Block, Item, Passage, Written
from memolith.engine.verbs import visible
from memolith.errors import NotFound
from memolith.registry import Body, Call, shape

ITEM = "memolith://item/"
CHANGED = shape("redactions", id=str, version=int, event=int, redactions={"type": "object"})


def bare_id(id: str) -> str:
    """The id itself; the last part of an address or a URN."""
    if "://" in id:
        return id.rsplit("/", 1)[-1]
    return id.rsplit(":", 1)[-1] if id.startswith("urn:") else id


def the(call: Call, kind: str, id: str, field: str | None = None, *, forgotten: bool = False) -> Item:
    """The item of that kind, or an error that says which argument named none."""
    with suppress(NotFound), call.engine.store.reading(call.caller.tenant) as rows:
        if (item := visible(rows, call.caller, bare_id(id), forgotten)).kind == kind:
            return item
    raise NotFound(f"There is no {kind} {id[:100]!r}.", field=field, id=id)


def given(**values: JsonValue) -> dict[str, JsonValue]:
    """Those of the values that are not empty."""
    return {name: value for name, value in values.items() if value}


def changed(written: Written) -> Body:
    """The item as a write has left it."""
    return {"id": written.item.id, "version": written.item.version, "event": written.seq,
            "redactions": dict(written.redactions)}


def spoken(blocks: Sequence[Block | Passage]) -> str:
    """The whole text, with who said what where that is known."""
    return "\n\n".join(f"{block.speaker}: {block.text}" if block.speaker else block.text for block in blocks)
