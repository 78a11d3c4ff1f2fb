"""Follow links from a note, and see what changed lately."""

from typing import Annotated

from pydantic import Field

from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.domain.queries import Filter
from memolith.engine.graph.walking import Traversal
from memolith.engine.note_text import observations_of
from memolith.engine.notes import KIND, checked_pattern, path_of, permalink_of, plain_name, title_of
from memolith.errors import NotFound
from memolith.tools.basic_memory.arguments import OutputFormat, Page, PageSize, Project, since
from memolith.tools.basic_memory.dialect import basic_memory
from memolith.tools.basic_memory.models import (
    BuildContextResult,
    GraphContext,
    NoteContext,
    NoteSummary,
    ObservationSummary,
    RecentActivityResult,
    RelationSummary,
)
from memolith.tools.basic_memory.views import summary_of
from memolith.tools.call import Call

BATCH = 500


@basic_memory.tool(read_only=True, example={"url": "memory://one"})
def build_context(
    call: Call,
    *,
    url: Annotated[str, Field(description="`memory://folder/note`, or `folder/*`.")],
    project: Project = None,
    depth: Annotated[int, Field(ge=0, le=5)] = 1,
    timeframe: Annotated[
        str | None, Field(description="Only what changed since, such as `7d`; all if left out.")
    ] = None,
    page: Page = 1,
    page_size: PageSize = 10,
    max_related: Annotated[int, Field(ge=0, le=100)] = 10,
    output_format: OutputFormat = "json",
) -> BuildContextResult:
    """A note, or all that a pattern means, with observations and what is linked to it."""
    name = plain_name(url)
    ids: tuple[str, ...]
    if "*" in name:
        ids = call.engine.notes.matching(call.caller, checked_pattern(name, "url"), project)
        if not ids:
            raise NotFound(f"No note has a permalink like {name[:100]!r}.", field="url", id=url)
    else:
        ids = (call.engine.notes.find(call.caller, name, project).id,)
    begin = "" if timeframe is None else since(timeframe, call.engine.clock.now())
    start = (page - 1) * page_size
    results = [
        context_of(call, id, depth, begin, max_related) for id in ids[start : start + page_size]
    ]
    context: GraphContext = {
        "results": results,
        "metadata": {
            "uri": url,
            "depth": depth,
            "timeframe": timeframe,
            "primary_count": len(results),
            "related_count": sum(len(result["related_results"]) for result in results),
        },
        "page": page,
        "page_size": page_size,
        "has_more": start + page_size < len(ids),
    }
    return {"result": context if output_format == "json" else text_of(context)}


@basic_memory.tool(read_only=True)
def recent_activity(
    call: Call,
    *,
    timeframe: Annotated[str, Field(description="`7d`, `2 weeks ago`, `yesterday`.")] = "7d",
    page: Page = 1,
    page_size: PageSize = 10,
    project: Project = None,
    output_format: OutputFormat = "text",
) -> RecentActivityResult:
    """The notes that were written or changed lately, the newest first."""
    begin = since(timeframe, call.engine.clock.now())
    projects = () if project is None else (project,)
    changed = changed_since(call, Filter(kinds=(KIND,), projects=projects), begin)
    shown = changed[(page - 1) * page_size : page * page_size]
    if output_format == "json":
        return {"result": [summary_of(item) for item in shown]}
    lines = [f"- {item.updated_at[:16]} {title_of(item)} | {permalink_of(item)}" for item in shown]
    return {"result": "\n".join([f"# {len(changed)} notes since {begin[:16]}", *lines])}


def changed_since(call: Call, chosen: Filter, begin: str) -> list[Item]:
    """The notes that changed since a time, the newest first, without reading the others."""
    changed: list[Item] = []
    while True:
        page = call.engine.reading.list_items(
            call.caller, chosen, "updated_at", limit=BATCH, offset=len(changed)
        )
        recent = [item for item in page.items if item.updated_at >= begin]
        changed += recent
        if len(recent) < BATCH:
            return changed


def context_of(call: Call, id: str, depth: int, begin: str, max_related: int) -> NoteContext:
    note = call.engine.notes.text_of(call.caller, id)
    item = note.item
    call.note_read(id)
    around = call.engine.graph.explore(
        call.caller, item.id, Traversal(depth=depth, chosen=Filter(kinds=(KIND,)))
    )
    near = [other for other in around.items if other.id != item.id and other.updated_at >= begin]
    shown = {other.id: other for other in (item, *near[:max_related])}
    related: list[NoteSummary | RelationSummary] = [
        summary_of(other) for other in near[:max_related]
    ]
    related += [
        relation_of(link, shown)
        for link in around.links
        if link.source in shown and link.target in shown
    ]
    return {
        "primary_result": summary_of(item, note.text),
        "observations": observations(item, note.text),
        "related_results": related,
    }


def observations(item: Item, text: str) -> list[ObservationSummary]:
    return [
        {
            "type": "observation",
            "category": observation.category,
            "content": observation.text,
            "permalink": permalink_of(item),
            "file_path": path_of(item),
        }
        for observation in observations_of(text)
    ]


def relation_of(link: Link, notes: dict[str, Item]) -> RelationSummary:
    return {
        "type": "relation",
        "relation_type": str(link.attributes.get("label") or link.type),
        "from_entity": title_of(notes[link.source]),
        "to_entity": title_of(notes[link.target]),
    }


def text_of(context: GraphContext) -> str:
    lines: list[str] = []
    for result in context["results"]:
        primary = result["primary_result"]
        lines += [f"# {primary['title']}", f"permalink: {primary['permalink']}", ""]
        lines += [str(primary["content"]), "", "## Related"]
        for related in result["related_results"]:
            if related["type"] == "relation":
                lines.append(
                    f"- {related['from_entity']} {related['relation_type']} {related['to_entity']}"
                )
            else:
                lines.append(f"- {related['title']} | {related['permalink']}")
        lines.append("")
    return "\n".join(lines)
