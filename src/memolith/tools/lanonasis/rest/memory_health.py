"""How well memories are kept: counted, not judged by a model."""

from collections.abc import Sequence
from typing import NamedTuple

from memolith.domain.clock import DAY_S, shifted
from memolith.domain.items import Item
from memolith.tools.call import Call
from memolith.tools.lanonasis.memory_types import (
    NAMESPACES_OF_TYPE,
    memory_status_of,
    memory_type_of,
)
from memolith.tools.lanonasis.rest.api import lanonasis_api
from memolith.tools.lanonasis.rest.arguments import (
    MemoryContext,
    MemoryTypes,
    QueryScope,
    ResponseFormat,
    for_user,
)
from memolith.tools.lanonasis.rest.intelligence import INTELLIGENCE, text_lengths
from memolith.tools.lanonasis.rest.intelligence_models import (
    HealthBreakdown,
    HealthIssue,
    HealthStatistics,
    MemoryHealth,
)

RECENT_DAYS = 30
STALE_DAYS = 90
COMPLETE_CHARACTERS = 40
"""A text that is shorter says too little to be of use later."""
STATES = ((80, "excellent"), (60, "good"), (40, "needs_attention"), (0, "poor"))
SEVERITIES = ((0.5, "high"), (0.2, "medium"), (0.0, "low"))


class Lack(NamedTuple):
    """What some memories lack, and what to do about it."""

    category: str
    affected: int
    description: str
    recommendation: str


@lanonasis_api.route("POST", INTELLIGENCE + "/health-check", read_only=True)
def check_memory_health(
    call: Call,
    *,
    userId: str,
    organizationId: str | None = None,
    topicId: str | None = None,
    memoryTypes: MemoryTypes = None,
    queryScope: QueryScope | None = None,
    responseFormat: ResponseFormat = "markdown",
) -> MemoryHealth:
    """How well memories are tagged, sorted and kept up to date."""
    call = for_user(call, userId, "userId")
    chosen = MemoryContext(organizationId, topicId, memoryTypes, queryScope).chosen(call)
    items = call.engine.reading.list_all(call.caller, chosen)
    now = call.engine.clock.now()
    total = len(items)
    statistics = _statistics(items, now)
    short = sum(length < COMPLETE_CHARACTERS for length in text_lengths(call, items))
    sorted_in = sum(bool(item.project or item.attributes.get("topic_id")) for item in items)
    breakdown: HealthBreakdown = {
        "organization": _percent(sorted_in, total),
        "tagging": _percent(statistics["memories_with_tags"], total),
        "recency": _percent(total - statistics["stale_memories_90d"], total),
        "completeness": _percent(total - short, total),
        "diversity": _percent(statistics["memory_types"], len(NAMESPACES_OF_TYPE)),
    }
    overall = round(
        (
            breakdown["organization"]
            + breakdown["tagging"]
            + breakdown["recency"]
            + breakdown["completeness"]
            + breakdown["diversity"]
        )
        / len(breakdown)
    )
    lacks = (
        Lack(
            "tagging",
            total - statistics["memories_with_tags"],
            "memories have no tags.",
            "Ask for tags with suggestTags and add those that fit.",
        ),
        Lack(
            "organization",
            total - sorted_in,
            "memories belong to no topic and no project.",
            "Put memories under topics, or give them a project_ref.",
        ),
        Lack(
            "recency",
            statistics["stale_memories_90d"],
            f"memories have not changed for {STALE_DAYS} days.",
            "Look through old memories; archive or delete what no longer holds.",
        ),
        Lack(
            "completeness",
            short,
            f"memories have less than {COMPLETE_CHARACTERS} characters.",
            "Say more in short memories, so that they are understood later.",
        ),
    )
    present = [lack for lack in lacks if lack.affected]
    return {
        "health_score": {"overall": overall, "breakdown": breakdown},
        "status": next(state for lowest, state in STATES if overall >= lowest),
        "statistics": statistics,
        "issues": [_issue(lack, total) for lack in present],
        "recommendations": [lack.recommendation for lack in present],
        "generated_at": now,
    }


def _statistics(items: Sequence[Item], now: str) -> HealthStatistics:
    recent = shifted(now, -RECENT_DAYS * DAY_S)
    stale = shifted(now, -STALE_DAYS * DAY_S)
    statuses = [memory_status_of(item.status) for item in items]
    return {
        "total_memories": len(items),
        "active_memories": statuses.count("active"),
        "archived_memories": statuses.count("archived"),
        "memories_with_tags": sum(bool(item.tags) for item in items),
        "unique_tags": len({tag for item in items for tag in item.tags}),
        "memory_types": len({memory_type_of(item.namespace) for item in items}),
        "recent_memories_30d": sum(item.created_at >= recent for item in items),
        "stale_memories_90d": sum(item.updated_at < stale for item in items),
    }


def _percent(part: int, whole: int) -> int:
    return round(100 * part / whole) if whole else 0


def _issue(lack: Lack, total: int) -> HealthIssue:
    share = lack.affected / total
    return {
        "severity": next(name for lowest, name in SEVERITIES if share >= lowest),
        "category": lack.category,
        "description": f"{lack.affected} of {total} {lack.description}",
        "affected_count": lack.affected,
        "recommendation": lack.recommendation,
    }
