"""List memories and search them."""

from dataclasses import replace
from typing import Annotated
from urllib.parse import urlencode

from pydantic import Field

from memolith.domain.attributes import Json
from memolith.domain.items import Item
from memolith.domain.queries import Filter, Query
from memolith.engine.validation import when
from memolith.tools.arguments import JsonObject
from memolith.tools.call import Call
from memolith.tools.mem0.api import mem0_api
from memolith.tools.mem0.filters import MEMORIES, MemoryFilter, matching_items, parse_filters
from memolith.tools.mem0.models import MemoryBody, MemoryPage, SearchResult
from memolith.tools.mem0.views import memory_body, text_of

DEFAULT_PAGE_SIZE = 100
LIST_PATH = "/v3/memories/"
END_OF_DAY = "T23:59:59.999999Z"
DAY_CHARACTERS = len("2026-01-31")


@mem0_api.route("POST", LIST_PATH, read_only=True)
def get_all(
    call: Call,
    *,
    filters: JsonObject,
    page: Annotated[int, Field(ge=1)] = 1,
    page_size: Annotated[int, Field(ge=1, le=1000)] = DEFAULT_PAGE_SIZE,
    start_date: str | None = None,
    end_date: str | None = None,
    categories: list[str] | None = None,
    fields: list[str] | None = None,
    show_expired: bool = False,
    latest_only: bool = False,
) -> MemoryPage:
    """One page of the memories that pass the filters, the newest first."""
    wanted = _with_categories(parse_filters(filters), categories)
    items = matching_items(call, wanted, show_expired=show_expired)
    if start_date is not None:
        start = when("start_date", start_date)
        items = [item for item in items if item.created_at >= start]
    if end_date is not None:
        end = _end_of(end_date)
        items = [item for item in items if item.created_at <= end]
    if latest_only:
        items = _without_replaced(call, items)
    first = (page - 1) * page_size
    shown = items[first : first + page_size]
    return {
        "count": len(items),
        "next": _address(page + 1, page_size) if first + page_size < len(items) else None,
        "previous": _address(page - 1, page_size) if page > 1 else None,
        "results": _bodies(call, shown, fields),
    }


@mem0_api.route("POST", "/v3/memories/search/", read_only=True)
def search(
    call: Call,
    *,
    query: Annotated[str, Field(min_length=1)],
    filters: JsonObject,
    top_k: Annotated[int, Field(ge=1, le=1000)] = 10,
    threshold: Annotated[float | None, Field(ge=0, le=1)] = None,
    rerank: bool = False,
    keyword_search: bool = False,
    categories: list[str] | None = None,
    metadata: JsonObject | None = None,
    fields: list[str] | None = None,
    latest_only: bool = False,
) -> SearchResult:
    """The memories that answer a question, the best first."""
    if metadata:
        filters = {"AND": [filters, {"metadata": metadata}]}
    wanted = _with_categories(parse_filters(filters), categories)
    found = call.engine.recall.search(
        call.caller,
        Query(
            text=query,
            filter=_searched(call, wanted),
            mode="text" if keyword_search else "hybrid",
            limit=top_k,
            threshold=threshold,
            deep=True if rerank else None,
            per_item=True,
            family="mem0",
        ),
    )
    scores = {hit.item.id: hit.score for hit in found.hits}
    items = [hit.item for hit in found.hits]
    if latest_only:
        items = _without_replaced(call, items)
    call.note_hits([item.id for item in items])
    bodies = _bodies(call, items, fields)
    for body in bodies:
        body["score"] = scores[body["id"]]
    return {"results": bodies, "warnings": list(found.warnings)}


def _searched(call: Call, wanted: MemoryFilter) -> Filter:
    """What a search looks at; what no store can tell is found out first."""
    if not wanted.tests:
        return wanted.chosen
    items = matching_items(call, wanted, show_expired=False)
    # An empty list of ids would not limit anything.
    ids = tuple(item.id for item in items) or ("",)
    return replace(MEMORIES, ids=ids)


def _with_categories(wanted: MemoryFilter, categories: list[str] | None) -> MemoryFilter:
    if not categories:
        return wanted
    return wanted._replace(chosen=replace(wanted.chosen, tags_any=tuple(categories)))


def _without_replaced(call: Call, items: list[Item]) -> list[Item]:
    marks = call.engine.reading.superseded(call.caller, [item.id for item in items])
    return [item for item in items if item.id not in marks]


def _bodies(call: Call, items: list[Item], fields: list[str] | None) -> list[MemoryBody]:
    # `forgotten` lets those through that have expired, which the caller has asked for.
    texts = call.engine.reading.read_many(call.caller, [item.id for item in items], forgotten=True)
    return [memory_body(item, text_of(blocks), fields) for item, blocks in texts]


def _end_of(date: str) -> str:
    """The last moment of a day, or the moment that is named."""
    if len(date) == DAY_CHARACTERS:
        return when("end_date", date + END_OF_DAY)
    return when("end_date", date)


def _address(page: int, page_size: int) -> str:
    parameters: dict[str, Json] = {"page": page, "page_size": page_size}
    return f"{LIST_PATH}?{urlencode(parameters)}"
