"""The two tools that ChatGPT looks for, in the shape it expects; served at their own path only."""

from typing import Annotated

from pydantic import Field

from memolith.engine.recall import Query
from memolith.registry import Body, Call, Family, shape
from memolith.surfaces.items import ITEM, bare_id, spoken

chatgpt = Family("chatgpt", apart=True, instructions="Search the user's memory, then fetch what looks right.")


@chatgpt.tool(shape(results=[shape(id=str, title=str, url=str)]), read_only=True)
def search(call: Call, *, query: Annotated[str, Field(description="What to look for.")]) -> Body:
    """Search everything that is remembered and get ids to fetch."""
    found = call.engine.recall(call.caller, Query(query, limit=10, per_item=True))
    return {"results": [{"id": hit.item.id, "title": hit.item.title or hit.passage.text[:80],
                         "url": ITEM + hit.item.id} for hit in found.hits]}


@chatgpt.tool(shape(id=str, title=str, text=str, url=str, metadata=dict[str, str]), read_only=True)
def fetch(call: Call, *, id: Annotated[str, Field(description="An id that `search` gave.")]) -> Body:
    """The whole text of one search result."""
    item, blocks = call.engine.read(call.caller, bare_id(id))
    call.engine.note_read(call.caller, item.id)
    text = spoken(blocks)
    return {"id": item.id, "title": item.title or text[:80], "text": text, "url": ITEM + item.id,
            "metadata": {"kind": item.kind, "created_at": item.created_at, "tags": ", ".join(item.tags)}}
