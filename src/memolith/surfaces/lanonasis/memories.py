"""Memories: create, read, change, delete, list, search and count."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, JsonValue, WithJsonSchema

from memolith.engine.configuration import SET
from memolith.engine.model import Block, Draft, Filter, Patch
from memolith.engine.ports import Reader
from memolith.engine.recall import Query
from memolith.errors import Conflict, InvalidInput
from memolith.registry import Call
from memolith.surfaces.lanonasis import shapes
from memolith.surfaces.lanonasis.shapes import Body, Memory, MemoryId, MemoryType, Named, Object, Status, Tags, the
from memolith.surfaces.names import bare_id

TopicId = Annotated[str | None, Field(description="The id of a topic.")]
AllTags = Annotated[list[str] | None, Field(description="All of these.")]
Limit = Annotated[int, Field(ge=1, le=100)]
Page = Annotated[int, Field(ge=1, le=10**9)]
Sort = Literal["created_at", "updated_at", "title", "access_count", "last_accessed"]
# An empty text stands for an argument that was left out, because null has a meaning.
Change = Annotated[str | None, Field(description="Null: none.", json_schema_extra=lambda s: s.pop("default", None))]

Deleted = Annotated[Body, WithJsonSchema(shapes.schema(success=bool, message=str, deleted_id=str))]
Listed = Annotated[Body, WithJsonSchema(shapes.schema(data=[shapes.MEMORY], pagination=shapes.schema(
    page=int, limit=int, total=int, pages=int)))]
Searched = Annotated[Body, WithJsonSchema(shapes.schema("warnings", results=[shapes.SCORED], total_results=int,
                                                 search_time_ms=float, **shapes.NOTED))]
BulkDeleted = Annotated[Body, WithJsonSchema(shapes.schema(deleted_count=int, failed_ids=[str]))]


@shapes.lanonasis.tool()
def create_memory(call: Call, *, title: Named, content: Named, memory_type: MemoryType = "context", tags: Tags = None,
                  topic_id: TopicId = None, project_ref: str | None = None, metadata: Object | None = None,
                  summary: str | None = None) -> Memory:
    """Keep a memory; it can be found at once."""
    shapes.measured(call, tags, title=title, content=content, summary=summary, project_ref=project_ref)
    attributes: dict[str, JsonValue] = {"metadata": metadata, "summary": summary,
                                        "topic_id": topic_id and the(call, "topic", topic_id, "topic_id").id}
    draft = Draft(title=title, blocks=(Block(content),), tags=tuple(tags or ()), project=project_ref,
                  namespace=memory_type, attributes={name: value for name, value in attributes.items() if value})
    written = call.engine.remember(call.caller, draft, call.idempotency_key, lambda rows: _room(call, rows))
    return {**shapes.memory(call, written.item.id), "redactions": dict(written.redactions)}


@shapes.lanonasis.tool(read_only=True)
def get_memory(call: Call, *, memory_id: MemoryId) -> Memory:
    """One whole memory; counts as a reading of it."""
    item = the(call, "memory", memory_id, "memory_id")
    call.engine.note_read(call.caller, item.id)
    return shapes.memory(call, item.id)


@shapes.lanonasis.tool(idempotent=True)
def update_memory(call: Call, *, memory_id: MemoryId, title: Named | None = None, content: Named | None = None,
                  memory_type: MemoryType | None = None, tags: Tags = None, topic_id: Change = "",
                  project_ref: Change = "", status: Status | None = None, metadata: Object | None = None,
                  summary: str | None = None) -> Memory:
    """Change a memory: what is given takes the place of what was there, which stays in its history."""
    given = (title, content, memory_type, tags, status, metadata, summary, topic_id or None, project_ref or None)
    if all(one is None for one in given) and topic_id is not None and project_ref is not None:
        raise InvalidInput("Say what to change.", field="title")
    item = the(call, "memory", memory_id, "memory_id")
    shapes.measured(call, tags, title=title, content=content, summary=summary, project_ref=project_ref)
    topic = the(call, "topic", topic_id, "topic_id").id if topic_id else None
    kept = {name: value for name, value in (("metadata", metadata), ("summary", summary), ("topic_id", topic))
            if value is not None}
    dropped = [] if metadata is None else [name for name in item.attributes if name not in shapes.OWN]
    patch = Patch(title=title, blocks=None if content is None else (Block(content),), attributes=kept,
                  tags=None if tags is None else tuple(tags), status=None if status == "deleted" else status,
                  dropped=(*dropped, "topic_id") if topic_id is None else tuple(dropped),
                  project="" if project_ref is None else project_ref or None,
                  namespace=None if shapes.memory_type(item) == memory_type else memory_type)
    written = call.engine.revise(call.caller, item.id, patch, key=call.idempotency_key)
    if status == "deleted":
        call.engine.forget(call.caller, item.id)
    return {**shapes.memory(call, item.id), "redactions": dict(written.redactions)}


@shapes.lanonasis.tool(destructive=True)
def delete_memory(call: Call, *, memory_id: MemoryId) -> Deleted:
    """Take a memory out of every list and search."""
    item = the(call, "memory", memory_id, "memory_id")
    call.engine.forget(call.caller, item.id, key=call.idempotency_key)
    return {"success": True, "message": "The memory was deleted.", "deleted_id": item.id}


@shapes.lanonasis.tool(read_only=True)
def list_memories(call: Call, *, page: Page = 1, limit: Limit = 20, memory_type: MemoryType | None = None,
                  topic_id: TopicId = None, project_ref: str | None = None,
                  status: Annotated[Status | None, Field(description="Left out: all but deleted.")] = None,
                  tags: AllTags = None, sort: Sort = "created_at", order: Literal["asc", "desc"] = "desc") -> Listed:
    """A page of memories, filtered and sorted."""
    if sort in ("access_count", "last_accessed"):
        call.engine.flush_reads()
    chosen = _filter([memory_type] if memory_type else [], topic_id, project_ref, status, tags)
    found = call.engine.listing(call.caller, chosen, sort, order == "desc", limit, (page - 1) * limit)
    texts = call.engine.read_many(call.caller, [item.id for item in found.items], forgotten=True)
    return {"data": shapes.memories(call, texts), "pagination": {
        "page": page, "limit": limit, "total": found.total, "pages": -(-found.total // limit)}}


@shapes.lanonasis.tool(read_only=True)
def search_memories(call: Call, *, query: Named, memory_types: list[MemoryType] | None = None, tags: AllTags = None,
                    topic_id: TopicId = None, project_ref: str | None = None, status: Status = "active",
                    limit: Limit = 20, threshold: shapes.Share = SET) -> Searched:
    """Memories that are like a question or a text, by words and by meaning."""
    shapes.measured(call, query=query)
    started = time.perf_counter()
    least = call.engine.configuration.number(call.caller.tenant, "search_threshold", threshold)
    found = call.engine.recall(call.caller, Query(
        query, _filter(memory_types or [], topic_id, project_ref, status, tags), limit=limit, threshold=least,
        by_similarity=True, per_item=True))
    return {"results": shapes.scored(call, {hit.item.id: hit.score for hit in found.hits}),
            "total_results": found.total, "search_time_ms": round((time.perf_counter() - started) * 1000, 3),
            **shapes.noted(found.warnings)}


@shapes.lanonasis.tool(destructive=True)
def bulk_delete_memories(call: Call, *, memory_ids: Annotated[list[str], Field(min_length=1)]) -> BulkDeleted:
    """Delete several memories at once; those that are not there are named."""
    most = int(call.engine.configuration.number(call.caller.tenant, "max_bulk_delete"))
    if len(memory_ids) > most:
        raise InvalidInput(f"One call deletes at most {most} memories.", field="memory_ids")
    wanted = {bare_id(id): id for id in memory_ids}
    gone = call.engine.forget_all(call.caller, list(wanted), "memory")
    return {"deleted_count": len(gone), "failed_ids": [wanted[id] for id in wanted if id not in gone]}


def _filter(types: Sequence[str], topic_id: str | None, project_ref: str | None, status: Status | None,
            tags: Tags) -> Filter:
    return Filter(kinds=("memory",), namespaces=tuple(name for type in types for name in shapes.TYPES[type]),
                  topics=(bare_id(topic_id),) if topic_id else (), projects=(project_ref,) if project_ref else (),
                  tags_all=tuple(tags or ()), statuses=shapes.STATUSES[status] if status else (),
                  forgotten=status == "deleted")


def _room(call: Call, rows: Reader) -> None:
    """Refuse one memory more than a user may have; nobody has more memories than his tenant has events."""
    caller, most = call.caller, int(call.engine.configuration.number(call.caller.tenant, "max_memories"))
    mine = Filter(kinds=("memory",), owner=caller.user)
    if rows.last_seq(caller.tenant) >= most and rows.listing(caller, mine, limit=1).total >= most:
        raise Conflict(f"You have {most:,} memories, which is all that max_memories allows; delete some first.")
