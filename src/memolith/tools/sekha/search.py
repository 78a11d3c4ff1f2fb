"""Find messages, and count conversations."""

from typing import Annotated

from pydantic import Field

from memolith.domain.blocks import join_blocks
from memolith.domain.passages import Block
from memolith.domain.queries import Hit, Query
from memolith.engine.validation import folder_path
from memolith.errors import InvalidInput
from memolith.tools.arguments import SHOWS_NULL, Limit
from memolith.tools.call import Call
from memolith.tools.sekha.arguments import Filters, FolderFilter, LabelFilter, Offset
from memolith.tools.sekha.conversations import DEFAULT_FOLDER
from memolith.tools.sekha.dialect import sekha
from memolith.tools.sekha.models import (
    ConversationStats,
    NeighbourMessage,
    SearchResult,
    SearchResults,
)

PASSAGES_AROUND_HIT = 8
MAX_NEIGHBOUR_TEXT_LENGTH = 200


@sekha.tool(read_only=True, example={"query": "hello"})
def memory_search(
    call: Call,
    *,
    query: Annotated[str, Field(min_length=1, pattern=r"\S")],
    filters: Annotated[Filters | None, SHOWS_NULL] = None,
    limit: Limit = 10,
    offset: Offset = 0,
) -> SearchResults:
    """Find messages by words and by meaning, the best first; `metadata.context` has the ones
    before and after.
    """
    found = call.engine.recall.search(
        call.caller,
        Query(
            text=query,
            filter=(filters or Filters()).to_filter(),
            limit=limit,
            offset=offset,
            per_block=True,
            reach=PASSAGES_AROUND_HIT,
            family="sekha",
        ),
    )
    call.note_hits({hit.item.id for hit in found.hits})
    return {
        "query": query,
        "total_results": found.total,
        "limit": limit,
        "results": [message_hit(hit) for hit in found.hits],
        "warnings": list(found.warnings),
    }


@sekha.tool(read_only=True)
def memory_stats(
    call: Call, *, folder: FolderFilter = None, label: LabelFilter = None
) -> ConversationStats:
    """How many conversations there are and how important they are on the whole; at most one of
    folder and label.
    """
    if folder is not None and label is not None:
        raise InvalidInput("Cannot specify both folder and label", field="folder")
    chosen = Filters(folder=folder, label=label).to_filter()
    counts = call.engine.conversations.folder_counts(call.caller, chosen)
    total = sum(count.conversations for count in counts)
    average = 0.0
    if total:
        weighted = sum(count.importance * count.conversations for count in counts)
        average = round(weighted / total, 2)
    stats: ConversationStats = {"total_conversations": total, "average_importance": average}
    if label is not None:
        stats["labels"] = [label] if total else []
    elif folder is not None:
        stats["folders"] = [folder_path(folder)] if total else []
    else:
        stats["folders"] = sorted({count.folder for count in counts})
    return stats


def message_hit(hit: Hit) -> SearchResult:
    """A message with the ones before and after it."""
    number = hit.passage.block
    numbers = sorted({passage.block for passage in hit.around})
    messages = dict(zip(numbers, join_blocks(hit.around), strict=True))
    context: dict[str, NeighbourMessage] = {}
    if number - 1 in messages:
        context["before"] = _neighbour(hit, number - 1, messages[number - 1])
    if number + 1 in messages:
        context["after"] = _neighbour(hit, number + 1, messages[number + 1])
    return {
        "conversation_id": hit.item.id,
        "message_id": f"{hit.item.id}#{number}",
        "score": hit.score,
        "content": messages[number].text,
        "label": hit.item.title,
        "timestamp": hit.passage.at,
        "folder": hit.item.attributes.get("folder", DEFAULT_FOLDER),
        "metadata": {
            **hit.passage.attributes,
            "role": hit.passage.speaker or "user",
            "updated_at": hit.item.updated_at,
            "context": context,
        },
    }


def _neighbour(hit: Hit, number: int, message: Block) -> NeighbourMessage:
    return {
        "message_id": f"{hit.item.id}#{number}",
        "role": message.speaker or "user",
        "content": message.text[:MAX_NEIGHBOUR_TEXT_LENGTH],
        "timestamp": message.at,
    }
