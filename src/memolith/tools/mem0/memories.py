"""Read, change and delete one memory, or all memories of a user."""

from typing import Annotated, Literal, cast

from pydantic import Field

from memolith.domain.attributes import Json
from memolith.domain.items import Patch
from memolith.domain.passages import Block
from memolith.engine.history import Step
from memolith.errors import InvalidInput, NotFound
from memolith.tools.arguments import JsonObject
from memolith.tools.call import Call
from memolith.tools.mem0.api import mem0_api
from memolith.tools.mem0.filters import MEMORIES, matching_items, parse_filters
from memolith.tools.mem0.models import (
    ExpirationDate,
    FeedbackResult,
    HistoryEntry,
    HistoryResult,
    MemoryBody,
    Message,
    ScopeName,
)
from memolith.tools.mem0.views import (
    EXPIRES_AT,
    checked_metadata,
    expiry_of,
    find_memory,
    memory_body,
    text_of,
)

UNCHANGED: Literal["unchanged"] = "unchanged"
"""Stands for a date that is not given, because `null` takes a date away."""
EVENTS = {"remembered": "ADD", "forgotten": "DELETE", "restored": "ADD"}
"""What mem0 calls an event; any other one is an update."""


@mem0_api.route("GET", "/v1/memories/{memory_id}/", read_only=True)
def get(call: Call, *, memory_id: str) -> MemoryBody:
    """One memory."""
    item, blocks = find_memory(call, memory_id)
    call.note_read(item.id)
    return memory_body(item, text_of(blocks))


@mem0_api.route("PUT", "/v1/memories/{memory_id}/", idempotent=True, needs_read=True)
def update(
    call: Call,
    *,
    memory_id: str,
    text: Annotated[str | None, Field(min_length=1)] = None,
    metadata: JsonObject | None = None,
    expiration_date: ExpirationDate | Literal["unchanged"] | None = UNCHANGED,
) -> MemoryBody:
    """Change a memory; metadata that is not given stays."""
    find_memory(call, memory_id)
    attributes: dict[str, Json] = checked_metadata(metadata or {})
    dropped: tuple[str, ...] = ()
    if expiration_date is None:
        dropped = (EXPIRES_AT,)
    elif expiration_date != UNCHANGED:
        attributes[EXPIRES_AT] = expiry_of(expiration_date)
    patch = Patch(
        blocks=(Block(text),) if text is not None else None,
        attributes=attributes or None,
        dropped=dropped,
    )
    written = call.engine.writing.revise(call.caller, memory_id, patch)
    _, blocks = call.engine.reading.read(call.caller, memory_id, forgotten=True)
    return memory_body(written.item, text_of(blocks))


@mem0_api.route("DELETE", "/v1/memories/{memory_id}/", destructive=True)
def delete(call: Call, *, memory_id: str, delete_linked: bool = False) -> Message:
    """Forget a memory; with `delete_linked` also older ones that it has replaced."""
    find_memory(call, memory_id)
    ids = [memory_id]
    if delete_linked:
        ids += _replaced_by(call, memory_id)
    call.engine.writing.forget_all(call.caller, ids, "memory")
    return {"message": "Memory deleted successfully!"}


def _replaced_by(call: Call, id: str) -> list[str]:
    """The memories that one has replaced, and those that they have replaced."""
    items = call.engine.reading.list_all(call.caller, MEMORIES)
    marks = call.engine.reading.superseded(call.caller, [item.id for item in items])
    found: list[str] = []
    newer = [id]
    while newer:
        newer = [old for old, mark in marks.items() if mark.by in newer and old not in found]
        found += newer
    return found


@mem0_api.route("DELETE", "/v1/memories/", destructive=True)
def delete_all(
    call: Call,
    *,
    user_id: ScopeName = None,
    agent_id: ScopeName = None,
    app_id: ScopeName = None,
    run_id: ScopeName = None,
) -> Message:
    """Forget all memories of a user, an agent, an app or a run; `*` stands for every one."""
    named = {"user_id": user_id, "agent_id": agent_id, "app_id": app_id, "run_id": run_id}
    given: dict[str, Json] = {name: value for name, value in named.items() if value}
    if not given:
        raise InvalidInput(
            f"Say whose memories to delete: give one of {', '.join(named)}.", field="user_id"
        )
    items = matching_items(call, parse_filters(given), show_expired=True)
    call.engine.writing.forget_all(call.caller, [item.id for item in items], "memory")
    return {"message": "Memories deleted successfully!"}


@mem0_api.route("GET", "/v1/memories/{memory_id}/history/", body_field="history", read_only=True)
def history(call: Call, *, memory_id: str) -> HistoryResult:
    """What happened to a memory, the oldest first."""
    item, _ = call.engine.reading.read(call.caller, memory_id, forgotten=True)
    if item.kind != "memory":
        raise NotFound("Memory not found!", field="memory_id", id=memory_id)
    entries = []
    for step in call.engine.history.history(call.caller, memory_id):
        if step.event.stream == memory_id and step.event.type != "appraised":
            entries.append(_entry(step, cast("str | None", item.attributes.get("user_id"))))
    return {"history": entries}


def _entry(step: Step, user_id: str | None) -> HistoryEntry:
    before, after = step.changes.get("text", (None, None))
    return {
        "id": str(step.event.seq),
        "memory_id": step.event.stream,
        "event": EVENTS.get(step.event.type, "UPDATE"),
        "old_memory": None if before is None else str(before),
        "new_memory": None if after is None else str(after),
        "user_id": user_id,
        "created_at": step.event.at,
        "updated_at": step.event.at,
    }


@mem0_api.route("POST", "/v1/feedback/")
def feedback(
    call: Call,
    *,
    memory_id: str,
    feedback: Literal["POSITIVE", "NEGATIVE", "VERY_NEGATIVE"] | None = None,
    feedback_reason: str | None = None,
) -> FeedbackResult:
    """Keep what somebody thinks of a memory with its metadata; `null` takes it away again."""
    find_memory(call, memory_id)
    given: dict[str, Json] = {"feedback": feedback, "feedback_reason": feedback_reason}
    kept = {name: value for name, value in given.items() if value is not None}
    dropped = tuple(name for name, value in given.items() if value is None)
    patch = Patch(attributes=kept or None, dropped=dropped)
    written = call.engine.writing.revise(call.caller, memory_id, patch)
    return {
        "id": str(written.seq),
        "memory_id": memory_id,
        "feedback": feedback,
        "feedback_reason": feedback_reason,
    }
