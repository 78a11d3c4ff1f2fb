"""Keep, read, change, delete, list and search memories over REST."""

from dataclasses import replace
from typing import Annotated, Literal, cast

from pydantic import Field

from memolith.domain.queries import Filter, Hit, Query
from memolith.engine.validation import when
from memolith.tools.arguments import JsonObject, Limit, SearchMode
from memolith.tools.call import Call
from memolith.tools.lanonasis.arguments import (
    LEFT_OUT,
    MemoryId,
    NewText,
    NonEmptyText,
    Threshold,
    TopicId,
)
from memolith.tools.lanonasis.memories import (
    SortField,
    any_given,
    bulk_delete_memories,
    create_memory,
    delete_memory,
    find_memories,
    get_memory,
    list_memories,
    memory_filter,
    update_memory,
)
from memolith.tools.lanonasis.memory_types import MemoryStatus, MemoryType
from memolith.tools.lanonasis.models import (
    BulkDeletion,
    MemoryBody,
    MemoryDeleted,
    MemoryPage,
    ScoredMemory,
    UserStats,
)
from memolith.tools.lanonasis.rest.api import BASE, lanonasis_api
from memolith.tools.lanonasis.rest.arguments import (
    DateRange,
    OrganizationId,
    Preprocessing,
    SearchFilters,
    check_organization,
    split_tags,
    tidied,
)
from memolith.tools.lanonasis.rest.models import MatchingChunk, RestHit, RestMemory, RestSearch
from memolith.tools.lanonasis.server import get_stats

MEMORY = BASE + "/memory"
ONE_MEMORY = MEMORY + "/{memory_id}"
MAX_KEYWORDS = 10
MAX_ENTITIES = 20
INTELLIGENCE = "intelligence"
"""Where the metadata of a memory has what was read out of its text."""
OWN_CHUNKING = "memolith cuts texts by itself, so preprocessing.chunking changed nothing."


@lanonasis_api.route("POST", MEMORY, status=201)
def post_memory(
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
    organization_id: OrganizationId = None,
    preprocessing: Preprocessing | None = None,
) -> RestMemory:
    """Keep a memory."""
    check_organization(call, organization_id)
    wanted = preprocessing or Preprocessing()
    warnings: list[str] = []
    if wanted.chunking is not None:
        warnings.append(OWN_CHUNKING)
    if wanted.cleanContent:
        content = tidied(content)
    if wanted.extractMetadata:
        metadata = {**(metadata or {}), INTELLIGENCE: _read_out_of(call, content)}
    body = create_memory(
        call,
        title=title,
        content=content,
        memory_type=memory_type,
        tags=tags,
        topic_id=topic_id,
        project_ref=project_ref,
        metadata=metadata,
        summary=summary,
    )
    return {**body, "warnings": warnings}


@lanonasis_api.route("GET", MEMORY, read_only=True)
def get_memories(
    call: Call,
    *,
    page: Annotated[int, Field(ge=1, le=10**9)] = 1,
    limit: Limit = 20,
    memory_type: MemoryType | None = None,
    topic_id: TopicId = None,
    project_ref: str | None = None,
    status: MemoryStatus | None = None,
    tags: Annotated[str | None, Field(description="All of these, with commas between.")] = None,
    sort: SortField = "created_at",
    order: Literal["asc", "desc"] = "desc",
) -> MemoryPage:
    """A page of memories."""
    return list_memories(
        call,
        page=page,
        limit=limit,
        memory_type=memory_type,
        topic_id=topic_id,
        project_ref=project_ref,
        status=status,
        tags=split_tags(tags),
        sort=sort,
        order=order,
    )


@lanonasis_api.route("GET", MEMORY + "/stats", read_only=True)
def get_memory_stats(call: Call) -> UserStats:
    """How many memories the user has."""
    return get_stats(call)


@lanonasis_api.route("POST", MEMORY + "/search", read_only=True)
def search_memory(
    call: Call,
    *,
    query: NonEmptyText,
    memory_types: list[MemoryType] | None = None,
    type: MemoryType | None = None,
    tags: list[str] | None = None,
    topic_id: TopicId = None,
    project_ref: str | None = None,
    status: MemoryStatus = "active",
    limit: Limit = 20,
    threshold: Threshold = None,
    search_mode: SearchMode = "hybrid",
    filters: SearchFilters | None = None,
    include_chunks: bool = False,
    organization_id: OrganizationId = None,
) -> RestSearch:
    """Memories that are like a question or a text, the best first."""
    check_organization(call, organization_id)
    types = [*(memory_types or []), *([type] if type else [])]
    filters = filters or SearchFilters()
    chosen = memory_filter(
        types,
        topic_id or filters.topic_id,
        project_ref,
        status,
        [*(tags or []), *(filters.tags or [])],
    )
    if filters.project_id is not None:
        chosen = _in_project(call, chosen, filters.project_id)
    if filters.date_range is not None:
        chosen = within(chosen, filters.date_range)
    hits = find_memories(call, Query(query, chosen, search_mode, limit), threshold)
    hit_of = {hit.item.id: hit for hit in hits.found.hits}
    results = [_rest_hit(body) for body in hits.results]
    if include_chunks:
        for result in results:
            result["matching_chunks"] = [_matching_chunk(hit_of[result["id"]], result)]
    return {
        "results": results,
        "total_results": hits.found.total,
        "search_time_ms": hits.took_ms,
        "total": hits.found.total,
        "query": query,
        "search_mode": search_mode,
        "threshold": hits.threshold,
        "execution_time_ms": hits.took_ms,
        "warnings": list(hits.found.warnings),
    }


@lanonasis_api.route("POST", MEMORY + "/bulk/delete", destructive=True)
def post_bulk_delete(
    call: Call,
    *,
    memory_ids: Annotated[list[str], Field(min_length=1)],
    organization_id: OrganizationId = None,
) -> BulkDeletion:
    """Delete several memories at once."""
    check_organization(call, organization_id)
    return bulk_delete_memories(call, memory_ids=memory_ids)


@lanonasis_api.route("GET", ONE_MEMORY, read_only=True)
def get_one_memory(call: Call, *, memory_id: MemoryId) -> MemoryBody:
    """One whole memory; counts as a reading of it."""
    return get_memory(call, memory_id=memory_id)


@lanonasis_api.route("PUT", ONE_MEMORY, idempotent=True, needs_read=True)
def put_memory(
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
    rechunk: bool = False,
    regenerate_embedding: bool = False,
) -> MemoryBody:
    """Change a memory; its passages and vectors follow every change."""
    changes = (title, content, memory_type, tags, status, metadata, summary)
    kept = topic_id is LEFT_OUT and project_ref is LEFT_OUT and not any_given(changes)
    if kept and (rechunk or regenerate_embedding):
        # They are always those of the present text.
        return get_memory(call, memory_id=memory_id)
    return update_memory(
        call,
        memory_id=memory_id,
        title=title,
        content=content,
        memory_type=memory_type,
        tags=tags,
        topic_id=topic_id,
        project_ref=project_ref,
        status=status,
        metadata=metadata,
        summary=summary,
    )


@lanonasis_api.route("DELETE", ONE_MEMORY, destructive=True)
def delete_one_memory(call: Call, *, memory_id: MemoryId) -> MemoryDeleted:
    """Take a memory out of every list and search."""
    return delete_memory(call, memory_id=memory_id)


def within(chosen: Filter, range: DateRange) -> Filter:
    """The filter with what was written from one time to another."""
    since = when("filters.date_range.from", range.from_) if range.from_ else None
    until = when("filters.date_range.to", range.to) if range.to else None
    return replace(chosen, since=since, until=until)


def _in_project(call: Call, chosen: Filter, project_id: str) -> Filter:
    """The filter with the memories of a project, which name it by its id or by its name."""
    names = [project_id]
    project = call.engine.reading.find(call.caller, "project", project_id)
    if project is not None:
        names.append(project.title)
    return replace(chosen, projects=tuple(names))


def _rest_hit(body: ScoredMemory) -> RestHit:
    found = cast(RestHit, dict(body))
    found["combined_score"] = body["similarity_score"]
    return found


def _matching_chunk(hit: Hit, result: RestHit) -> MatchingChunk:
    """The piece by which a memory was found."""
    return {
        "index": hit.passage.ordinal,
        "content": hit.passage.text,
        "similarity": result["similarity_score"],
    }


def _read_out_of(call: Call, text: str) -> JsonObject:
    """What the analyst reads out of a text, and who that was."""
    insights = call.engine.insights
    tags = insights.ask(lambda analyst: analyst.tags(text, [], MAX_KEYWORDS))
    entities = insights.ask(lambda analyst: analyst.entities(text, {}))
    return {
        "keywords": [found.tag for found in tags.value],
        "entities": [found.name for found in entities.value.entities[:MAX_ENTITIES]],
        "method": entities.method,
    }
