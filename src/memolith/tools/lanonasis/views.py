"""Memories as LanOnasis shows them."""

from collections.abc import Mapping, Sequence

from memolith.domain.attributes import Attributes
from memolith.domain.items import Item
from memolith.domain.passages import Block
from memolith.tools.arguments import JsonObject
from memolith.tools.call import Call
from memolith.tools.lanonasis.memory_types import memory_status_of, memory_type_of
from memolith.tools.lanonasis.models import MemoryBody, ScoredMemory
from memolith.tools.results import replaced, text_or_none, text_with_speakers

OWN_ATTRIBUTES = ("topic_id", "summary", "metadata")
"""Attributes with a place of their own in a memory; the others are shown as metadata."""
MAX_TITLE_LENGTH = 80


def memory_bodies(call: Call, ids: Sequence[str]) -> list[MemoryBody]:
    """The memories as they are now, deleted or not, in the order of the ids."""
    found = call.engine.reading.read_many(call.caller, ids, forgotten=True)
    accesses = call.engine.reading.accesses(call.caller, ids)
    marks = call.engine.reading.superseded(call.caller, ids)
    bodies: list[MemoryBody] = []
    for item, blocks in found:
        count, last_accessed = accesses.get(item.id, (0, None))
        body = _memory_body(item, blocks, count, last_accessed)
        bodies.append({**body, **replaced(marks.get(item.id))})
    return bodies


def memory_body(call: Call, id: str) -> MemoryBody:
    """One memory as it is now."""
    return memory_bodies(call, [id])[0]


def scored_memories(call: Call, scores: Mapping[str, float]) -> list[ScoredMemory]:
    """The memories with how similar they are, in the order of the scores."""
    return [
        {**body, "similarity_score": scores[body["id"]]}
        for body in memory_bodies(call, list(scores))
    ]


def _memory_body(
    item: Item, blocks: list[Block], access_count: int, last_accessed: str | None
) -> MemoryBody:
    attributes = item.attributes
    return {
        "id": item.id,
        "title": item.title or _first_line(blocks),
        "content": text_with_speakers(blocks),
        "memory_type": memory_type_of(item.namespace),
        "tags": list(item.tags),
        "status": "deleted" if item.forgotten else memory_status_of(item.status),
        "summary": text_or_none(attributes.get("summary")),
        "topic_id": text_or_none(attributes.get("topic_id")),
        "project_ref": item.project,
        "user_id": item.owner,
        "metadata": _metadata(attributes),
        "access_count": access_count,
        "last_accessed": last_accessed,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def _metadata(attributes: Attributes) -> JsonObject:
    """What a memory has beside the documented fields.

    Other families keep what they like by any name, so a field with the name of a documented one
    may be something else.
    """
    shown = {name: value for name, value in attributes.items() if name not in OWN_ATTRIBUTES}
    for name in ("summary", "topic_id"):
        value = attributes.get(name)
        if value is not None and not isinstance(value, str):
            shown[name] = value
    metadata = attributes.get("metadata")
    if isinstance(metadata, dict):
        shown |= metadata
    elif metadata is not None:
        shown["metadata"] = metadata
    return shown


def _first_line(blocks: list[Block]) -> str:
    return blocks[0].text.strip().splitlines()[0][:MAX_TITLE_LENGTH]
