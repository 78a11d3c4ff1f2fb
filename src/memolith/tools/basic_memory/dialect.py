"""The family basic_memory: the tools of basic-memory over memories as Markdown notes.

It is served at its own path only. As there, a result is a text for the model or, with
`output_format`, an object; both stand in `result`.
"""

import json

from memolith.tools.dialect import Dialect
from memolith.tools.family import Family
from memolith.tools.schema import Body


def text_of_body(body: Body) -> str:
    """The text for the model as it is; an object as JSON; of an error its message."""
    if "result" not in body:
        return str(body["message"])
    result = body["result"]
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, indent=2)


basic_memory = Family(
    "basic_memory",
    Dialect(text=text_of_body),
    modules=(
        "memolith.tools.basic_memory.notes",
        "memolith.tools.basic_memory.places",
        "memolith.tools.basic_memory.search",
        "memolith.tools.basic_memory.navigation",
    ),
    order=(
        "write_note",
        "read_note",
        "view_note",
        "edit_note",
        "move_note",
        "delete_note",
        "search_notes",
        "build_context",
        "recent_activity",
        "list_directory",
        "list_memory_projects",
    ),
    apart=True,
    instructions=(
        "Markdown notes with permalinks. Write facts as `- [category] fact #tag` and connections "
        "as `- relation_type [[Other note]]`. Search before you write; read a note by its title "
        "or permalink."
    ),
    purpose="Markdown notes with permalinks, observations and relations",
    stands_for="basic-memory",
)
