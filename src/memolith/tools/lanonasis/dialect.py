"""The error codes of LanOnasis, and the family itself."""

from memolith import errors
from memolith.tools.family import Family
from memolith.tools.jsonrpc_dialect import ErrorCode, jsonrpc_dialect

SERVER_ERROR = ErrorCode(-32000, "Server Error")
ERROR_CODES = {
    errors.Malformed: ErrorCode(-32602, "Invalid Params"),
    errors.Unauthenticated: ErrorCode(-32001, "Authentication Required"),
    errors.Denied: ErrorCode(-32002, "Permission Denied"),
    errors.RateLimited: ErrorCode(-32003, "Rate Limit Exceeded"),
    errors.NotFound: ErrorCode(-32004, "Resource Not Found"),
    errors.Unavailable: SERVER_ERROR,
    errors.DiskFull: SERVER_ERROR,
}
"""The documented code by error class."""
VALIDATION_ERROR = ErrorCode(-32005, "Validation Error")

lanonasis = Family(
    "lanonasis",
    jsonrpc_dialect(ERROR_CODES, invalid=VALIDATION_ERROR),
    modules=(
        "memolith.tools.lanonasis.api_keys",
        "memolith.tools.lanonasis.intelligence",
        "memolith.tools.lanonasis.memories",
        "memolith.tools.lanonasis.projects",
        "memolith.tools.lanonasis.settings",
        "memolith.tools.lanonasis.topics",
        "memolith.tools.lanonasis.server",
    ),
    order=(
        "create_memory",
        "get_memory",
        "update_memory",
        "delete_memory",
        "list_memories",
        "search_memories",
        "bulk_delete_memories",
        "intelligence_health_check",
        "intelligence_suggest_tags",
        "intelligence_find_related",
        "intelligence_detect_duplicates",
        "intelligence_extract_insights",
        "intelligence_analyze_patterns",
        "health_check",
        "get_stats",
        "list_topics",
        "get_config",
        "set_config",
        "create_project",
        "list_projects",
        "get_organization_info",
        "create_api_key",
        "list_api_keys",
        "get_api_key",
        "rotate_api_key",
        "revoke_api_key",
        "search_lanonasis_docs",
    ),
    instructions=(
        "Memories with a title, a type and tags; a vault for the keys of vendors; insights."
    ),
    purpose="memories with titles, types and tags; projects, API keys and insights",
    stands_for="LanOnasis",
)
