"""Tools over everything that is remembered, whatever dialect wrote it: the core family, and what ChatGPT looks for."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from memolith.domain.items import KINDS, Draft, Item, Patch
from memolith.domain.links import Link
from memolith.domain.passages import Block
from memolith.domain.queries import Filter, Query
from memolith.engine.context import cite
from memolith.engine.graph.walking import Traversal
from memolith.errors import InvalidInput, NotFound
from memolith.tools.call import Call
from memolith.tools.family import Family
from memolith.tools.item_views import (
    CHANGED,
    ItemId,
    Limit,
    Mode,
    Object,
    Texts,
    bare_id,
    changed,
    manage,
    spoken,
)
from memolith.tools.resources import Resource, Resources
from memolith.tools.schema import Body
from memolith.tools.shape_notation import shape

ITEM = "memolith://item/"


def read_resource(call: Call, uri: str) -> str:
    item, blocks = call.engine.reading.read(call.caller, uri.removeprefix(ITEM))
    return (f"# {item.title}\n\n" if item.title else "") + spoken(blocks)


def list_resources(call: Call) -> Sequence[Resource]:
    return [
        Resource(
            ITEM + item.id,
            item.title or item.kind,
            f"{item.kind} of {item.created_at[:10]}",
            "text/markdown",
        )
        for item in call.engine.reading.list_items(call.caller, limit=50).items
    ]


core = Family(
    "core",
    instructions="Long-term memory. Recall before you answer from memory or start a task; remember "
    "decisions, preferences and facts worth keeping.",
    resources=Resources(
        ITEM,
        read_resource,
        list_resources,
        (Resource(ITEM + "{id}", "item", "An item as text.", "text/markdown"),),
    ),
)
chatgpt = Family(
    "chatgpt", apart=True, instructions="Search the user's memory, then fetch what looks right."
)


@core.tool(shape(id=str, redactions=dict, similar=[str]))
def remember(
    call: Call,
    *,
    content: str,
    kind: str = "memory",
    title: str = "",
    tags: Texts = None,
    project: str | None = None,
    metadata: Object | None = None,
    idempotency_key: str | None = None,
) -> Body:
    """Keep a fact, decision or preference for later sessions."""
    draft = Draft(
        kind, title, (Block(content),), tuple(tags or ()), metadata or {}, project=project
    )
    written = call.engine.writing.remember(
        call.caller, draft, idempotency_key or call.idempotency_key
    )
    return {
        "id": written.item.id,
        "redactions": dict(written.redactions),
        "similar": [same.id for same in written.similar],
    }


@core.tool(shape(hits=[dict], total=int, warnings=[str]), read_only=True)
def recall(
    call: Call,
    *,
    query: str,
    kinds: Texts = None,
    tags: Texts = None,
    project: str | None = None,
    since: str | None = None,
    until: str | None = None,
    status: str | None = None,
    as_of: str | None = None,
    mode: Mode = "hybrid",
    depth: Annotated[int, Field(ge=0, le=2, description="links to follow")] = 0,
    limit: Limit = 10,
    offset: Annotated[int, Field(ge=0)] = 0,
) -> Body:
    """Find memories by words or meaning. Weak hits may be unrelated."""
    chosen = _filter(kinds, tags, project, since, until, status)
    found = call.engine.recall.search(
        call.caller, Query(query, chosen, mode, limit, offset, as_of=as_of)
    )
    hits: list[Body] = [
        {
            "id": hit.item.id,
            "kind": hit.item.kind,
            "title": hit.item.title,
            "text": spoken([hit.passage]),
            "score": hit.score,
            "strength": hit.strength,
            "reasons": dict(hit.reasons),
            "cite": cite(hit),
        }
        for hit in found.hits
    ]
    # Then items that the hits are linked to; each step away halves the score.
    reached = dict[str, tuple[float, int]]()
    for hit in found.hits if depth else ():
        for id, steps in call.engine.graph.explore(
            call.caller, hit.item.id, Traversal(depth)
        ).distance.items():
            reached[id] = max(
                reached.get(id, (-1.0, 0)), (round(hit.score * 0.5**steps, 4), -steps)
            )
    linked = sorted(
        reached.keys() - {hit.item.id for hit in found.hits}, key=lambda id: (-reached[id][0], id)
    )[:20]
    hits += [
        {
            "id": item.id,
            "kind": item.kind,
            "title": item.title,
            "text": "".join(b.text for b in blocks[:1])[:500],
            "score": reached[item.id][0],
            "strength": "weak",
            "reasons": {"links": -reached[item.id][1]},
            "cite": "",
        }
        for item, blocks in (call.engine.reading.read_many(call.caller, linked) if linked else ())
    ]
    return {"hits": hits, "total": found.total, "warnings": list(found.warnings)}


@core.tool(shape(text=str, citations=[dict], tokens=int, warnings=[str]), read_only=True)
def context(
    call: Call,
    *,
    query: str,
    budget_tokens: Annotated[int, Field(ge=20, le=200_000)],
    kinds: Texts = None,
    project: str | None = None,
) -> Body:
    """The best passages on a question, with sources."""
    made = call.engine.context.pack(
        call.caller, query, budget_tokens, _filter(kinds, None, project)
    )
    return {
        "text": made.text,
        "citations": [source._asdict() for source in made.citations],
        "tokens": made.tokens,
        "warnings": list(made.warnings),
    }


@core.tool(shape(items=[dict], warnings=[str]), read_only=True)
def fetch(call: Call, *, ids: Annotated[list[str], Field(min_length=1, max_length=50)]) -> Body:
    """Whole items by id."""
    wanted = [bare_id(id) for id in ids]
    found = call.engine.reading.read_many(call.caller, wanted)
    missing = sorted(set(wanted) - {item.id for item, _ in found})
    if not found:
        raise NotFound("None of these items is there.", field="ids", id=missing[0])
    for item, _ in found:
        call.engine.reading.note_access(call.caller, item.id)
    return {
        "items": [_item(item) | {"content": spoken(blocks)} for item, blocks in found],
        "warnings": [f"not found: {id}" for id in missing],
    }


@core.tool(CHANGED, idempotent=True)
def revise(
    call: Call,
    *,
    id: str,
    content: str | None = None,
    title: str | None = None,
    tags: Texts = None,
    expected_version: int | None = None,
) -> Body:
    """Change an item; its history keeps the old text."""
    if content is None and title is None and tags is None:
        raise InvalidInput("Say what to change: content, title or tags.", field="content")
    patch = Patch(
        title, None if content is None else (Block(content),), None if tags is None else tuple(tags)
    )
    return changed(
        call.engine.writing.revise(
            call.caller, bare_id(id), patch, expected_version, call.idempotency_key
        )
    )


@core.tool(CHANGED, destructive=True)
def forget(call: Call, *, id: str) -> Body:
    """Hide an item; `restore` brings it back."""
    return changed(call.engine.writing.forget(call.caller, bare_id(id), key=call.idempotency_key))


@core.tool(CHANGED)
def restore(call: Call, *, id: str) -> Body:
    """Bring a forgotten item back."""
    return changed(call.engine.writing.restore(call.caller, bare_id(id), call.idempotency_key))


@core.tool(shape(link=dict), idempotent=True)
def link(
    call: Call,
    *,
    source: str,
    target: str,
    type: str,
    strength: Annotated[float, Field(ge=0, le=1)] = 1.0,
) -> Body:
    """Link two items, e.g. by `depends_on`."""
    return {
        "link": _link(
            call.engine.writing.link(
                call.caller, bare_id(source), bare_id(target), type, strength, again=True
            )
        )
    }


@core.tool(shape(items=[dict], links=[dict], warnings=[str]), read_only=True)
def explore(
    call: Call, *, id: str, depth: Annotated[int, Field(ge=1, le=6)] = 1, types: Texts = None
) -> Body:
    """Items linked to an item."""
    around = call.engine.graph.explore(call.caller, bare_id(id), Traversal(depth, types or ()))
    return {
        "items": [_item(item) | {"distance": around.distance[item.id]} for item in around.items],
        "links": [_link(made) for made in around.links],
        "warnings": ["There is more than is shown."] * around.cut,
    }


@core.tool(shape(events=[dict]), read_only=True)
def history(call: Call, *, id: str, as_of: str | None = None) -> Body:
    """Who changed what and when."""
    steps = call.engine.history.history(call.caller, bare_id(id), as_of)
    return {
        "events": [
            {
                "event": event.seq,
                "version": event.version,
                "type": event.type,
                "at": event.at,
                "by": event.actor,
                "undoes": event.data.get("undoes"),
                "changes": [
                    {"field": name, "old": old, "new": new} for name, (old, new) in changes.items()
                ],
            }
            for event, changes in steps
        ]
    }


@core.tool(shape(counts=dict, recent=[dict], health=dict), read_only=True)
def overview(call: Call) -> Body:
    """Counts by kind, newest items, health."""
    newest = call.engine.reading.list_items(call.caller, limit=5).items
    return {
        "counts": call.engine.reading.count_by(call.caller, "kind"),
        "recent": [_item(item) for item in newest],
        "health": call.engine.maintenance.health(),
    }


@manage.tool(CHANGED)
def restore_item(call: Call, *, id: ItemId) -> Body:
    """Bring a forgotten item back as it was."""
    return changed(call.engine.writing.restore(call.caller, bare_id(id), call.idempotency_key))


@manage.tool(
    shape(
        erased=str,
        clean={
            "description": "False while another program still reads old pages.",
            "type": "boolean",
        },
        warnings=[str],
    ),
    destructive=True,
)
def erase_item(call: Call, *, id: ItemId) -> Body:
    """Remove every byte of an item for good; this cannot be undone."""
    clean = call.engine.writing.erase(call.caller, bare_id(id))
    rest = "Others still read old pages, or only the owner can clear them: `memolith upkeep`."
    return {"erased": bare_id(id), "clean": clean, "warnings": [] if clean else [rest]}


@manage.tool(shape(undone=int, event=int, type=str, id=str))
def undo_event(
    call: Call, *, event: Annotated[int, Field(ge=1, description="The number of the event.")]
) -> Body:
    """Take one event back by a new one."""
    made = call.engine.history.undo(call.caller, event)
    return {"undone": event, "event": made.seq, "type": made.type, "id": made.stream}


@chatgpt.tool(shape(results=[shape(id=str, title=str, url=str)]), read_only=True)
def search(call: Call, *, query: Annotated[str, Field(description="What to look for.")]) -> Body:
    """Search everything that is remembered and get ids to fetch."""
    found = call.engine.recall.search(call.caller, Query(query, limit=10, per_item=True))
    return {
        "results": [
            {
                "id": hit.item.id,
                "title": hit.item.title or hit.passage.text[:80],
                "url": ITEM + hit.item.id,
            }
            for hit in found.hits
        ]
    }


@chatgpt.tool(
    shape(id=str, title=str, text=str, url=str, metadata=dict[str, str]),
    name="fetch",
    read_only=True,
)
def fetch_result(
    call: Call, *, id: Annotated[str, Field(description="An id that `search` gave.")]
) -> Body:
    """The whole text of one search result."""
    item, blocks = call.engine.reading.read(call.caller, bare_id(id))
    call.engine.reading.note_access(call.caller, item.id)
    text = spoken(blocks)
    return {
        "id": item.id,
        "title": item.title or text[:80],
        "text": text,
        "url": ITEM + item.id,
        "metadata": {
            "kind": item.kind,
            "created_at": item.created_at,
            "tags": ", ".join(item.tags),
        },
    }


def _filter(
    kinds: Texts,
    tags: Texts,
    project: str | None,
    since: str | None = None,
    until: str | None = None,
    status: str | None = None,
) -> Filter:
    if wrong := [kind for kind in kinds or () if kind not in KINDS]:
        raise InvalidInput(
            f"There is no such kind; use one of {', '.join(KINDS)}.", field="kinds", value=wrong[0]
        )
    gone = status in ("forgotten", "deleted")
    return Filter(
        kinds=tuple(kinds or ()),
        tags_all=tuple(tags or ()),
        projects=(project,) if project else (),
        since=since,
        until=until,
        statuses=(status,) if status and not gone else (),
        forgotten=gone,
    )


def _item(item: Item) -> Body:
    return {
        "id": item.id,
        "kind": item.kind,
        "title": item.title,
        "status": item.status,
        "tags": list(item.tags),
        "project": item.project,
        "version": item.version,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        **({"metadata": dict(item.attributes)} if item.attributes else {}),
    }


def _link(made: Link) -> Body:
    return {
        "id": made.id,
        "source": made.source,
        "target": made.target,
        "type": made.type,
        "strength": made.strength,
    }
