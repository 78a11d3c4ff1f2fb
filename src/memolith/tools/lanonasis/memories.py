"""The LanOnasis family, its words for errors, its memories, and what an analyst or counting finds in them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal, cast

from pydantic import Field

from memolith import errors
from memolith.domain.callers import Caller
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Filter, Query
from memolith.engine.tenant_settings import SET
from memolith.engine.writing import Quota
from memolith.tools.call import Call
from memolith.tools.family import Family
from memolith.tools.item_views import Limit, Object, Texts, bare_id, coded, given, spoken, the
from memolith.tools.schema import Body
from memolith.tools.shape_notation import shape

Named = Annotated[str, Field(min_length=1)]
MemoryType = Literal["context", "project", "knowledge", "reference", "personal", "workflow"]
Status = Literal["active", "archived", "draft", "deleted"]
MemoryId = Annotated[str, Field(description="The id of the memory.")]
UserId = Annotated[str, Field(description="Whose memories; another user's id needs an admin key.")]
# Left out, it is what the tenant has set; the schema shows what that is at first.
Share = Annotated[float, Field(ge=0, le=1, json_schema_extra={"default": 0.7})]
TopicId = Annotated[str | None, Field(description="The id of a topic.")]
AllTags = Annotated[Texts, Field(description="All of these.")]
Elsewhere = Annotated[bool, Field(description="Also look at the tags the user has elsewhere.")]
Page = Annotated[int, Field(ge=1, le=10**9)]
Sort = Literal["created_at", "updated_at", "title", "access_count", "last_accessed"]
# An empty text stands for an argument that was left out, because null has a meaning.
Change = Annotated[
    str | None, Field(description="Null: none.", json_schema_extra=lambda s: s.pop("default", None))
]

# What other families call the same: a memory keeps the word of whoever wrote it.
TYPES: dict[str, tuple[str, ...]] = {
    "context": ("context",),
    "project": ("project", "decisions", "tech-debt", "blockers", "progress"),
    "knowledge": ("knowledge", "patterns", "learnings", "security", "performance"),
    "reference": ("reference", "apis", "config"),
    "personal": ("personal",),
    "workflow": ("workflow", "testing"),
}
STATUSES = {
    "active": ("active",),
    "archived": ("archived", "superseded", "consolidated"),
    "draft": ("draft", "pending"),
    "deleted": (),
}
STATUS_OF = {name: status for status, names in STATUSES.items() for name in names}
OWN, QUERY = ("topic_id", "summary", "metadata"), 1000
CODES = {
    errors.Malformed: (-32602, "Invalid Params"),
    errors.Unauthenticated: (-32001, "Authentication Required"),
    errors.Denied: (-32002, "Permission Denied"),
    errors.RateLimited: (-32003, "Rate Limit Exceeded"),
    errors.NotFound: (-32004, "Resource Not Found"),
    errors.Unavailable: (-32000, "Server Error"),
    errors.DiskFull: (-32000, "Server Error"),
}
FIELDS: dict[str, object] = {
    "id": str,
    "title": str,
    "content": str,
    "memory_type": {"enum": list(TYPES)},
    "tags": [str],
    "created_at": str,
    "updated_at": str,
    "status": {"enum": list(STATUSES)},
    "summary": str,
    "topic_id": str,
    "project_ref": str,
    "metadata": dict,
    "user_id": str,
    "access_count": int,
    "last_accessed": str,
    "redactions": dict,
}
OPTIONAL = "summary topic_id project_ref last_accessed redactions"
MEMORY, SCORED = shape(OPTIONAL, **FIELDS), shape(OPTIONAL, **FIELDS, similarity_score=float)

lanonasis = Family(
    "lanonasis",
    coded(CODES, (-32005, "Validation Error")),
    instructions="Memories with a title, a type and tags; a vault for the keys of vendors; insights.",
)
of_user = partial(lanonasis.tool, read_only=True, inert=("user_id",))


@lanonasis.tool(MEMORY)
def create_memory(
    call: Call,
    *,
    title: Named,
    content: Named,
    memory_type: MemoryType = "context",
    tags: Texts = None,
    topic_id: TopicId = None,
    project_ref: str | None = None,
    metadata: Object | None = None,
    summary: str | None = None,
) -> Body:
    """Keep a memory; it can be found at once."""
    measured(call, tags, title=title, content=content, summary=summary, project_ref=project_ref)
    topic = the(call, "topic", topic_id, "topic_id").id if topic_id else None
    draft = Draft(
        title=title,
        blocks=(Block(content),),
        tags=tuple(tags or ()),
        project=project_ref,
        namespace=memory_type,
        attributes=given(metadata=metadata, summary=summary, topic_id=topic),
    )
    written = call.engine.writing.remember(call.caller, draft, call.idempotency_key, _quota(call))
    return {**shown(call, [written.item.id])[0], "redactions": dict(written.redactions)}


@lanonasis.tool(MEMORY, read_only=True)
def get_memory(call: Call, *, memory_id: MemoryId) -> Body:
    """One whole memory; counts as a reading of it."""
    item = the(call, "memory", memory_id, "memory_id")
    call.engine.reading.note_access(call.caller, item.id)
    return shown(call, [item.id])[0]


@lanonasis.tool(MEMORY, idempotent=True)
def update_memory(
    call: Call,
    *,
    memory_id: MemoryId,
    title: Named | None = None,
    content: Named | None = None,
    memory_type: MemoryType | None = None,
    tags: Texts = None,
    topic_id: Change = "",
    project_ref: Change = "",
    status: Status | None = None,
    metadata: Object | None = None,
    summary: str | None = None,
) -> Body:
    """Change a memory: what is given takes the place of what was there, which stays in its history."""
    given = (
        title,
        content,
        memory_type,
        tags,
        status,
        metadata,
        summary,
        topic_id or None,
        project_ref or None,
    )
    if all(one is None for one in given) and topic_id is not None and project_ref is not None:
        raise errors.InvalidInput("Say what to change.", field="title")
    item = the(call, "memory", memory_id, "memory_id")
    measured(call, tags, title=title, content=content, summary=summary, project_ref=project_ref)
    topic = the(call, "topic", topic_id, "topic_id").id if topic_id else None
    kept = {
        name: value
        for name, value in (("metadata", metadata), ("summary", summary), ("topic_id", topic))
        if value is not None
    }
    dropped = [] if metadata is None else [name for name in item.attributes if name not in OWN]
    patch = Patch(
        title=title,
        blocks=None if content is None else (Block(content),),
        attributes=kept,
        tags=None if tags is None else tuple(tags),
        status=None if status == "deleted" else status,
        dropped=(*dropped, "topic_id") if topic_id is None else tuple(dropped),
        project="" if project_ref is None else project_ref or None,
        namespace=None if type_for(item.namespace) == memory_type else memory_type,
    )
    written = call.engine.writing.revise(call.caller, item.id, patch, key=call.idempotency_key)
    if status == "deleted":
        call.engine.writing.forget(call.caller, item.id)
    return {**shown(call, [item.id])[0], "redactions": dict(written.redactions)}


@lanonasis.tool(shape(success=bool, message=str, deleted_id=str), destructive=True)
def delete_memory(call: Call, *, memory_id: MemoryId) -> Body:
    """Take a memory out of every list and search."""
    item = the(call, "memory", memory_id, "memory_id", forgotten=bool(call.idempotency_key))
    call.engine.writing.forget(call.caller, item.id, key=call.idempotency_key)
    return {"success": True, "message": "The memory was deleted.", "deleted_id": item.id}


@lanonasis.tool(
    shape(data=[MEMORY], pagination=shape(page=int, limit=int, total=int, pages=int)),
    read_only=True,
)
def list_memories(
    call: Call,
    *,
    page: Page = 1,
    limit: Limit = 20,
    memory_type: MemoryType | None = None,
    topic_id: TopicId = None,
    project_ref: str | None = None,
    status: Annotated[Status | None, Field(description="Left out: all but deleted.")] = None,
    tags: AllTags = None,
    sort: Sort = "created_at",
    order: Literal["asc", "desc"] = "desc",
) -> Body:
    """A page of memories, filtered and sorted."""
    if sort in ("access_count", "last_accessed"):
        call.engine.reading.flush_accesses()
    chosen = _filter([memory_type] if memory_type else [], topic_id, project_ref, status, tags)
    found = call.engine.reading.list_items(
        call.caller, chosen, sort, order == "desc", limit, (page - 1) * limit
    )
    return {
        "data": shown(call, [item.id for item in found.items]),
        "pagination": {
            "page": page,
            "limit": limit,
            "total": found.total,
            "pages": -(-found.total // limit),
        },
    }


@lanonasis.tool(
    shape(results=[SCORED], total_results=int, search_time_ms=float, warnings=[str]), read_only=True
)
def search_memories(
    call: Call,
    *,
    query: Named,
    memory_types: list[MemoryType] | None = None,
    tags: AllTags = None,
    topic_id: TopicId = None,
    project_ref: str | None = None,
    status: Status = "active",
    limit: Limit = 20,
    threshold: Share = SET,
) -> Body:
    """Memories that are like a question or a text, by words and by meaning."""
    measured(call, query=query)
    started = time.perf_counter()
    least = call.engine.tenant_settings.number(call.caller.tenant, "search_threshold", threshold)
    chosen = _filter(memory_types or [], topic_id, project_ref, status, tags)
    found = call.engine.recall.search(
        call.caller,
        Query(query, chosen, limit=limit, threshold=least, by_similarity=True, per_item=True),
    )
    scores = {hit.item.id: hit.score for hit in found.hits}
    return {
        "results": shown(call, list(scores), scores),
        "total_results": found.total,
        "search_time_ms": round((time.perf_counter() - started) * 1000, 3),
        "warnings": list(found.warnings),
    }


@lanonasis.tool(shape(deleted_count=int, failed_ids=[str]), destructive=True)
def bulk_delete_memories(
    call: Call, *, memory_ids: Annotated[list[str], Field(min_length=1)]
) -> Body:
    """Delete several memories at once; those that are not there are named."""
    most = int(call.engine.tenant_settings.number(call.caller.tenant, "max_bulk_delete"))
    if len(memory_ids) > most:
        raise errors.InvalidInput(f"One call deletes at most {most} memories.", field="memory_ids")
    wanted = {bare_id(id): id for id in memory_ids}
    gone = call.engine.writing.forget_all(call.caller, list(wanted), "memory")
    return {
        "deleted_count": len(gone),
        "failed_ids": [wanted[id] for id in wanted if id not in gone],
    }


@lanonasis.tool(
    shape(status=str, services=shape(embedding=str, analysis=str), latency_ms=float), read_only=True
)
def intelligence_health_check(call: Call) -> Body:
    """Whether memories can be analysed, and by whom."""
    started, state = time.perf_counter(), call.engine.maintenance.health()["embeddings"]
    return {
        "status": "healthy" if state == "healthy" else "degraded",
        "services": {"embedding": state, "analysis": call.engine.insights.analysts[0].name},
        "latency_ms": round((time.perf_counter() - started) * 1000, 3),
    }


@of_user(
    shape(
        memory_id=str,
        suggestions=[shape(tag=str, confidence=float, reason=str)],
        existing_tags=[str],
        method=str,
        warnings=[str],
    )
)
def intelligence_suggest_tags(
    call: Call,
    *,
    memory_id: MemoryId,
    user_id: UserId,
    max_suggestions: Annotated[int, Field(ge=1, le=20)] = 5,
    include_existing_tags: Elsewhere = True,
) -> Body:
    """Tags that would suit a memory and that it does not have yet."""
    call = acting_for(call, user_id)
    item, engine = the(call, "memory", memory_id, "memory_id"), call.engine
    known = (
        list(engine.reading.count_by(call.caller, "tag", mine(call.caller)))
        if include_existing_tags
        else []
    )
    text, most = (
        engine.insights.texts(call.caller, [item.id])[item.id],
        max_suggestions + len(item.tags),
    )
    found, method, warnings = engine.insights.ask(lambda analyst: analyst.tags(text, known, most))
    has = {tag.casefold() for tag in item.tags}
    return {
        "memory_id": item.id,
        "existing_tags": list(item.tags),
        "method": method,
        "warnings": list(warnings),
        "suggestions": [
            {"tag": one.label, "confidence": one.confidence, "reason": one.text}
            for one in found
            if one.label.casefold() not in has
        ][:max_suggestions],
    }


@of_user(shape(source_memory_id=str, related=[SCORED], method=str, warnings=[str]))
def intelligence_find_related(
    call: Call,
    *,
    memory_id: MemoryId,
    user_id: UserId,
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
    similarity_threshold: Share = SET,
) -> Body:
    """Memories that are about the same as a memory."""
    call = acting_for(call, user_id)
    item, engine = the(call, "memory", memory_id, "memory_id"), call.engine
    least = engine.tenant_settings.number(
        call.caller.tenant, "related_threshold", similarity_threshold
    )
    found = engine.recall.search(
        call.caller,
        Query(
            engine.insights.texts(call.caller, [item.id])[item.id][:QUERY],
            Filter(kinds=("memory",), statuses=("active",)),
            limit=limit + 1,
            threshold=least,
            by_similarity=True,
            per_item=True,
            verbatim=True,
        ),
    )
    scores = {hit.item.id: hit.score for hit in found.hits if hit.item.id != item.id}
    return {
        "source_memory_id": item.id,
        "related": shown(call, list(scores)[:limit], scores),
        "method": "built-in",
        "warnings": list(found.warnings),
    }


@of_user(
    shape(
        duplicate_pairs=[shape(memory_1=MEMORY, memory_2=MEMORY, similarity_score=float)],
        total_pairs=int,
        threshold_used=float,
        method=str,
        warnings=[str],
    )
)
def intelligence_detect_duplicates(
    call: Call,
    *,
    user_id: UserId,
    similarity_threshold: Annotated[
        float, Field(ge=0, le=1, json_schema_extra={"default": 0.9})
    ] = SET,
    max_pairs: Limit = 20,
) -> Body:
    """Pairs of memories that say nearly the same; a changed number, date, name or negation is no duplicate."""
    call = acting_for(call, user_id)
    least = call.engine.tenant_settings.number(
        call.caller.tenant, "duplicate_threshold", similarity_threshold
    )

    def tell(done: int, total: int) -> None:
        if call.cancelled():
            raise errors.Unavailable("The call was cancelled.")
        call.progress(done, total, "comparing memories")

    found, warnings = call.engine.insights.duplicates(call.caller, mine(call.caller), least, tell)
    whole = {
        one["id"]: one
        for one in shown(call, [*{item.id for pair in found[:max_pairs] for item in pair[:2]}])
    }
    return {
        "duplicate_pairs": [
            {"memory_1": whole[one.id], "memory_2": whole[two.id], "similarity_score": score}
            for one, two, score in found[:max_pairs]
        ],
        "total_pairs": len(found),
        "threshold_used": least,
        "method": "built-in",
        "warnings": list(warnings),
    }


@of_user(
    shape(
        insights=[shape(category=str, insight=str, supporting_memories=[str], confidence=float)],
        summary=str,
        topic=str,
        memories_analyzed=int,
        method=str,
        warnings=[str],
    )
)
def intelligence_extract_insights(
    call: Call,
    *,
    user_id: UserId,
    topic: str | None = None,
    memory_type: MemoryType | None = None,
    max_memories: Limit = 50,
) -> Body:
    """Themes, decisions, open questions and gaps in a user's memories, with the memories behind each."""
    caller = acting_for(call, user_id).caller
    chosen = replace(mine(caller), namespaces=TYPES.get(memory_type or "", ()))
    found, summary, count, method, warnings = call.engine.insights.themes(
        caller, chosen, topic or "", max_memories
    )
    return {
        "insights": [
            {
                "category": one.label,
                "insight": one.text,
                "supporting_memories": list(one.support),
                "confidence": one.confidence,
            }
            for one in found
        ],
        "summary": summary,
        "topic": topic or "",
        "memories_analyzed": count,
        "method": method,
        "warnings": list(warnings),
    }


@of_user(
    shape(
        time_range_days=int,
        method=str,
        patterns=shape(
            top_topics=[shape(topic=str, count=int)],
            activity_trend={"enum": ["increasing", "stable", "decreasing"]},
            peak_usage_hours=[int],
            type_distribution=dict,
        ),
    )
)
def intelligence_analyze_patterns(
    call: Call, *, user_id: UserId, time_range_days: Annotated[int, Field(ge=1, le=365)] = 30
) -> Body:
    """What a user wrote about lately, whether more or less than before, and at which hours (UTC)."""
    caller = acting_for(call, user_id).caller
    topics, trend, hours, namespaces = call.engine.insights.habits(
        caller, mine(caller), time_range_days
    )
    return {
        "time_range_days": time_range_days,
        "method": "built-in",
        "patterns": {
            "top_topics": [{"topic": name, "count": count} for name, count in topics],
            "activity_trend": trend,
            "peak_usage_hours": hours,
            "type_distribution": by_type(namespaces),
        },
    }


def _filter(
    types: Sequence[str],
    topic_id: str | None,
    project_ref: str | None,
    status: Status | None,
    tags: Texts,
) -> Filter:
    return Filter(
        kinds=("memory",),
        namespaces=tuple(name for type in types for name in TYPES[type]),
        topics=(bare_id(topic_id),) if topic_id else (),
        projects=(project_ref,) if project_ref else (),
        tags_all=tuple(tags or ()),
        statuses=STATUSES.get(status or "", ()),
        forgotten=status == "deleted",
    )


def _quota(call: Call) -> Quota:
    """How many memories a user may have."""
    limit = int(call.engine.tenant_settings.number(call.caller.tenant, "max_memories"))
    return Quota(
        limit,
        mine(call.caller),
        f"You have {limit:,} memories, which is all that max_memories allows; delete some first.",
    )


def shown(call: Call, ids: Sequence[str], scores: Mapping[str, float] | None = None) -> list[Body]:
    """The memories as they are now, forgotten or not, with how often they were read and how similar they are."""
    found, reads = (
        call.engine.reading.read_many(call.caller, ids, forgotten=True),
        call.engine.reading.accesses(call.caller, ids),
    )
    return [
        {
            "id": item.id,
            "title": item.title or blocks[0].text.strip().splitlines()[0][:80],
            "content": spoken(blocks),
            "memory_type": type_for(item.namespace),
            "tags": list(item.tags),
            "status": "deleted" if item.forgotten else STATUS_OF.get(item.status, "active"),
            "summary": item.attributes.get("summary"),
            "topic_id": item.attributes.get("topic_id"),
            "project_ref": item.project,
            "user_id": item.owner,
            "metadata": {name: value for name, value in item.attributes.items() if name not in OWN}
            | cast(Object, item.attributes.get("metadata") or {}),
            "access_count": reads.get(item.id, (0, None))[0],
            "last_accessed": reads.get(item.id, (0, None))[1],
            "created_at": item.created_at,
            "updated_at": item.updated_at,
            **({"similarity_score": scores[item.id]} if scores else {}),
        }
        for item, blocks in found
    ]


def mine(caller: Caller) -> Filter:
    return Filter(kinds=("memory",), owner=caller.user)


def type_for(namespace: str | None) -> str:
    """The type, also where another family wrote the memory."""
    return next((type for type, names in TYPES.items() if namespace in names), "context")


def by_type(namespaces: Mapping[str, int] | Mapping[str | None, int]) -> dict[str, int]:
    return {
        type: sum(count for name, count in namespaces.items() if type_for(name) == type)
        for type in TYPES
    }


def acting_for(call: Call, user_id: str | None) -> Call:
    """The call as that user; at this machine there is but one, and over HTTP another than oneself is for admins."""
    caller = call.caller
    if user_id is not None and user_id != caller.user and not call.local:
        if not caller.admin:
            raise errors.Denied("Only an admin may ask for another user.", field="user_id")
        caller = Caller(caller.tenant, user_id)
    return replace(call, caller=replace(caller, admin=False))


def measured(call: Call, tags: Texts = None, **given: str | None) -> None:
    """Refuse what is longer than this tenant allows."""
    limits = call.engine.tenant_settings.values(call.caller.tenant)
    if len(tags or ()) > (most := int(limits["max_tags"])):
        raise errors.InvalidInput(f"A memory has at most {most} tags.", field="tags")
    for name, value in [*given.items(), *(("tag", tag) for tag in tags or ())]:
        if value and len(value) > (most := int(limits[f"max_{name}_length"])):
            raise errors.InvalidInput(
                f"{name} has {len(value):,} characters; at most {most:,} are allowed.",
                field="tags" if name == "tag" else name,
            )
        if name == "title" and value is not None and not value.strip():
            raise errors.InvalidInput("A title cannot be blank.", field="title")
