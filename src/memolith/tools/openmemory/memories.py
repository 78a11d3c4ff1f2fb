"""Add, search, list and delete the memories of the user whose key it is."""

import json
from typing import Any

from memolith.domain.attributes import Json
from memolith.domain.items import Draft, Item
from memolith.domain.queries import Filter, Query
from memolith.errors import NotFound
from memolith.ports.analyst import ChatMessage
from memolith.tools.call import Call
from memolith.tools.mem0.views import memory_body, scope_attributes, text_of
from memolith.tools.openmemory.dialect import openmemory
from memolith.tools.openmemory.models import TextResult

MEMORIES = Filter(kinds=("memory",))
MAX_FOUND = 10


@openmemory.tool(example={"text": "I keep bees on the roof."})
def add_memories(call: Call, *, text: str, infer: bool = True) -> TextResult:
    """Keep what is worth knowing later. Call this whenever the user tells something about
    themselves, their wishes or their work, or asks you to remember something. `infer` picks the
    facts out of the text; without it the text is kept as it is."""
    attributes: dict[str, Json] = {
        **scope_attributes({"user_id": call.caller.user}),
        "source_app": "openmemory",
    }
    if call.client is not None and call.client.program:
        attributes["mcp_client"] = call.client.program
    place = Draft(kind="memory", attributes=attributes)
    if infer:
        kept = call.engine.facts.keep(call.caller, [ChatMessage("user", text)], place)
    else:
        kept = call.engine.facts.keep_verbatim(call.caller, [text], place)
    results = [
        {"id": item.id, "memory": stored, "event": "ADD"}
        for item, stored in zip(kept.items, kept.texts, strict=True)
    ]
    return _as_text({"results": results})


@openmemory.tool(read_only=True, example={"query": "zebra"})
def search_memory(call: Call, *, query: str) -> TextResult:
    """Memories that a question is about. Call this before you answer a question of the user."""
    found = call.engine.recall.search(
        call.caller,
        Query(text=query, filter=MEMORIES, limit=MAX_FOUND, per_item=True, family="openmemory"),
    )
    scores = {hit.item.id: hit.score for hit in found.hits}
    call.note_hits(scores)
    results = []
    for item, blocks in call.engine.reading.read_many(call.caller, list(scores)):
        body = memory_body(item, text_of(blocks))
        results.append(
            {
                "id": item.id,
                "memory": body["memory"],
                "hash": body["hash"],
                "created_at": item.created_at,
                "updated_at": item.updated_at,
                "score": scores[item.id],
            }
        )
    return _as_text({"results": results}, indent=2)


@openmemory.tool(read_only=True)
def list_memories(call: Call) -> TextResult:
    """All memories of the user, the newest first."""
    ids = [item.id for item in _own_memories(call)]
    found = call.engine.reading.read_many(call.caller, ids)
    return _as_text([memory_body(item, text_of(blocks)) for item, blocks in found], indent=2)


@openmemory.tool(destructive=True, example={"memory_ids": ["two"]})
def delete_memories(call: Call, *, memory_ids: list[str]) -> TextResult:
    """Delete memories by their ids; they can be restored."""
    own = {item.id for item in _own_memories(call)}
    ids = [id for id in dict.fromkeys(memory_ids) if id in own]
    if not ids:
        raise NotFound("No accessible memories found with provided IDs", field="memory_ids")
    call.engine.writing.forget_all(call.caller, ids, "memory")
    return {"result": f"Successfully deleted {len(ids)} memories"}


@openmemory.tool(destructive=True)
def delete_all_memories(call: Call) -> TextResult:
    """Delete all memories of the user; they can be restored."""
    ids = [item.id for item in _own_memories(call)]
    call.engine.writing.forget_all(call.caller, ids, "memory")
    return {"result": "Successfully deleted all memories"}


def _own_memories(call: Call) -> list[Item]:
    """The memories of the caller, the newest first; what others share with them is not theirs."""
    items = call.engine.reading.list_all(call.caller, MEMORIES)
    return [item for item in items if item.owner == call.caller.user]


def _as_text(value: Any, indent: int | None = None) -> TextResult:
    return {"result": json.dumps(value, ensure_ascii=False, indent=indent)}
