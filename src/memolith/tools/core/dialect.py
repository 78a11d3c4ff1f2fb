"""The core family: a few tools over everything that is remembered, whatever dialect wrote it."""

from collections.abc import Sequence

from memolith.tools.call import Call
from memolith.tools.family import Family
from memolith.tools.resources import Resource, Resources
from memolith.tools.results import text_with_speakers

ITEM_ADDRESS = "memolith://item/"
MAX_LISTED_RESOURCES = 50


def read_resource(call: Call, uri: str) -> str:
    """The item at an address as Markdown."""
    item, blocks = call.engine.reading.read(call.caller, uri.removeprefix(ITEM_ADDRESS))
    text = text_with_speakers(blocks)
    if item.title:
        return f"# {item.title}\n\n{text}"
    return text


def list_resources(call: Call) -> Sequence[Resource]:
    """The newest items."""
    page = call.engine.reading.list_items(call.caller, limit=MAX_LISTED_RESOURCES)
    return [
        Resource(
            uri=ITEM_ADDRESS + item.id,
            name=item.title or item.kind,
            description=f"{item.kind} of {item.created_at[:10]}",
            mime_type="text/markdown",
        )
        for item in page.items
    ]


core = Family(
    "core",
    modules=(
        "memolith.tools.core.items",
        "memolith.tools.core.search",
    ),
    order=(
        "remember",
        "recall",
        "context",
        "fetch",
        "revise",
        "forget",
        "restore",
        "link",
        "explore",
        "history",
        "overview",
    ),
    instructions="Long-term memory. Recall before you answer from memory or start a task; remember "
    "decisions, preferences and facts worth keeping.",
    resources=Resources(
        address=ITEM_ADDRESS,
        read=read_resource,
        listed=list_resources,
        templates=(Resource(ITEM_ADDRESS + "{id}", "item", "An item as text.", "text/markdown"),),
    ),
    purpose="remember and recall anything, whatever family wrote it",
)
