"""Keep, change and hide items of any kind."""

from typing import Annotated

from pydantic import Field

from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.engine.recording import NAMED_KINDS
from memolith.engine.validation import callers_metadata
from memolith.errors import InvalidInput, NotFound
from memolith.tools.arguments import JsonObject, bare_id
from memolith.tools.call import Call
from memolith.tools.core.dialect import core
from memolith.tools.core.models import Fetched, ItemHistory, Overview, Remembered, WholeItem
from memolith.tools.core.project_at_hand import KINDS_OF_PROJECTS, project_at_hand
from memolith.tools.core.views import event_body, item_body
from memolith.tools.results import (
    ChangedItem,
    changed_item,
    conflicts_with,
    replaced,
    text_with_speakers,
)

RECENT_ITEMS = 5
MAX_SHOWN_ID = 100
MAX_SHOWN_IDS = 5
"""How much of a message about missing items is made of their ids."""


@core.tool(example={"content": "Otters hold hands while they sleep."})
def remember(
    call: Call,
    *,
    content: str,
    kind: str = "memory",
    title: str = "",
    tags: list[str] | None = None,
    project: str | None = None,
    metadata: JsonObject | None = None,
    idempotency_key: str | None = None,
) -> Remembered:
    """Keep a fact, decision or preference for later sessions."""
    if project is None and kind in KINDS_OF_PROJECTS:
        project = project_at_hand(call)
    draft = Draft(
        kind=kind,
        title=title,
        blocks=(Block(content),),
        tags=tuple(tags or ()),
        attributes=callers_metadata(metadata or {}),
        project=project,
    )
    conflicts = conflicts_with(call, draft)
    written = call.engine.writing.remember(call.caller, draft)
    return {
        "id": written.item.id,
        "redactions": dict(written.redactions),
        "similar": [similar.id for similar in written.similar if call.may_read],
        "conflicts": conflicts,
    }


def _check_that_it_needs_no_title(call: Call, id: str) -> None:
    """Refuse to take away a title by which other families find an item."""
    for item, _ in call.engine.reading.read_many(call.caller, [id]):
        if item.kind in NAMED_KINDS and item.title:
            raise InvalidInput(f"A {item.kind} needs a title: it is found by it.", field="title")


@core.tool(read_only=True, example={"ids": ["one"]})
def fetch(call: Call, *, ids: Annotated[list[str], Field(min_length=1, max_length=50)]) -> Fetched:
    """Whole items by id."""
    wanted = [bare_id(id) for id in ids]
    found = call.engine.reading.read_many(call.caller, wanted)
    missing = sorted(set(wanted) - {item.id for item, _ in found})
    if not found:
        shown = ", ".join(repr(id[:MAX_SHOWN_ID]) for id in missing[:MAX_SHOWN_IDS])
        raise NotFound(
            f"There is no item {shown}, or it was forgotten.", field="ids", id=missing[0]
        )
    marks = call.engine.reading.superseded(call.caller, [item.id for item, _ in found])
    items: list[WholeItem] = []
    for item, blocks in found:
        call.note_read(item.id)
        items.append(
            {
                **item_body(item),
                "content": text_with_speakers(blocks),
                **replaced(marks.get(item.id)),
            }
        )
    return {"items": items, "warnings": [f"not found: {id}" for id in missing]}


@core.tool(idempotent=True, example={"id": "one", "title": "New title"})
def revise(
    call: Call,
    *,
    id: str,
    content: str | None = None,
    title: str | None = None,
    tags: list[str] | None = None,
    metadata: JsonObject | None = None,
    expected_version: int | None = None,
) -> ChangedItem:
    """Change an item; its history keeps the old text."""
    if content is None and title is None and tags is None and not metadata:
        raise InvalidInput("Say what to change: content, title, tags or metadata.", field="content")
    if title is not None and not title.strip():
        _check_that_it_needs_no_title(call, bare_id(id))
    patch = Patch(
        title=title,
        blocks=None if content is None else (Block(content),),
        tags=None if tags is None else tuple(tags),
        # Names that are not given stay as they are, for other programs may have put them there.
        attributes=None if metadata is None else callers_metadata(metadata),
    )
    written = call.engine.writing.revise(call.caller, bare_id(id), patch, expected_version)
    return changed_item(written)


@core.tool(destructive=True, example={"id": "two"})
def forget(call: Call, *, id: str) -> ChangedItem:
    """Hide an item; `restore` brings it back."""
    written = call.engine.writing.forget(call.caller, bare_id(id))
    return changed_item(written)


@core.tool(example={"id": "gone"})
def restore(call: Call, *, id: str) -> ChangedItem:
    """Bring a forgotten item back."""
    written = call.engine.writing.restore(call.caller, bare_id(id))
    return changed_item(written)


@core.tool(read_only=True, example={"id": "one"})
def history(call: Call, *, id: str, as_of: str | None = None) -> ItemHistory:
    """Who changed what and when."""
    steps = call.engine.history.history(call.caller, bare_id(id), as_of)
    return {"events": [event_body(step) for step in steps]}


@core.tool(read_only=True)
def overview(call: Call) -> Overview:
    """Counts by kind, newest items, health."""
    newest = call.engine.reading.list_items(call.caller, limit=RECENT_ITEMS)
    return {
        "counts": call.engine.reading.count_by(call.caller, "kind"),
        "recent": [item_body(item) for item in newest.items],
        "health": call.engine.maintenance.health(call.caller.tenant),
    }
