"""The two tools that ChatGPT's connectors look for."""

from typing import Annotated

from pydantic import Field

from memolith.domain.queries import Query
from memolith.tools.arguments import bare_id
from memolith.tools.call import Call
from memolith.tools.chatgpt.dialect import chatgpt
from memolith.tools.chatgpt.models import FetchedDocument, SearchResults
from memolith.tools.core.dialect import ITEM_ADDRESS
from memolith.tools.results import text_with_speakers

ITEM_PAGE = "/ui/item/"
"""Where the web page of a server shows an item."""
MAX_RESULTS = 10
MAX_TITLE_LENGTH = 80


@chatgpt.tool(read_only=True, example={"query": "zebra"})
def search(
    call: Call, *, query: Annotated[str, Field(description="What to look for.")]
) -> SearchResults:
    """Search everything that is remembered and get ids to fetch."""
    found = call.engine.recall.search(
        call.caller, Query(text=query, limit=MAX_RESULTS, per_item=True, family="chatgpt")
    )
    call.note_hits([hit.item.id for hit in found.hits])
    return {
        "results": [
            {
                "id": hit.item.id,
                "title": hit.item.title or hit.passage.text[:MAX_TITLE_LENGTH],
                "url": address_of(call, hit.item.id),
            }
            for hit in found.hits
        ]
    }


@chatgpt.tool(name="fetch", read_only=True, example={"id": "one"})
def fetch_result(
    call: Call, *, id: Annotated[str, Field(description="An id that `search` gave.")]
) -> FetchedDocument:
    """The whole text of one search result."""
    item, blocks = call.engine.reading.read(call.caller, bare_id(id))
    call.note_read(item.id)
    text = text_with_speakers(blocks)
    marks = call.engine.reading.superseded(call.caller, [item.id])
    metadata = {
        "kind": item.kind,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "tags": ", ".join(item.tags),
    }
    if item.id in marks:
        metadata["superseded_at"] = marks[item.id].at
        metadata["superseded_by"] = marks[item.id].by
    return {
        "id": item.id,
        "title": item.title or text[:MAX_TITLE_LENGTH],
        "text": text,
        "url": address_of(call, item.id),
        "metadata": metadata,
    }


def address_of(call: Call, id: str) -> str:
    """Where a citation of an item leads: to the page of the server, if there is one.

    ChatGPT cites only what has an address.
    """
    server = call.engine.server_state.address()
    return f"{server.rstrip('/')}{ITEM_PAGE}{id}" if server else ITEM_ADDRESS + id
