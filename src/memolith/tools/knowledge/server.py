"""Whether the server answers, what its log holds, and which tools work."""

from memolith.tools.call import Call
from memolith.tools.knowledge.dialect import knowledge
from memolith.tools.knowledge.models import Pong, ServerStats, ToolAvailability

WORKING_EMBEDDING_STATES = ("healthy", "loading")


@knowledge.tool(read_only=True)
def ping(call: Call) -> Pong:
    """Ask whether the server answers."""
    return {
        "status": "ok",
        "message": "memolith is running",
        "server_name": "memolith",
        "timestamp": call.engine.clock.now(),
    }


@knowledge.tool(read_only=True)
def get_server_stats(call: Call) -> ServerStats:
    """How many events the log holds, and how much derived work is waiting, done or given up."""
    places = call.engine.concepts.hierarchy(call.caller)
    outbox = call.engine.maintenance.outbox_counts(call.caller.tenant)
    return {
        "success": True,
        "event_store": {
            "total_events": call.engine.maintenance.event_count(call.caller.tenant),
            "concept_events": sum(place.events for place in places),
        },
        "outbox": outbox,
        "status": "error" if outbox["failed"] else "healthy",
    }


@knowledge.tool(read_only=True)
def get_tool_availability(call: Call) -> ToolAvailability:
    """Which tools of this family work right now, and the state of the parts behind them."""
    embeddings = call.engine.maintenance.health()["embeddings"] in WORKING_EMBEDDING_STATES
    sandbox_mode, _ = call.engine.runners.state()
    names = sorted(tool.name for tool in knowledge.tools)
    return {
        "success": True,
        "available": names,
        "unavailable": [],
        "total_tools": len(names),
        "service_status": {
            "concept_tools": {"repository": True, "confidence_service": True},
            "search_tools": {
                "neo4j_service": True,
                "chromadb_service": embeddings,
                "embedding_service": embeddings,
            },
            "relationship_tools": {"neo4j_service": True, "event_store": True, "outbox": True},
            "analytics_tools": {"neo4j_service": True},
            "runner_tools": {
                "sandbox": sandbox_mode != "none",
                "namespace": sandbox_mode == "namespace",
                "landlock": sandbox_mode == "landlock",
            },
        },
    }
