"""Find items of any kind: by words and meaning, as a ready-made context, along links."""

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from memolith.domain.items import Superseded
from memolith.domain.queries import Filter, Hit, Query
from memolith.engine.graph.walking import Traversal
from memolith.engine.packing import cite
from memolith.tools.arguments import Limit, SearchMode, bare_id
from memolith.tools.call import Call
from memolith.tools.core.dialect import core
from memolith.tools.core.models import (
    Explored,
    Linked,
    Neighbour,
    PackedContext,
    Recalled,
    RecallHit,
)
from memolith.tools.core.project_at_hand import (
    preferred,
    project_at_hand,
    search_limit,
    warnings_of_rest,
)
from memolith.tools.core.views import item_body, link_body
from memolith.tools.results import replaced, text_with_speakers

Depth = Literal[0, 1, 2, "deep"]
"""How many links are followed, or `deep`: a second network reads the best hits."""
MAX_LINKED_HITS = 20
MAX_LINKED_TEXT_LENGTH = 500
SCORE_PER_STEP = 0.5
"""An item that is one link away from a hit has this share of the hit's score."""
FORGOTTEN_STATUSES = ("forgotten", "deleted")


@core.tool(read_only=True, example={"query": "zebra"})
def recall(
    call: Call,
    *,
    query: str,
    kinds: list[str] | None = None,
    tags: list[str] | None = None,
    project: str | None = None,
    since: str | None = None,
    until: str | None = None,
    status: str | None = None,
    as_of: str | None = None,
    mode: SearchMode = "hybrid",
    depth: Depth = 0,
    min_score: Annotated[float | None, Field(ge=0, le=1)] = None,
    limit: Limit = 10,
    offset: Annotated[int, Field(ge=0)] = 0,
) -> Recalled:
    """Find memories by words or meaning."""
    chosen = recall_filter(kinds, tags, project, since, until, status)
    at_hand = project_at_hand(call) if project is None and not offset else None
    found = call.engine.recall.search(
        call.caller,
        Query(
            text=query,
            filter=chosen,
            mode=mode,
            limit=search_limit(limit, at_hand),
            offset=offset,
            threshold=min_score,
            as_of=as_of,
            deep=True if depth == "deep" else None,
            family="core",
        ),
    )
    shown = preferred(found.hits, at_hand, limit)
    marks = call.engine.reading.superseded(call.caller, [hit.item.id for hit in shown])
    hits = [hit_body(hit, marks.get(hit.item.id)) for hit in shown]
    if depth and depth != "deep":
        hits.extend(_linked_hits(call, shown, depth))
        hits.sort(key=lambda hit: -hit["score"])
    call.note_hits({hit["id"] for hit in hits})
    warnings = [*found.warnings, *warnings_of_rest(found.hits, shown, at_hand)]
    return {"hits": hits, "total": found.total, "warnings": warnings}


@core.tool(read_only=True, example={"query": "zebra", "budget_tokens": 200})
def context(
    call: Call,
    *,
    query: str,
    budget_tokens: Annotated[int, Field(ge=20, le=200_000)],
    kinds: list[str] | None = None,
    project: str | None = None,
) -> PackedContext:
    """The best passages on a question, with sources."""
    chosen = Filter(
        kinds=tuple(kinds or ()), projects=(project,) if project else (), forgotten=False
    )
    pack = call.engine.context.pack(call.caller, query, budget_tokens, chosen)
    ids = {citation.id for citation in pack.citations}
    call.note_hits(ids)
    marks = call.engine.reading.superseded(call.caller, list(ids))
    return {
        "text": pack.text,
        "citations": [
            {
                "number": citation.number,
                "id": citation.id,
                "title": citation.title,
                "cite": citation.cite,
                "score": citation.score,
                "at": citation.at,
                "updated_at": citation.updated_at,
                **replaced(marks.get(citation.id)),
            }
            for citation in pack.citations
        ],
        "tokens": pack.tokens,
        "warnings": list(pack.warnings),
    }


@core.tool(idempotent=True, example={"source": "one", "target": "two", "type": "about"})
def link(
    call: Call,
    *,
    source: str,
    target: str,
    type: str,
    strength: Annotated[float, Field(ge=0, le=1)] = 1.0,
) -> Linked:
    """Link two items, e.g. by `depends_on`."""
    made = call.engine.writing.link(
        call.caller, bare_id(source), bare_id(target), type, strength, again=True
    )
    return {"link": link_body(made)}


@core.tool(read_only=True, example={"id": "one"})
def explore(
    call: Call,
    *,
    id: str,
    depth: Annotated[int, Field(ge=1, le=6)] = 1,
    types: list[str] | None = None,
) -> Explored:
    """Items linked to an item."""
    around = call.engine.graph.explore(
        call.caller, bare_id(id), Traversal(depth=depth, types=types or ())
    )
    items: list[Neighbour] = [
        {**item_body(item), "distance": around.distance[item.id]} for item in around.items
    ]
    return {
        "items": items,
        "links": [link_body(made) for made in around.links],
        "warnings": ["There is more than is shown."] if around.cut else [],
    }


def recall_filter(
    kinds: list[str] | None,
    tags: list[str] | None,
    project: str | None,
    since: str | None,
    until: str | None,
    status: str | None,
) -> Filter:
    """What the arguments of `recall` limit a search to."""
    forgotten = status in FORGOTTEN_STATUSES
    return Filter(
        kinds=tuple(kinds or ()),
        tags_all=tuple(tags or ()),
        projects=(project,) if project else (),
        since=since,
        until=until,
        statuses=(status,) if status and not forgotten else (),
        forgotten=forgotten,
    )


def hit_body(hit: Hit, mark: Superseded | None) -> RecallHit:
    """A hit as `recall` shows it."""
    body: RecallHit = {
        "id": hit.item.id,
        "kind": hit.item.kind,
        "title": hit.item.title,
        "text": text_with_speakers([hit.passage]),
        "score": hit.score,
        "strength": hit.strength,
        "reasons": dict(hit.reasons),
        "cite": cite(hit.item, hit.passage),
        "at": hit.passage.at,
        "updated_at": hit.item.updated_at,
    }
    return completed(body, mark, hit.item.project)


def completed(body: RecallHit, mark: Superseded | None, project: str | None) -> RecallHit:
    """The hit with what only some hits have: what replaced it, and its project."""
    if mark is not None:
        body["superseded_at"] = mark.at
        body["superseded_by"] = mark.by
    if project:
        body["project"] = project
    return body


class _Reached(NamedTuple):
    """How well an item was reached from the hits: the better score first, then fewer steps."""

    score: float
    minus_steps: int


def _linked_hits(call: Call, hits: Sequence[Hit], depth: int) -> list[RecallHit]:
    """Items that the hits are linked to; each step away halves the score."""
    best: dict[str, _Reached] = {}
    for hit in hits:
        around = call.engine.graph.explore(call.caller, hit.item.id, Traversal(depth=depth))
        for id, steps in around.distance.items():
            reached = _Reached(round(hit.score * SCORE_PER_STEP**steps, 4), -steps)
            if id not in best or reached > best[id]:
                best[id] = reached
    for hit in hits:
        best.pop(hit.item.id, None)
    ids = sorted(best, key=lambda id: (-best[id].score, id))[:MAX_LINKED_HITS]
    if not ids:
        return []
    marks = call.engine.reading.superseded(call.caller, ids)
    bodies: list[RecallHit] = []
    for item, blocks in call.engine.reading.read_many(call.caller, ids):
        first_text = blocks[0].text if blocks else ""
        body: RecallHit = {
            "id": item.id,
            "kind": item.kind,
            "title": item.title,
            "text": first_text[:MAX_LINKED_TEXT_LENGTH],
            "score": best[item.id].score,
            "strength": "weak",
            "reasons": {"links": -best[item.id].minus_steps},
            "cite": "",
            "at": item.created_at,
            "updated_at": item.updated_at,
        }
        bodies.append(completed(body, marks.get(item.id), item.project))
    return bodies
