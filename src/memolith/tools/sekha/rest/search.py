"""Find messages over REST, put them together for a prompt, and count them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, cast

from pydantic import Field

from memolith.domain.chunking import weigh
from memolith.domain.items import Item
from memolith.domain.queries import Filter, Hit, Query
from memolith.tools.call import Call
from memolith.tools.sekha.arguments import FolderFilter, Offset
from memolith.tools.sekha.conversations import DEFAULT_FOLDER, DEFAULT_IMPORTANCE
from memolith.tools.sekha.dialect import success
from memolith.tools.sekha.rest.api import sekha_api
from memolith.tools.sekha.rest.arguments import (
    RestFilters,
    RestLimit,
    Texts,
    chosen_by,
    with_folders,
)
from memolith.tools.sekha.rest.models import (
    ContextBody,
    ContextMessage,
    Enveloped,
    MemoryStats,
    RestHit,
    RestPage,
)
from memolith.tools.sekha.search import PASSAGES_AROUND_HIT, memory_stats, message_hit
from memolith.tools.signature import Argument

MAX_CONTEXT_HITS = 100
Question = Annotated[str, Field(min_length=1, pattern=r"\S")]


class SearchRequest(Argument):
    """A search in one object, as the README of the SDK passes it in the place of the query."""

    query: Question
    limit: RestLimit = 10
    offset: Offset = 0
    labels: Texts | None = None
    filters: RestFilters | None = None


@sekha_api.route("POST", "/api/v1/query", read_only=True)
def query_messages(
    call: Call,
    *,
    query: Question,
    limit: RestLimit = 10,
    offset: Offset = 0,
    filters: RestFilters | None = None,
) -> RestPage:
    """Find messages by words and by meaning, the best first."""
    wanted = Query(query, chosen_by(call, filters), limit=limit, offset=offset)
    return find_messages(call, wanted)


@sekha_api.route("POST", "/api/v1/search/fts", read_only=True)
def full_text_search(call: Call, *, query: Question, limit: RestLimit = 10) -> RestPage:
    """Find messages by their words alone."""
    return find_messages(call, Query(query, chosen_by(call, None), mode="text", limit=limit))


@sekha_api.route("POST", "/mcp/memory/search", read_only=True)
def search_memory(
    call: Call,
    *,
    query: Question | SearchRequest,
    limit: RestLimit = 10,
    offset: Offset = 0,
    labels: Texts | None = None,
    filters: RestFilters | None = None,
) -> RestPage:
    """The same search for the SDK's MCP client."""
    if isinstance(query, SearchRequest):
        wanted = query
    else:
        wanted = SearchRequest(
            query=query, limit=limit, offset=offset, labels=labels, filters=filters
        )
    chosen = chosen_by(call, wanted.filters)
    if wanted.labels:
        chosen = replace(chosen, titles=(*chosen.titles, *wanted.labels))
    return find_messages(
        call, Query(wanted.query, chosen, limit=wanted.limit, offset=wanted.offset)
    )


@sekha_api.route("POST", "/api/v1/context/assemble", read_only=True)
def assemble_context(
    call: Call,
    *,
    query: Question,
    preferred_labels: Texts = [],  # noqa: B006 - nothing changes it
    context_budget: Annotated[int, Field(ge=1, le=1_000_000)] = 4000,
    excluded_folders: Texts = [],  # noqa: B006 - nothing changes it
) -> ContextBody:
    """The messages that answer best, within a budget of tokens; preferred labels come first."""
    chosen = chosen_by(call, None)
    if excluded_folders:
        chosen = with_folders(call, chosen, outside=excluded_folders)
    filters = [chosen]
    if preferred_labels:
        filters.insert(0, replace(chosen, titles=tuple(preferred_labels)))
    hits: dict[tuple[str, int], Hit] = {}
    warnings: dict[str, None] = {}
    for narrowed in filters:
        found = call.engine.recall.search(
            call.caller, per_message(Query(query, narrowed, limit=MAX_CONTEXT_HITS))
        )
        warnings.update(dict.fromkeys(found.warnings))
        for hit in found.hits:
            hits.setdefault((hit.item.id, hit.passage.block), hit)
    messages = _within_budget(hits.values(), context_budget)
    ids = list(dict.fromkeys(str(message["metadata"]["conversation_id"]) for message in messages))
    call.note_hits(ids)
    labels = {str(message["metadata"]["label"]): None for message in messages}
    return {
        "messages": messages,
        "token_count": sum(weigh(message["content"]) for message in messages),
        "conversation_ids": ids,
        "labels": list(labels),
        "warnings": list(warnings),
    }


@sekha_api.route("GET", "/api/v1/stats", read_only=True)
def get_stats(call: Call, *, folder: FolderFilter = None) -> Enveloped:
    """How many conversations there are, in the envelope of the tools."""
    stats = dict(memory_stats(call, folder=folder))
    return cast(Enveloped, success(stats))


@sekha_api.route("POST", "/mcp/memory/stats", read_only=True)
def memory_figures(call: Call, *, filters: RestFilters | None = None) -> MemoryStats:
    """Figures of the conversations that pass a filter."""
    chosen = chosen_by(call, filters)
    items = _started_within(
        call.engine.reading.list_all(call.caller, replace(chosen, since=None, until=None)), chosen
    )
    total = len(items)
    scores = [_importance(item) for item in items]
    starts = sorted(item.created_at for item in items)
    return {
        "total_conversations": total,
        "total_messages": sum(item.blocks for item in items),
        "total_tokens": call.engine.conversations.tokens(call.caller, items),
        "average_importance": round(sum(scores) / total, 2) if total else 0.0,
        "labels": dict(Counter(item.title for item in items)),
        "folders": dict(Counter(_folder(item) for item in items)),
        "oldest_conversation": starts[0] if starts else None,
        "newest_conversation": starts[-1] if starts else None,
    }


def find_messages(call: Call, wanted: Query) -> RestPage:
    """A page of the messages that a query finds."""
    found = call.engine.recall.search(call.caller, per_message(wanted))
    call.note_hits({hit.item.id for hit in found.hits})
    return {
        "query": wanted.text,
        "results": [_rest_hit(hit) for hit in found.hits],
        "total": found.total,
        "page": wanted.offset // wanted.limit + 1,
        "page_size": wanted.limit,
        "limit": wanted.limit,
        "warnings": list(found.warnings),
    }


def per_message(wanted: Query) -> Query:
    """The query with one hit for each message, and its neighbours."""
    return replace(wanted, per_block=True, reach=PASSAGES_AROUND_HIT, family="sekha")


def _rest_hit(hit: Hit) -> RestHit:
    found = message_hit(hit)
    return {
        "id": found["conversation_id"],
        "conversation_id": found["conversation_id"],
        "message_id": found["message_id"],
        "label": found["label"],
        "folder": found["folder"],
        "content": found["content"],
        "score": found["score"],
        "similarity": found["score"],
        "created_at": hit.item.created_at,
        "timestamp": found["timestamp"],
        "metadata": found["metadata"],
    }


def _within_budget(hits: Iterable[Hit], budget: int) -> list[ContextMessage]:
    """The messages of hits as long as they fit; one that is too long is left out."""
    messages: list[ContextMessage] = []
    for hit in hits:
        found = message_hit(hit)
        size = weigh(found["content"])
        if size > budget:
            continue
        budget -= size
        messages.append(
            {
                "role": str(found["metadata"]["role"]),
                "content": found["content"],
                "timestamp": found["timestamp"],
                "metadata": {
                    "conversation_id": found["conversation_id"],
                    "message_id": found["message_id"],
                    "label": found["label"],
                    "folder": found["folder"],
                    "score": found["score"],
                },
            }
        )
    return messages


def _started_within(items: Iterable[Item], chosen: Filter) -> list[Item]:
    """The items that were made in the time range of a filter."""
    return [
        item
        for item in items
        if (chosen.since or "") <= item.created_at
        and (chosen.until is None or item.created_at <= chosen.until)
    ]


def _importance(item: Item) -> float:
    return float(cast(float, item.attributes.get("importance_score", DEFAULT_IMPORTANCE)))


def _folder(item: Item) -> str:
    return str(item.attributes.get("folder", DEFAULT_FOLDER))
