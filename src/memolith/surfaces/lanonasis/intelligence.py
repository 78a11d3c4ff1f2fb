"""Tags, related memories, duplicates, insights and habits; every answer says who made it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from memolith.engine.configuration import SET
from memolith.engine.model import Filter
from memolith.engine.recall import Query
from memolith.errors import Unavailable
from memolith.registry import Body, Call, shape
from memolith.surfaces.items import the
from memolith.surfaces.lanonasis import memories
from memolith.surfaces.lanonasis.memories import MEMORY, SCORED, MemoryId, UserId, acting_for, lanonasis, mine, scored

QUERY = 1000
Elsewhere = Annotated[bool, Field(description="Also look at the tags the user has elsewhere.")]


@lanonasis.tool(shape(status=str, services=shape(embedding=str, analysis=str), latency_ms=float), read_only=True)
def intelligence_health_check(call: Call) -> Body:
    """Whether memories can be analysed, and by whom."""
    started, state = time.perf_counter(), call.engine.health()["embeddings"]
    return {"status": "healthy" if state == "healthy" else "degraded", "services": {
        "embedding": state, "analysis": call.engine.insights.analysts[0].name},
        "latency_ms": round((time.perf_counter() - started) * 1000, 3)}


@lanonasis.tool(shape(memory_id=str, suggestions=[shape(tag=str, confidence=float, reason=str)], existing_tags=[str],
                      method=str, warnings=[str]), read_only=True, inert=("user_id",))
def intelligence_suggest_tags(call: Call, *, memory_id: MemoryId, user_id: UserId,
                              max_suggestions: Annotated[int, Field(ge=1, le=20)] = 5,
                              include_existing_tags: Elsewhere = True) -> Body:
    """Tags that would suit a memory and that it does not have yet."""
    call = acting_for(call, user_id)
    item, engine = the(call, "memory", memory_id, "memory_id"), call.engine
    known = list(engine.counts(call.caller, "tag", mine(call.caller))) if include_existing_tags else []
    text, most = engine.insights.texts(call.caller, [item.id])[item.id], max_suggestions + len(item.tags)
    found, method, warnings = engine.insights.ask(lambda analyst: analyst.tags(text, known, most))
    has = {tag.casefold() for tag in item.tags}
    return {"memory_id": item.id, "existing_tags": list(item.tags), "method": method, "warnings": list(warnings),
            "suggestions": [{"tag": one.label, "confidence": one.confidence, "reason": one.text}
                            for one in found if one.label.casefold() not in has][:max_suggestions]}


@lanonasis.tool(shape(source_memory_id=str, related=[SCORED], method=str, warnings=[str]), read_only=True,
                inert=("user_id",))
def intelligence_find_related(call: Call, *, memory_id: MemoryId, user_id: UserId,
                              limit: Annotated[int, Field(ge=1, le=50)] = 10,
                              similarity_threshold: memories.Share = SET) -> Body:
    """Memories that are about the same as a memory."""
    call = acting_for(call, user_id)
    item, engine = the(call, "memory", memory_id, "memory_id"), call.engine
    least = engine.configuration.number(call.caller.tenant, "related_threshold", similarity_threshold)
    found = engine.recall(call.caller, Query(
        engine.insights.texts(call.caller, [item.id])[item.id][:QUERY], Filter(kinds=("memory",), statuses=("active",)),
        limit=limit + 1, threshold=least, by_similarity=True, per_item=True, verbatim=True))
    scores = {hit.item.id: hit.score for hit in found.hits if hit.item.id != item.id}
    return {"source_memory_id": item.id, "related": scored(call, scores)[:limit], "method": "built-in",
            "warnings": list(found.warnings)}


@lanonasis.tool(shape(duplicate_pairs=[shape(memory_1=MEMORY, memory_2=MEMORY, similarity_score=float)],
                      total_pairs=int, threshold_used=float, method=str, warnings=[str]),
                read_only=True, inert=("user_id",))
def intelligence_detect_duplicates(call: Call, *, user_id: UserId, similarity_threshold: Annotated[
        float, Field(ge=0, le=1, json_schema_extra={"default": 0.9})] = SET,
        max_pairs: Annotated[int, Field(ge=1, le=100)] = 20) -> Body:
    """Pairs of memories that say nearly the same; a changed number, date, name or negation is no duplicate."""
    call = acting_for(call, user_id)
    least = call.engine.configuration.number(call.caller.tenant, "duplicate_threshold", similarity_threshold)

    def tell(done: int, total: int) -> None:
        if call.cancelled():
            raise Unavailable("The call was cancelled.")
        call.progress(done, total, "comparing memories")

    found, warnings = call.engine.insights.duplicates(call.caller, mine(call.caller), least, tell)
    ids = list(dict.fromkeys(item.id for pair in found[:max_pairs] for item in pair[:2]))
    whole = {one["id"]: one for one in memories.shown(call, ids)}
    return {"duplicate_pairs": [{"memory_1": whole[one.id], "memory_2": whole[two.id], "similarity_score": score}
                                for one, two, score in found[:max_pairs]],
            "total_pairs": len(found), "threshold_used": least, "method": "built-in", "warnings": list(warnings)}


@lanonasis.tool(shape(insights=[shape(category=str, insight=str, supporting_memories=[str], confidence=float)],
                      summary=str, topic=str, memories_analyzed=int, method=str, warnings=[str]),
                read_only=True, inert=("user_id",))
def intelligence_extract_insights(call: Call, *, user_id: UserId, topic: str | None = None,
                                  memory_type: memories.MemoryType | None = None,
                                  max_memories: Annotated[int, Field(ge=1, le=100)] = 50) -> Body:
    """Themes, decisions, open questions and gaps in a user's memories, with the memories behind each."""
    caller = acting_for(call, user_id).caller
    chosen = replace(mine(caller), namespaces=memories.TYPES.get(memory_type or "", ()))
    found, summary, count, method, warnings = call.engine.insights.themes(caller, chosen, topic or "", max_memories)
    return {"insights": [{"category": one.label, "insight": one.text, "supporting_memories": list(one.support),
                          "confidence": one.confidence} for one in found],
            "summary": summary, "topic": topic or "", "memories_analyzed": count, "method": method,
            "warnings": list(warnings)}


@lanonasis.tool(shape(time_range_days=int, method=str, patterns=shape(
    top_topics=[shape(topic=str, count=int)], activity_trend={"enum": ["increasing", "stable", "decreasing"]},
    peak_usage_hours=[int], type_distribution=dict)), read_only=True, inert=("user_id",))
def intelligence_analyze_patterns(call: Call, *, user_id: UserId,
                                  time_range_days: Annotated[int, Field(ge=1, le=365)] = 30) -> Body:
    """What a user wrote about lately, whether more or less than before, and at which hours (UTC)."""
    caller = acting_for(call, user_id).caller
    habits = call.engine.insights.habits(caller, mine(caller), time_range_days)
    return {"time_range_days": time_range_days, "method": "built-in", "patterns": {
        "top_topics": [{"topic": name, "count": count} for name, count in habits.topics],
        "activity_trend": habits.trend, "peak_usage_hours": habits.hours,
        "type_distribution": memories.by_type(habits.namespaces)}}
