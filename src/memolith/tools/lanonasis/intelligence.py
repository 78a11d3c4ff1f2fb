"""What analysts and counts find in memories: tags, relatives, duplicates, insights, patterns."""

import time
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from memolith.domain.items import Item
from memolith.domain.queries import Filter, Query
from memolith.engine.insights import Duplicates
from memolith.errors import Unavailable
from memolith.tools.arguments import Limit
from memolith.tools.call import Call
from memolith.tools.lanonasis.arguments import (
    DuplicateThreshold,
    MemoryId,
    Threshold,
    UserId,
    acting_for,
    own_memories,
    tenant_number,
)
from memolith.tools.lanonasis.dialect import lanonasis
from memolith.tools.lanonasis.memory_types import NAMESPACES_OF_TYPE, MemoryType, count_by_type
from memolith.tools.lanonasis.models import (
    DuplicatePair,
    DuplicatePairs,
    InsightReport,
    IntelligenceHealth,
    PatternReport,
    RelatedMemories,
    TagSuggestion,
    TagSuggestions,
)
from memolith.tools.lanonasis.views import memory_bodies, scored_memories
from memolith.tools.lookup import find_item

BUILT_IN = "built-in"
MAX_QUERY_TEXT_LENGTH = 1000
"""How much of a memory is compared with others."""


@lanonasis.tool(read_only=True)
def intelligence_health_check(call: Call) -> IntelligenceHealth:
    """Whether memories can be analysed, and by whom."""
    started = time.perf_counter()
    embeddings = call.engine.maintenance.health()["embeddings"]
    return {
        "status": "healthy" if embeddings == "healthy" else "degraded",
        "services": {
            "embedding": embeddings,
            "analysis": call.engine.insights.analysts[0].name,
        },
        "latency_ms": round((time.perf_counter() - started) * 1000, 3),
    }


@lanonasis.tool(
    read_only=True, inert=("user_id",), example={"memory_id": "one", "user_id": "local"}
)
def intelligence_suggest_tags(
    call: Call,
    *,
    memory_id: MemoryId,
    user_id: UserId,
    max_suggestions: Annotated[int, Field(ge=1, le=20)] = 5,
    include_existing_tags: Annotated[
        bool, Field(description="Also look at the tags the user has elsewhere.")
    ] = True,
) -> TagSuggestions:
    """Tags that would suit a memory and that it does not have yet."""
    call = acting_for(call, user_id)
    item = find_item(call, "memory", memory_id, "memory_id")
    text = call.engine.insights.texts(call.caller, [item.id])[item.id]
    vocabulary: list[str] = []
    if include_existing_tags:
        vocabulary = list(
            call.engine.reading.count_by(call.caller, "tag", own_memories(call.caller))
        )
    # The memory's own tags are left out of the suggestions, so ask for as many more.
    max_findings = max_suggestions + len(item.tags)
    answer = call.engine.insights.ask(lambda analyst: analyst.tags(text, vocabulary, max_findings))
    own_tags = {tag.casefold() for tag in item.tags}
    suggestions: list[TagSuggestion] = [
        {"tag": found.tag, "confidence": found.confidence, "reason": found.reason}
        for found in answer.value
        if found.tag.casefold() not in own_tags
    ]
    return {
        "memory_id": item.id,
        "existing_tags": list(item.tags),
        "method": answer.method,
        "warnings": list(answer.warnings),
        "suggestions": suggestions[:max_suggestions],
    }


@lanonasis.tool(
    read_only=True, inert=("user_id",), example={"memory_id": "one", "user_id": "local"}
)
def intelligence_find_related(
    call: Call,
    *,
    memory_id: MemoryId,
    user_id: UserId,
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
    similarity_threshold: Threshold = None,
) -> RelatedMemories:
    """Memories that are about the same as a memory."""
    call = acting_for(call, user_id)
    item = find_item(call, "memory", memory_id, "memory_id")
    chosen = Filter(kinds=("memory",), statuses=("active",))
    return related_memories(call, item, chosen, limit, similarity_threshold)


@lanonasis.tool(read_only=True, inert=("user_id",), example={"user_id": "local"})
def intelligence_detect_duplicates(
    call: Call,
    *,
    user_id: UserId,
    similarity_threshold: DuplicateThreshold = None,
    max_pairs: Limit = 20,
) -> DuplicatePairs:
    """Pairs of memories that say nearly the same; a changed number, date, name or negation is no
    duplicate.
    """
    call = acting_for(call, user_id)
    threshold = tenant_number(call, "duplicate_threshold", similarity_threshold)
    found = duplicates_among(call, own_memories(call.caller), threshold)
    shown = found.pairs[:max_pairs]
    ids = {item.id for pair in shown for item in (pair.first, pair.second)}
    bodies = {body["id"]: body for body in memory_bodies(call, list(ids))}
    pairs: list[DuplicatePair] = [
        {
            "memory_1": bodies[pair.first.id],
            "memory_2": bodies[pair.second.id],
            "similarity_score": pair.similarity,
        }
        for pair in shown
    ]
    return {
        "duplicate_pairs": pairs,
        "total_pairs": len(found.pairs),
        "threshold_used": threshold,
        "method": BUILT_IN,
        "warnings": list(found.warnings),
    }


@lanonasis.tool(read_only=True, inert=("user_id",), example={"user_id": "local"})
def intelligence_extract_insights(
    call: Call,
    *,
    user_id: UserId,
    topic: str | None = None,
    memory_type: MemoryType | None = None,
    max_memories: Limit = 50,
) -> InsightReport:
    """Themes, decisions, open questions and gaps in a user's memories, with the memories behind
    each.
    """
    caller = acting_for(call, user_id).caller
    chosen = own_memories(caller)
    if memory_type is not None:
        chosen = replace(chosen, namespaces=NAMESPACES_OF_TYPE[memory_type])
    themes = call.engine.insights.themes(caller, chosen, topic or "", max_memories)
    return {
        "insights": [
            {
                "category": insight.category,
                "insight": insight.text,
                "supporting_memories": list(insight.memories),
                "confidence": insight.confidence,
            }
            for insight in themes.insights
        ],
        "summary": themes.summary,
        "topic": topic or "",
        "memories_analyzed": themes.memories_read,
        "method": themes.method,
        "warnings": list(themes.warnings),
    }


@lanonasis.tool(read_only=True, inert=("user_id",), example={"user_id": "local"})
def intelligence_analyze_patterns(
    call: Call, *, user_id: UserId, time_range_days: Annotated[int, Field(ge=1, le=365)] = 30
) -> PatternReport:
    """What a user wrote about lately, whether more or less than before, and at which hours
    (UTC).
    """
    caller = acting_for(call, user_id).caller
    habits = call.engine.insights.habits(caller, own_memories(caller), time_range_days)
    return {
        "time_range_days": time_range_days,
        "method": BUILT_IN,
        "patterns": {
            "top_topics": [{"topic": name, "count": count} for name, count in habits.top_topics],
            "activity_trend": habits.trend,
            "peak_usage_hours": habits.peak_hours,
            "type_distribution": count_by_type(habits.namespaces),
        },
    }


def related_memories(
    call: Call, item: Item, chosen: Filter, limit: int, threshold: float | None
) -> RelatedMemories:
    """The memories among the chosen ones that are about the same as one memory."""
    text = call.engine.insights.texts(call.caller, [item.id])[item.id]
    found = call.engine.recall.search(
        call.caller,
        Query(
            text=text[:MAX_QUERY_TEXT_LENGTH],
            filter=chosen,
            # One more, because the memory finds itself.
            limit=limit + 1,
            threshold=tenant_number(call, "related_threshold", threshold),
            alike=True,
            per_item=True,
        ),
    )
    others = [hit for hit in found.hits if hit.item.id != item.id]
    scores = {hit.item.id: hit.score for hit in others[:limit]}
    return {
        "source_memory_id": item.id,
        "related": scored_memories(call, scores),
        "method": BUILT_IN,
        "warnings": list(found.warnings),
    }


def duplicates_among(call: Call, chosen: Filter, threshold: float) -> Duplicates:
    """The pairs of the chosen memories that say nearly the same."""

    def report_progress(done: int, total: int) -> None:
        if call.cancelled():
            raise Unavailable("The call was cancelled.")
        call.progress(done, total, "comparing memories")

    return call.engine.insights.duplicates(call.caller, chosen, threshold, report_progress)
