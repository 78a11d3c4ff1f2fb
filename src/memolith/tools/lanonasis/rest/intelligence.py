"""What analysts and counts find in memories, over REST: patterns, tags, relatives, duplicates."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Annotated

from pydantic import Field

from memolith.domain.items import Item
from memolith.domain.queries import Filter
from memolith.engine.insights import Habits, grouped
from memolith.engine.recall import Pair
from memolith.tools.arguments import Limit
from memolith.tools.call import Call
from memolith.tools.lanonasis.arguments import (
    DuplicateThreshold,
    MemoryId,
    Threshold,
    own_memories,
    tenant_number,
)
from memolith.tools.lanonasis.intelligence import (
    BUILT_IN,
    duplicates_among,
    intelligence_suggest_tags,
    related_memories,
)
from memolith.tools.lanonasis.memory_types import (
    NAMESPACES_OF_TYPE,
    MemoryType,
    count_by_type,
    memory_type_of,
)
from memolith.tools.lanonasis.models import MemoryBody, ScoredMemory
from memolith.tools.lanonasis.rest.api import BASE, lanonasis_api
from memolith.tools.lanonasis.rest.arguments import (
    MemoryContext,
    MemoryTypes,
    Offset,
    QueryScope,
    ResponseFormat,
    for_user,
)
from memolith.tools.lanonasis.rest.intelligence_models import (
    DuplicateGroup,
    DuplicatesResult,
    InsightsResult,
    PatternAnalysis,
    QueriedMemories,
    QueriedMemory,
    RelatedMemory,
    RelatedResult,
    SuggestedTags,
)
from memolith.tools.lanonasis.views import memory_bodies
from memolith.tools.lookup import find_item

INTELLIGENCE = BASE + "/intelligence"
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
TOP_TAGS = 10
PREVIEW_CHARACTERS = 200
TEXTS_AT_ONCE = 500
INSIGHT_TYPES = {"theme": "themes", "gap": "gaps", "open question": "gaps", "decision": "actions"}
"""The type that the SDK knows by the category of an insight."""
OTHER_INSIGHT_TYPE = "connections"
ManyMemories = Annotated[int, Field(ge=1, le=1000)]


@lanonasis_api.route("GET", INTELLIGENCE + "/memories", read_only=True)
def query_memories(
    call: Call,
    *,
    user_id: str,
    limit: ManyMemories = 100,
    offset: Offset = 0,
    type: MemoryType | None = None,
    organization_id: str | None = None,
    topic_id: str | None = None,
    query_scope: QueryScope | None = None,
    memory_types: MemoryTypes = None,
) -> QueriedMemories:
    """Memories that pass a filter, the newest first."""
    call = for_user(call, user_id, "user_id")
    types = [*(memory_types or []), *([type] if type else [])]
    chosen = MemoryContext(organization_id, topic_id, types, query_scope).chosen(call)
    page = call.engine.reading.list_items(call.caller, chosen, limit=limit, offset=offset)
    bodies = memory_bodies(call, [item.id for item in page.items])
    tenant = call.caller.tenant
    return {"memories": [_queried(body, tenant) for body in bodies], "total": page.total}


@lanonasis_api.route("POST", INTELLIGENCE + "/analyze-patterns", read_only=True)
def analyze_patterns(
    call: Call,
    *,
    userId: str,
    timeRangeDays: Annotated[int, Field(ge=1, le=365)] = 30,
    organizationId: str | None = None,
    topicId: str | None = None,
    memoryTypes: MemoryTypes = None,
    queryScope: QueryScope | None = None,
    responseFormat: ResponseFormat = "markdown",
) -> PatternAnalysis:
    """What was written in the last days, and when (UTC)."""
    call = for_user(call, userId, "userId")
    chosen = MemoryContext(organizationId, topicId, memoryTypes, queryScope).chosen(call)
    habits = call.engine.insights.habits(call.caller, chosen, timeRangeDays)
    today = date.fromisoformat(call.engine.clock.now()[:10])
    first_day = today - timedelta(days=timeRangeDays - 1)
    items = call.engine.reading.list_all(call.caller, replace(chosen, since=first_day.isoformat()))
    total = len(items)
    days = Counter(WEEKDAYS[date.fromisoformat(item.created_at[:10]).weekday()] for item in items)
    tags = Counter(tag for item in items for tag in item.tags)
    by_type = count_by_type(habits.namespaces)
    return {
        "total_memories": total,
        "memories_by_type": {name: count for name, count in by_type.items() if count},
        "memories_by_day_of_week": {day: days[day] for day in WEEKDAYS if days[day]},
        "peak_creation_hours": habits.peak_hours,
        "average_content_length": round(sum(text_lengths(call, items)) / total) if total else 0,
        "most_common_tags": [
            {"tag": tag, "count": count} for tag, count in tags.most_common(TOP_TAGS)
        ],
        "creation_velocity": {
            "daily_average": round(total / timeRangeDays, 2),
            "trend": habits.trend,
        },
        "insights": _sentences(total, timeRangeDays, by_type, habits),
        "method": BUILT_IN,
    }


@lanonasis_api.route("POST", INTELLIGENCE + "/suggest-tags", read_only=True)
def suggest_tags(
    call: Call,
    *,
    memoryId: MemoryId,
    userId: str,
    maxSuggestions: Annotated[int, Field(ge=1, le=20)] = 5,
    includeExistingTags: bool = True,
    responseFormat: ResponseFormat = "markdown",
) -> SuggestedTags:
    """Tags that would suit a memory and that it does not have yet."""
    call = for_user(call, userId, "userId")
    item = find_item(call, "memory", memoryId, "memoryId")
    found = intelligence_suggest_tags(
        call,
        memory_id=item.id,
        user_id=call.caller.user,
        max_suggestions=maxSuggestions,
        include_existing_tags=includeExistingTags,
    )
    looked_at = 0
    if includeExistingTags:
        looked_at = call.engine.reading.list_items(
            call.caller, own_memories(call.caller), limit=1
        ).total
    return {
        "memory_id": item.id,
        "existing_tags": found["existing_tags"],
        "suggestions": [
            {
                "tag": suggestion["tag"],
                "confidence": suggestion["confidence"],
                "reasoning": suggestion["reason"],
            }
            for suggestion in found["suggestions"]
        ],
        "context": {
            "memory_type": memory_type_of(item.namespace),
            "related_memories_analyzed": looked_at,
        },
        "method": found["method"],
        "warnings": found.get("warnings", []),
    }


@lanonasis_api.route("POST", INTELLIGENCE + "/find-related", read_only=True)
def find_related(
    call: Call,
    *,
    memoryId: MemoryId,
    userId: str,
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
    similarityThreshold: Threshold = None,
    organizationId: str | None = None,
    topicId: str | None = None,
    memoryTypes: MemoryTypes = None,
    queryScope: QueryScope | None = None,
    responseFormat: ResponseFormat = "markdown",
) -> RelatedResult:
    """Memories that are about the same as a memory."""
    call = for_user(call, userId, "userId")
    item = find_item(call, "memory", memoryId, "memoryId")
    chosen = MemoryContext(organizationId, topicId, memoryTypes, queryScope).chosen(call)
    active = replace(chosen, statuses=("active",))
    found = related_memories(call, item, active, limit, similarityThreshold)
    related = [_related(body, item) for body in found["related"]]
    return {
        "source_memory": {
            "id": item.id,
            "title": item.title,
            "type": memory_type_of(item.namespace),
        },
        "related_memories": related,
        "total_found": len(related),
        "method": found["method"],
        "warnings": found.get("warnings", []),
    }


@lanonasis_api.route("POST", INTELLIGENCE + "/detect-duplicates", read_only=True)
def detect_duplicates(
    call: Call,
    *,
    userId: str,
    similarityThreshold: DuplicateThreshold = None,
    maxPairs: Limit = 20,
    organizationId: str | None = None,
    topicId: str | None = None,
    memoryTypes: MemoryTypes = None,
    queryScope: QueryScope | None = None,
    responseFormat: ResponseFormat = "markdown",
) -> DuplicatesResult:
    """Groups of memories that say nearly the same."""
    call = for_user(call, userId, "userId")
    chosen = MemoryContext(organizationId, topicId, memoryTypes, queryScope).chosen(call)
    threshold = tenant_number(call, "duplicate_threshold", similarityThreshold)
    found = duplicates_among(call, chosen, threshold)
    pairs = found.pairs[:maxPairs]
    items = {item.id: item for pair in pairs for item in (pair.first, pair.second)}
    groups = _groups(items, pairs)
    copies = [items[entry["id"]] for group in groups for entry in group["duplicates"]]
    analyzed = call.engine.reading.list_items(call.caller, chosen, limit=1).total
    return {
        "duplicate_groups": groups,
        "total_groups": len(groups),
        "total_duplicates": len(copies),
        "detection_method": "semantic",
        "threshold_used": threshold,
        "memories_analyzed": analyzed,
        "potential_storage_savings": f"{sum(text_lengths(call, copies)) / 1000:.1f} KB",
        "warnings": found.warnings,
    }


@lanonasis_api.route("POST", INTELLIGENCE + "/extract-insights", read_only=True)
def extract_insights(
    call: Call,
    *,
    userId: str,
    topic: str | None = None,
    memoryType: MemoryType | None = None,
    maxMemories: Limit = 50,
    organizationId: str | None = None,
    topicId: str | None = None,
    memoryTypes: MemoryTypes = None,
    queryScope: QueryScope | None = None,
    responseFormat: ResponseFormat = "markdown",
) -> InsightsResult:
    """Themes, decisions, open questions and gaps in memories, with the memories behind each."""
    call = for_user(call, userId, "userId")
    chosen: Filter = MemoryContext(organizationId, topicId, memoryTypes, queryScope).chosen(call)
    if memoryType is not None:
        chosen = replace(chosen, namespaces=NAMESPACES_OF_TYPE[memoryType])
    themes = call.engine.insights.themes(call.caller, chosen, topic or "", maxMemories)
    types = [INSIGHT_TYPES.get(insight.category, OTHER_INSIGHT_TYPE) for insight in themes.insights]
    return {
        "insights": [
            {
                "type": type,
                "category": insight.category,
                "content": insight.text,
                "confidence": insight.confidence,
                "related_memory_ids": list(insight.memories),
            }
            for type, insight in zip(types, themes.insights, strict=True)
        ],
        "overall_summary": themes.summary,
        "memories_analyzed": themes.memories_read,
        "insight_types": list(dict.fromkeys(types)),
        "topic_filter": topic,
        "generated_at": call.engine.clock.now(),
        "method": themes.method,
        "warnings": themes.warnings,
    }


def text_lengths(call: Call, items: Sequence[Item]) -> list[int]:
    """How many characters the texts of items have."""
    lengths: list[int] = []
    for start in range(0, len(items), TEXTS_AT_ONCE):
        ids = [item.id for item in items[start : start + TEXTS_AT_ONCE]]
        for _, blocks in call.engine.reading.read_many(call.caller, ids):
            lengths.append(sum(len(block.text) for block in blocks))
    return lengths


def _queried(body: MemoryBody, tenant: str) -> QueriedMemory:
    return {
        "id": body["id"],
        "user_id": body["user_id"],
        "organization_id": tenant,
        "topic_id": body.get("topic_id"),
        "title": body["title"],
        "content": body["content"],
        "type": body["memory_type"],
        "memory_type": body["memory_type"],
        "tags": body["tags"],
        "metadata": body["metadata"],
        "access_count": body["access_count"],
        "last_accessed": body.get("last_accessed"),
        "created_at": body["created_at"],
        "updated_at": body["updated_at"],
    }


def _sentences(
    total: int, days: int, by_type: Mapping[MemoryType, int], habits: Habits
) -> list[str]:
    """The figures in words."""
    if not total:
        return [f"Nothing was written in the last {days} days."]
    largest = max(by_type, key=lambda name: by_type[name])
    sentences = [
        f"{by_type[largest]} of {total} memories are of the type {largest}.",
        f"The number of new memories is {habits.trend}.",
    ]
    if habits.top_topics:
        name, count = habits.top_topics[0]
        sentences.append(f"Most was written about {name} (in {count} of {total}).")
    return sentences


def _related(body: ScoredMemory, source: Item) -> RelatedMemory:
    return {
        "id": body["id"],
        "title": body["title"],
        "type": body["memory_type"],
        "similarity_score": body["similarity_score"],
        "shared_tags": [tag for tag in body["tags"] if tag in source.tags],
        "content_preview": body["content"][:PREVIEW_CHARACTERS],
    }


def _groups(items: Mapping[str, Item], pairs: Sequence[Pair]) -> list[DuplicateGroup]:
    """The memories of pairs in groups, in each of them the oldest first."""
    nearest: dict[str, float] = {}
    for pair in pairs:
        for item in (pair.first, pair.second):
            nearest[item.id] = max(pair.similarity, nearest.get(item.id, 0.0))
    by_age = sorted(items, key=lambda id: items[id].created_at)
    groups: list[DuplicateGroup] = []
    for group in grouped(by_age, pairs):
        primary, *copies = group.ids
        groups.append(
            {
                "primary_id": primary,
                "primary_title": items[primary].title,
                "duplicates": [
                    {
                        "id": id,
                        "title": items[id].title,
                        "similarity": nearest[id],
                        "created_at": items[id].created_at,
                    }
                    for id in copies
                ],
                "similarity_score": group.similarity,
            }
        )
    return groups
