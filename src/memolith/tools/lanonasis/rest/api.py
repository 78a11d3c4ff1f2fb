"""The REST API of LanOnasis, which its own clients call."""

from memolith.errors import MemolithError
from memolith.tools.dialect import Dialect
from memolith.tools.rest_api import RestApi
from memolith.tools.schema import Body

BASE = "/api/v1"
OTHER_ERROR = "API_ERROR"
CODES = {
    400: "VALIDATION_ERROR",
    401: "AUTH_ERROR",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    409: "CONFLICT",
    429: "RATE_LIMIT_ERROR",
    500: "SERVER_ERROR",
    503: "SERVER_ERROR",
}
"""The codes that `@lanonasis/memory-client` knows, by HTTP status."""


def rest_failure(error: MemolithError) -> Body:
    """An error as both clients read it: one takes `error` and `details`, the other `message`."""
    body: Body = {
        "error": error.message,
        "message": error.message,
        "code": CODES.get(error.status, OTHER_ERROR),
    }
    if error.field is not None:
        body["details"] = [{"field": error.field, "message": error.message}]
    return body


lanonasis_api = RestApi(
    "lanonasis",
    Dialect(failure=rest_failure),
    modules=(
        "memolith.tools.lanonasis.rest.memories",
        "memolith.tools.lanonasis.rest.topics",
        "memolith.tools.lanonasis.rest.analytics",
        "memolith.tools.lanonasis.rest.intelligence",
        "memolith.tools.lanonasis.rest.memory_health",
        "memolith.tools.lanonasis.rest.predictions",
        "memolith.tools.lanonasis.rest.behavior",
        "memolith.tools.lanonasis.rest.server",
    ),
)
