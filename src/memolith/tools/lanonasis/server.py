"""Health, statistics and the documentation of the server."""

from typing import Annotated, Literal, cast

from pydantic import Field

from memolith import __version__
from memolith.domain.queries import Filter, Query
from memolith.tools.call import Call
from memolith.tools.lanonasis.arguments import (
    NonEmptyText,
    UserId,
    acting_for,
    check_lengths,
    own_memories,
)
from memolith.tools.lanonasis.dialect import lanonasis
from memolith.tools.lanonasis.memory_types import count_by_type
from memolith.tools.lanonasis.models import (
    DocumentationHits,
    HealthReport,
    TypeCounts,
    UserStats,
)

RECENT_MEMORIES = 5
MAX_EXCERPT_LENGTH = 300


@lanonasis.tool(read_only=True)
def health_check(call: Call) -> HealthReport:
    """Whether the server and its parts work."""
    embeddings_work = call.engine.maintenance.health()["embeddings"] == "healthy"
    return {
        "status": "healthy" if embeddings_work else "degraded",
        "timestamp": call.engine.clock.now(),
        "version": __version__,
        "uptime": round(call.engine.maintenance.uptime_s(), 3),
        "services": {
            "database": "healthy",
            "cache": "healthy",
            "embeddings": "healthy" if embeddings_work else "unhealthy",
        },
    }


@lanonasis.tool(read_only=True, inert=("user_id",))
def get_stats(call: Call, *, user_id: UserId | None = None) -> UserStats:
    """How many memories a user has, of which types, and which were read or written last."""
    caller = acting_for(call, user_id).caller
    reading = call.engine.reading
    reading.flush_accesses()
    chosen = own_memories(caller)
    counts = count_by_type(reading.count_by(caller, "namespace", chosen))
    favourite = reading.most_accessed(caller, chosen)
    recent = reading.list_items(caller, chosen, limit=RECENT_MEMORIES)
    topics = reading.list_items(caller, Filter(kinds=("topic",), owner=caller.user), limit=1)
    return {
        "total_memories": sum(counts.values()),
        "memories_by_type": cast(TypeCounts, counts),
        "total_topics": topics.total,
        "most_accessed_memory": favourite.id if favourite else None,
        "recent_memories": [item.id for item in recent.items],
    }


@lanonasis.tool(read_only=True, example={"query": "backup", "limit": 1})
def search_lanonasis_docs(
    call: Call,
    *,
    query: NonEmptyText,
    section: Literal["all", "api", "guides", "sdks"] = "all",
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
) -> DocumentationHits:
    """Places in this server's documentation: reference (api), how-to pages (guides), libraries and
    clients (sdks).
    """
    check_lengths(call, query=query)
    chosen = Filter(namespaces=() if section == "all" else (section,))
    found = call.engine.recall.search(
        call.engine.manual.caller(), Query(text=query, filter=chosen, limit=limit)
    )
    return {
        "query": query,
        "total": found.total,
        "warnings": list(found.warnings),
        "results": [
            {
                "title": hit.item.title,
                "section": hit.item.namespace,
                "path": hit.item.id,
                "excerpt": " ".join(hit.passage.text.split())[:MAX_EXCERPT_LENGTH],
                "score": hit.score,
            }
            for hit in found.hits
        ],
    }
