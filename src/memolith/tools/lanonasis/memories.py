"""Keep, show, change, delete, list and search memories."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Filter, Found, Query
from memolith.engine.writing import Quota
from memolith.errors import InvalidInput
from memolith.tools.arguments import JsonObject, Limit, bare_id, without_empty
from memolith.tools.call import Call
from memolith.tools.lanonasis.arguments import (
    LEFT_OUT,
    AllTags,
    LeftOut,
    MemoryId,
    NewText,
    NonEmptyText,
    Threshold,
    TopicId,
    check_lengths,
    own_memories,
    tenant_number,
)
from memolith.tools.lanonasis.dialect import lanonasis
from memolith.tools.lanonasis.memory_types import (
    NAMESPACES_OF_TYPE,
    STORED_STATUSES,
    MemoryStatus,
    MemoryType,
    memory_type_of,
)
from memolith.tools.lanonasis.models import (
    BulkDeletion,
    MemoryBody,
    MemoryDeleted,
    MemoryPage,
    MemorySearch,
    ScoredMemory,
)
from memolith.tools.lanonasis.similarity import score_of, similarity_of
from memolith.tools.lanonasis.views import (
    OWN_ATTRIBUTES,
    memory_bodies,
    memory_body,
    scored_memories,
)
from memolith.tools.lookup import find_item
from memolith.tools.results import conflicts_with

SortField = Literal["created_at", "updated_at", "title", "access_count", "last_accessed"]
SORTED_BY_ACCESS = ("access_count", "last_accessed")


class MemoryHits(NamedTuple):
    """What a search for memories found."""

    found: Found
    results: list[ScoredMemory]
    threshold: float
    """The lowest similarity of a result."""
    took_ms: float


@lanonasis.tool(example={"title": "Otters", "content": "Otters hold hands."})
def create_memory(
    call: Call,
    *,
    title: NonEmptyText,
    content: NonEmptyText,
    memory_type: MemoryType = "context",
    tags: list[str] | None = None,
    topic_id: TopicId = None,
    project_ref: str | None = None,
    metadata: JsonObject | None = None,
    summary: str | None = None,
) -> MemoryBody:
    """Keep a memory; it can be found at once."""
    check_lengths(
        call, tags, title=title, content=content, summary=summary, project_ref=project_ref
    )
    draft = Draft(
        title=title,
        blocks=(Block(content),),
        tags=tuple(tags or ()),
        project=project_ref,
        namespace=memory_type,
        attributes=without_empty(
            metadata=metadata, summary=summary, topic_id=_topic(call, topic_id)
        ),
    )
    conflicts = conflicts_with(call, draft)
    written = call.engine.writing.remember(call.caller, draft, memory_quota(call))
    return {
        **memory_body(call, written.item.id),
        "redactions": dict(written.redactions),
        "conflicts": conflicts,
    }


@lanonasis.tool(read_only=True, example={"memory_id": "one"})
def get_memory(call: Call, *, memory_id: MemoryId) -> MemoryBody:
    """One whole memory; counts as a reading of it."""
    item = find_item(call, "memory", memory_id, "memory_id")
    call.note_read(item.id)
    return memory_body(call, item.id)


@lanonasis.tool(idempotent=True, needs_read=True, example={"memory_id": "one", "title": "New"})
def update_memory(
    call: Call,
    *,
    memory_id: MemoryId,
    title: NonEmptyText | None = None,
    content: NonEmptyText | None = None,
    memory_type: MemoryType | None = None,
    tags: list[str] | None = None,
    topic_id: NewText = LEFT_OUT,
    project_ref: NewText = LEFT_OUT,
    status: MemoryStatus | None = None,
    metadata: JsonObject | None = None,
    summary: str | None = None,
) -> MemoryBody:
    """Change a memory: what is given takes the place of what was there, which stays in its
    history.
    """
    new_topic = _changed_text(topic_id)
    new_project = _changed_text(project_ref)
    others = (title, content, memory_type, tags, status, metadata, summary)
    if new_topic is LEFT_OUT and new_project is LEFT_OUT and not any_given(others):
        raise InvalidInput("Say what to change.", field="title")
    item = find_item(call, "memory", memory_id, "memory_id")
    check_lengths(
        call,
        tags,
        title=title,
        content=content,
        summary=summary,
        project_ref=new_project if isinstance(new_project, str) else None,
    )
    attributes: JsonObject = {}
    dropped: list[str] = []
    if metadata is not None:
        attributes["metadata"] = metadata
        dropped.extend(name for name in item.attributes if name not in OWN_ATTRIBUTES)
    if summary is not None:
        attributes["summary"] = summary
    if isinstance(new_topic, str):
        attributes["topic_id"] = _topic(call, new_topic)
    elif new_topic is None:
        dropped.append("topic_id")
    keeps_type = memory_type_of(item.namespace) == memory_type
    patch = Patch(
        title=title,
        blocks=None if content is None else (Block(content),),
        attributes=attributes,
        tags=None if tags is None else tuple(tags),
        status=None if status == "deleted" else status,
        dropped=tuple(dropped),
        project=_project_patch(new_project),
        namespace=None if keeps_type else memory_type,
    )
    written = call.engine.writing.revise(call.caller, item.id, patch)
    if status == "deleted":
        call.engine.writing.forget(call.caller, item.id)
    return {**memory_body(call, item.id), "redactions": dict(written.redactions)}


@lanonasis.tool(destructive=True, example={"memory_id": "two"})
def delete_memory(call: Call, *, memory_id: MemoryId) -> MemoryDeleted:
    """Take a memory out of every list and search."""
    item = find_item(call, "memory", memory_id, "memory_id")
    call.engine.writing.forget(call.caller, item.id)
    return {"success": True, "message": "The memory was deleted.", "deleted_id": item.id}


@lanonasis.tool(read_only=True)
def list_memories(
    call: Call,
    *,
    page: Annotated[int, Field(ge=1, le=10**9)] = 1,
    limit: Limit = 20,
    memory_type: MemoryType | None = None,
    topic_id: TopicId = None,
    project_ref: str | None = None,
    status: Annotated[MemoryStatus | None, Field(description="Left out: all but deleted.")] = None,
    tags: AllTags = None,
    sort: SortField = "created_at",
    order: Literal["asc", "desc"] = "desc",
) -> MemoryPage:
    """A page of memories, filtered and sorted."""
    if sort in SORTED_BY_ACCESS:
        call.engine.reading.flush_accesses()
    types = [memory_type] if memory_type else []
    found = call.engine.reading.list_items(
        call.caller,
        memory_filter(types, topic_id, project_ref, status, tags),
        sort=sort,
        descending=order == "desc",
        limit=limit,
        offset=(page - 1) * limit,
    )
    full_pages, rest = divmod(found.total, limit)
    return {
        "data": memory_bodies(call, [item.id for item in found.items]),
        "pagination": {
            "page": page,
            "limit": limit,
            "total": found.total,
            "pages": full_pages + 1 if rest else full_pages,
        },
    }


@lanonasis.tool(read_only=True, example={"query": "zebra"})
def search_memories(
    call: Call,
    *,
    query: NonEmptyText,
    memory_types: list[MemoryType] | None = None,
    tags: AllTags = None,
    topic_id: TopicId = None,
    project_ref: str | None = None,
    status: MemoryStatus = "active",
    limit: Limit = 20,
    threshold: Threshold = None,
) -> MemorySearch:
    """Memories that are like a question or a text, by words and by meaning."""
    chosen = memory_filter(memory_types or [], topic_id, project_ref, status, tags)
    hits = find_memories(call, Query(query, chosen, limit=limit), threshold)
    return {
        "results": hits.results,
        "total_results": hits.found.total,
        "search_time_ms": hits.took_ms,
        "warnings": list(hits.found.warnings),
    }


@lanonasis.tool(destructive=True, example={"memory_ids": ["four", "nope"]})
def bulk_delete_memories(
    call: Call, *, memory_ids: Annotated[list[str], Field(min_length=1)]
) -> BulkDeletion:
    """Delete several memories at once; those that are not there are named."""
    max_ids = int(tenant_number(call, "max_bulk_delete"))
    if len(memory_ids) > max_ids:
        raise InvalidInput(f"One call deletes at most {max_ids} memories.", field="memory_ids")
    given_ids = {bare_id(id): id for id in memory_ids}
    deleted = call.engine.writing.forget_all(call.caller, list(given_ids), "memory")
    return {
        "deleted_count": len(deleted),
        "failed_ids": [given for id, given in given_ids.items() if id not in deleted],
    }


def memory_quota(call: Call) -> Quota:
    """How many memories the caller may have."""
    max_memories = int(tenant_number(call, "max_memories"))
    return Quota(
        limit=max_memories,
        counted=own_memories(call.caller),
        message=f"You have {max_memories:,} memories, which is all that max_memories allows; "
        "delete some first.",
    )


def find_memories(call: Call, wanted: Query, threshold: float | None) -> MemoryHits:
    """The memories that a query finds, with their similarities.

    The threshold is a similarity; left out, it is what the tenant has set.
    """
    check_lengths(call, query=wanted.text)
    started = time.perf_counter()
    floor = call.engine.recall.floor
    lowest = tenant_number(call, "search_threshold", threshold)
    found = call.engine.recall.search(
        call.caller,
        replace(wanted, threshold=score_of(lowest, floor), per_item=True, family="lanonasis"),
    )
    similarities = {hit.item.id: similarity_of(hit.score, floor) for hit in found.hits}
    results = scored_memories(call, similarities)
    call.note_hits(similarities)
    took_ms = round((time.perf_counter() - started) * 1000, 3)
    return MemoryHits(found, results, lowest, took_ms)


def any_given(values: Sequence[object]) -> bool:
    """Whether one of the arguments was given."""
    return any(value is not None for value in values)


def _changed_text(text: str | LeftOut | None) -> str | LeftOut | None:
    """A new text or null; an empty text counts as left out."""
    return LEFT_OUT if text == "" else text


def _project_patch(project: str | LeftOut | None) -> str | None:
    """The project as a patch has it: empty to take it away, None to leave it as it is."""
    if isinstance(project, LeftOut):
        return None
    return project or ""


def _topic(call: Call, topic_id: str | None) -> str | None:
    """The id of a topic that is there."""
    if not topic_id:
        return None
    return find_item(call, "topic", topic_id, "topic_id").id


def memory_filter(
    types: Sequence[MemoryType],
    topic_id: str | None,
    project_ref: str | None,
    status: MemoryStatus | None,
    tags: list[str] | None,
) -> Filter:
    """The filter that the engine understands; what is left out is not filtered by."""
    namespaces = [name for memory_type in types for name in NAMESPACES_OF_TYPE[memory_type]]
    return Filter(
        kinds=("memory",),
        namespaces=tuple(namespaces),
        topics=(bare_id(topic_id),) if topic_id else (),
        projects=(project_ref,) if project_ref else (),
        tags_all=tuple(tags or ()),
        statuses=STORED_STATUSES[status] if status else (),
        forgotten=status == "deleted",
    )
