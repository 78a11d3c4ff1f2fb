"""The REST API of Sekha's controller and of its bridge, which its own clients call."""

from memolith.errors import MemolithError
from memolith.tools.dialect import Dialect
from memolith.tools.rest_api import RestApi
from memolith.tools.schema import Body
from memolith.tools.sekha.dialect import failure


def rest_failure(error: MemolithError) -> Body:
    """An error as the controller sends it, and as its tools do."""
    return {**failure(error), "code": error.status}


def rest_health(state: Body) -> Body:
    """The health in the words of the controller and of the bridge."""
    embeddings = state.get("embeddings", "down")
    return {
        **state,
        "checks": {"database": {"status": "ok" if "version" in state else "error"}},
        "models_loaded": ["embeddings"] if embeddings == "healthy" else [],
    }


sekha_api = RestApi(
    "sekha",
    Dialect(failure=rest_failure),
    modules=(
        "memolith.tools.sekha.rest.conversations",
        "memolith.tools.sekha.rest.search",
        "memolith.tools.sekha.rest.analysis",
        "memolith.tools.sekha.rest.upkeep",
        "memolith.tools.sekha.rest.bridge",
        "memolith.tools.sekha.rest.server",
        "memolith.tools.sekha.rest.mcp_wrapper",
    ),
    health=rest_health,
    at_root=("/api/v1/", "/mcp/memory/", "/v1/chat/", "/embed", "/version"),
)
