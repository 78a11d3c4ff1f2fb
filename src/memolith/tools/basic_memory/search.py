"""Search notes by words, meaning, title, permalink or fields."""

from dataclasses import replace
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from memolith.domain.items import Item
from memolith.domain.queries import Condition, Filter, Query
from memolith.engine.notes import KIND, TYPE, path_of, permalink_of, title_of
from memolith.errors import InvalidInput
from memolith.tools.arguments import JsonObject
from memolith.tools.basic_memory.arguments import OutputFormat, Page, PageSize, Project, since
from memolith.tools.basic_memory.dialect import basic_memory
from memolith.tools.basic_memory.models import FoundNote, SearchNotesResult
from memolith.tools.basic_memory.views import metadata_of
from memolith.tools.call import Call

SearchType = Literal["text", "title", "permalink", "vector", "semantic", "hybrid"]
MODES = {"text": "text", "vector": "vector", "semantic": "vector", "hybrid": "hybrid"}
COMPARISONS = {"$in": "in", "$gt": "gt", "$gte": "ge", "$lt": "lt", "$lte": "le"}
TAG_PREFIX = "tag:"
MAX_EXCERPT = 300


class Results(NamedTuple):
    """A page of what was found, and how many there are in all."""

    notes: list[FoundNote]
    total: int


@basic_memory.tool(read_only=True, example={"query": "zebra"})
def search_notes(
    call: Call,
    *,
    query: Annotated[
        str | None, Field(description="What to look for; `tag:name` asks for a tag.")
    ] = None,
    project: Project = None,
    page: Page = 1,
    page_size: PageSize = 10,
    search_type: SearchType = "hybrid",
    output_format: OutputFormat = "text",
    note_types: list[str] | None = None,
    after_date: Annotated[str | None, Field(description="`7d`, `2 weeks ago` or a date.")] = None,
    metadata_filters: Annotated[
        JsonObject | None, Field(description="Values by field, or {field: {$gte: 3}}.")
    ] = None,
    tags: list[str] | None = None,
    status: str | None = None,
    min_similarity: Annotated[float | None, Field(ge=0, le=1)] = None,
) -> SearchNotesResult:
    """Search notes. Without a query, list those that pass the filters, newest first."""
    words = [word for word in (query or "").split() if not word.startswith(TAG_PREFIX)]
    asked_tags = [
        word.removeprefix(TAG_PREFIX)
        for word in (query or "").split()
        if word.startswith(TAG_PREFIX)
    ]
    now = call.engine.clock.now()
    where = conditions(metadata_filters or {})
    if status is not None:
        where.append(Condition("status", "eq", status))
    if note_types:
        where.append(Condition(TYPE, "in", list(note_types)))
    chosen = Filter(
        kinds=(KIND,),
        projects=() if project is None else (project,),
        tags_all=(*(tags or ()), *asked_tags),
        since=None if after_date is None else since(after_date, now, "after_date"),
        where=tuple(where),
    )
    text = " ".join(words)
    start = (page - 1) * page_size
    if text and search_type in MODES:
        asked = Query(
            text=text,
            filter=chosen,
            mode=MODES[search_type],
            limit=page_size,
            offset=start,
            threshold=min_similarity,
            per_item=True,
            family="basic_memory",
        )
        results = ranked(call, asked)
    else:
        if min_similarity is not None:
            raise InvalidInput(
                "Only a search by words or meaning has scores; leave min_similarity out.",
                field="min_similarity",
            )
        results = listed(call, chosen, text, search_type, start, page_size)
    if output_format == "json":
        return {
            "result": {
                "results": results.notes,
                "current_page": page,
                "page_size": page_size,
                "total": results.total,
                "has_more": start + page_size < results.total,
            }
        }
    return {"result": text_of(results, query or "")}


def ranked(call: Call, query: Query) -> Results:
    found = call.engine.recall.search(call.caller, query)
    call.note_hits([hit.item.id for hit in found.hits])
    notes = [found_note(hit.item, hit.passage.text, hit.score) for hit in found.hits]
    return Results(notes, found.total)


def listed(
    call: Call, chosen: Filter, text: str, search_type: str, start: int, page_size: int
) -> Results:
    """The notes that pass the filter and whose title or permalink has the text."""
    if text and search_type == "title":
        chosen = replace(chosen, title=text)
    elif text:
        ids = call.engine.notes.matching(call.caller, text)
        if not ids:
            return Results([], 0)
        chosen = replace(chosen, ids=ids)
    page = call.engine.reading.list_items(call.caller, chosen, limit=page_size, offset=start)
    beginnings = call.engine.reading.beginnings(
        call.caller, [item.id for item in page.items], MAX_EXCERPT
    )
    notes = [found_note(item, beginnings.get(item.id, ""), 1.0) for item in page.items]
    return Results(notes, page.total)


def conditions(filters: JsonObject) -> list[Condition]:
    """The tests on fields: a value, or comparisons such as {"$gte": 3}."""
    tests: list[Condition] = []
    for name, wanted in filters.items():
        if not isinstance(wanted, dict):
            tests.append(Condition(name, "in" if isinstance(wanted, list) else "eq", wanted))
            continue
        for comparison, value in wanted.items():
            if comparison not in COMPARISONS:
                raise InvalidInput(
                    f"There is no comparison {comparison!r}; use one of {', '.join(COMPARISONS)}.",
                    field="metadata_filters",
                    value=comparison,
                )
            tests.append(Condition(name, COMPARISONS[comparison], value))
    return tests


def found_note(item: Item, text: str, score: float) -> FoundNote:
    return {
        "title": title_of(item),
        "type": "entity",
        "score": score,
        "permalink": permalink_of(item),
        "file_path": path_of(item),
        "matched_chunk": text[:MAX_EXCERPT],
        "updated_at": item.updated_at,
        "metadata": metadata_of(item),
    }


def text_of(results: Results, query: str) -> str:
    if not results.notes:
        return f"No notes were found for {query!r}."
    lines = [f"# Found {results.total} notes"]
    for note in results.notes:
        lines += ["", f"## {note['title']}", f"permalink: {note['permalink']}"]
        lines += [f"score: {note['score']:.2f}", "", note["matched_chunk"]]
    return "\n".join(lines)
