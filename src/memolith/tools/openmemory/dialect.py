"""The family openmemory: the MCP tools of OpenMemory, which its makers removed in July 2026.

It is served at its own path only, because other families use the same tool names. As there, a
result is one text, which is JSON where there is something to list.
"""

from memolith.tools.dialect import Dialect
from memolith.tools.family import Family
from memolith.tools.schema import Body


def text_of_body(body: Body) -> str:
    """The text of a result, or the message of an error."""
    return str(body.get("result", body.get("message", "")))


openmemory = Family(
    "openmemory",
    Dialect(text=text_of_body, open_arguments=True),
    modules=("memolith.tools.openmemory.memories",),
    order=(
        "add_memories",
        "search_memory",
        "list_memories",
        "delete_memories",
        "delete_all_memories",
    ),
    apart=True,
    purpose="a user's memories: add, search, list and delete them",
    stands_for="OpenMemory",
)
