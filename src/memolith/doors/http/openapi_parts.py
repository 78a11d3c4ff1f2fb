"""What the descriptions of tools and of other systems' routes have in common."""

from typing import Any

from memolith.errors import MemolithError

JSON_OBJECT = {"application/json": {"schema": {"type": "object"}}}
IDEMPOTENCY_HEADER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}


def error_responses() -> dict[str, Any]:
    return {
        str(kind.status): {"description": kind.__doc__, "content": JSON_OBJECT}
        for kind in MemolithError.__subclasses__()
    }
