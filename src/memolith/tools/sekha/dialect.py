"""The envelope in which the Sekha family wraps results and errors, and the family itself."""

from memolith.errors import MemolithError
from memolith.tools.dialect import Dialect
from memolith.tools.family import Family
from memolith.tools.schema import NULL, Body, Schema, object_schema

DOCUMENTED_FIELDS = {"title": "label", "content": "messages"}
"""The documented name of a field by its name in the engine."""


def success(body: Body) -> Body:
    """The documented envelope around a result."""
    return {"success": True, "data": body, "error": None}


def failure(error: MemolithError) -> Body:
    """The documented envelope around an error.

    It has no place for a field, so the message names it.
    """
    field = DOCUMENTED_FIELDS.get(error.field or "", error.field or "")
    message = error.message
    if field.split(".")[-1] not in message:
        message = f"{field}: {message}"
    return {"success": False, "data": None, "error": message}


def envelope_schema(result: Schema) -> Schema:
    """The schema of the envelope around a result."""
    properties = {
        "success": {"type": "boolean"},
        "data": {"anyOf": [result, NULL]},
        "error": {"type": ["string", "null"]},
    }
    return object_schema(properties, list(properties))


sekha = Family(
    "sekha",
    Dialect(success=success, failure=failure, schema=envelope_schema),
    modules=(
        "memolith.tools.sekha.conversations",
        "memolith.tools.sekha.pruning",
        "memolith.tools.sekha.search",
    ),
    order=(
        "memory_store",
        "memory_search",
        "memory_update",
        "memory_prune",
        "memory_get_context",
        "memory_export",
        "memory_stats",
    ),
    instructions="Whole conversations, kept in folders and found again by the message.",
    purpose="whole conversations in folders, with context and pruning",
    stands_for="Sekha",
)
