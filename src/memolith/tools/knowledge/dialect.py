"""How the Knowledge family words its errors, and the family itself."""

from memolith.errors import MemolithError
from memolith.tools.dialect import Dialect
from memolith.tools.family import Family
from memolith.tools.schema import Body

NOT_FOUND_TYPES = {
    "relationship_type": "relationship_not_found",
    "end_concept_id": "path_not_found",
}
"""The type of a not-found error by the field that named nothing; others are `concept_not_found`."""

ERROR_TYPES = {
    409: "validation_error",
    413: "validation_error",
    503: "service_unavailable",
    507: "database_error",
}
"""The documented type by HTTP status, where it differs from our own."""

DOCUMENTED_FIELDS = {"title": "name", "content": "explanation", "target": "target_id"}
"""The documented name of a field by its name in the engine."""

MAX_SHOWN_VALUE_LENGTH = 50


def error_type(error: MemolithError) -> str:
    """The documented type of an error."""
    if error.status == 404:
        return NOT_FOUND_TYPES.get(error.field or "", "concept_not_found")
    return ERROR_TYPES.get(error.status, error.type)


def failure(error: MemolithError) -> Body:
    """The documented error body."""
    details: dict[str, str] = {}
    if error.field is not None:
        details["field"] = DOCUMENTED_FIELDS.get(error.field, error.field)
    if error.id is not None:
        details["resource_id"] = error.id
    if error.value is not None:
        details["invalid_value"] = str(error.value)[:MAX_SHOWN_VALUE_LENGTH]
    kind = error_type(error)
    return {
        "success": False,
        "error": kind,
        "error_type": kind,
        "message": error.message,
        "details": details,
    }


knowledge = Family(
    "knowledge",
    Dialect(failure=failure),
    modules=(
        "memolith.tools.knowledge.concepts",
        "memolith.tools.knowledge.relationships",
        "memolith.tools.knowledge.server",
        "memolith.tools.knowledge.search",
    ),
    order=(
        "ping",
        "get_server_stats",
        "get_tool_availability",
        "create_concept",
        "get_concept",
        "update_concept",
        "delete_concept",
        "search_concepts_semantic",
        "search_concepts_exact",
        "get_recent_concepts",
        "create_relationship",
        "delete_relationship",
        "get_related_concepts",
        "get_prerequisites",
        "get_concept_chain",
        "list_hierarchy",
        "get_concepts_by_certainty",
    ),
    purpose="concepts with prerequisites and certainty",
    stands_for="the knowledge server",
)
