"""The REST API of mem0's platform, as far as `MemoryClient` of the package `mem0ai` calls it."""

from memolith.errors import MemolithError
from memolith.tools.dialect import Dialect
from memolith.tools.rest_api import RestApi
from memolith.tools.schema import Body


def failure(error: MemolithError) -> Body:
    """An error in the form from which the client makes its exceptions."""
    body: Body = {"detail": error.message, "error": error.type}
    if error.field is not None:
        body["field"] = error.field
    return body


mem0_api = RestApi(
    "mem0",
    Dialect(failure=failure),
    modules=(
        "memolith.tools.mem0.adding",
        "memolith.tools.mem0.finding",
        "memolith.tools.mem0.memories",
        "memolith.tools.mem0.batches",
        "memolith.tools.mem0.scopes",
    ),
)
