"""The Knowledge family: concepts of an organisation, how they hang together, and what the log says about them."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Annotated, Literal, cast

from pydantic import BeforeValidator, Field, JsonValue

from memolith.domain.callers import Audience
from memolith.domain.items import Draft, Item, Patch, Written
from memolith.domain.links import Direction
from memolith.domain.passages import Block
from memolith.domain.queries import Condition, Filter, Query
from memolith.engine.certainty import CONCEPTS
from memolith.engine.graph.walking import MAX_VISITED, Traversal
from memolith.errors import InvalidInput, MemolithError, NotFound
from memolith.tools.call import Call
from memolith.tools.dialect import Dialect
from memolith.tools.family import Family
from memolith.tools.item_views import CHANGED, ItemId, changed, given, manage, the
from memolith.tools.resources import Resource, Resources
from memolith.tools.schema import Body
from memolith.tools.shape_notation import shape

ADDRESS, MOST = "concept://", 10_000
PLACES = {"area": "Uncategorized", "topic": "General", "subtopic": "General"}
MISSING = {"relationship_type": "relationship_not_found", "end_concept_id": "path_not_found"}
FIELDS = {"title": "name", "content": "explanation", "target": "target_id"}
WORDED = {
    409: "validation_error",
    413: "validation_error",
    503: "service_unavailable",
    507: "database_error",
}
Id = Annotated[str, Field(description="The id of a concept.")]
Name = Annotated[
    str,
    Field(min_length=1, max_length=200, pattern=r"\S", description="What the concept is called."),
]
Text = Annotated[str, Field(min_length=1, pattern=r"\S", description="What it means, in full.")]
Place = Annotated[str | None, Field(max_length=100, description="Where it belongs.")]
Wanted = Annotated[str | None, Field(description="Only concepts that belong exactly there.")]
Score = Annotated[float | None, Field(ge=0, le=100, description="How sure; computed if left out.")]
Bound = Annotated[float, Field(ge=0, le=100, description="Only concepts within these bounds.")]
Limit = Annotated[int, Field(ge=1, le=50)]
Kind = Annotated[
    Literal["prerequisite", "relates_to", "includes"],
    Field(description="In upper or lower case."),
    BeforeValidator(lambda given: given.lower() if isinstance(given, str) else given),
]
MAYBE = {"anyOf": [{"type": "string"}, {"type": "null"}]}
ROW = {
    "properties": shape(
        concept_id=str,
        name=str,
        similarity=float,
        area=MAYBE,
        topic=MAYBE,
        subtopic=MAYBE,
        certainty_score=float,
        created_at=str,
        relationship_type=str,
        direction=str,
        strength=float,
        notes=MAYBE,
        depth=int,
        relationship_to_next=MAYBE,
    )["properties"],
    "type": "object",
}
COUNT = shape(name=str, concept_count=int)
AREA = shape(
    name=str, concept_count=int, topics=[shape(name=str, concept_count=int, subtopics=[COUNT])]
)
DONE = shape(
    "redactions",
    success=bool,
    concept_id=str,
    message=str,
    redactions=dict[str, int],
    warnings=[str],
)
TIED = shape(success=bool, relationship_id=str, message=str)
ROWS = shape(success=bool, results=[ROW], total=int, message=str, warnings=[str])


def failure(error: MemolithError) -> Body:
    told = {
        "field": FIELDS.get(error.field or "", error.field),
        "resource_id": error.id,
        "invalid_value": None if error.value is None else str(error.value)[:50],
    }
    kind = (
        MISSING.get(error.field or "", "concept_not_found")
        if error.status == 404
        else WORDED.get(error.status, error.type)
    )
    return {
        "success": False,
        "error": kind,
        "error_type": kind,
        "message": error.message,
        "details": {name: value for name, value in told.items() if value is not None},
    }


knowledge = Family("knowledge", Dialect(failure=failure))


@knowledge.tool(
    shape(status={"const": "ok", "type": "string"}, message=str, server_name=str, timestamp=str),
    read_only=True,
)
def ping(call: Call) -> Body:
    """Ask whether the server answers."""
    return {
        "status": "ok",
        "message": "memolith is running",
        "server_name": "memolith",
        "timestamp": call.engine.clock.now(),
    }


@knowledge.tool(
    shape(
        success=bool,
        event_store=dict[str, int],
        outbox=dict[str, int],
        status={"enum": ["healthy", "error"], "type": "string"},
    ),
    read_only=True,
)
def get_server_stats(call: Call) -> Body:
    """How many events the log holds, and how much derived work is waiting, done or given up."""
    tenant = call.caller.tenant
    outbox = call.engine.maintenance.outbox_counts(tenant)
    total = call.engine.maintenance.event_count(tenant)
    about = sum(place.events for place in call.engine.concepts.hierarchy(call.caller))
    return {
        "success": True,
        "event_store": {"total_events": total, "concept_events": about},
        "outbox": outbox,
        "status": "error" if outbox["failed"] else "healthy",
    }


@knowledge.tool(
    shape(
        success=bool,
        available=[str],
        unavailable=[str],
        total_tools=int,
        service_status=dict[str, dict[str, bool]],
    ),
    read_only=True,
)
def get_tool_availability(call: Call) -> Body:
    """Which tools of this family work right now, and the state of the parts behind them."""
    meaning = call.engine.maintenance.health()["embeddings"] in ("healthy", "loading")
    mode = call.engine.runners.state()[0]
    names = sorted(tool.name for tool in knowledge.tools)
    return {
        "success": True,
        "available": names,
        "unavailable": [],
        "total_tools": len(names),
        "service_status": {
            "concept_tools": {"repository": True, "confidence_service": True},
            "search_tools": {
                "neo4j_service": True,
                "chromadb_service": meaning,
                "embedding_service": meaning,
            },
            "relationship_tools": {"neo4j_service": True, "event_store": True, "outbox": True},
            "analytics_tools": {"neo4j_service": True},
            "runner_tools": {
                "sandbox": mode != "none",
                "namespace": mode == "namespace",
                "landlock": mode == "landlock",
            },
        },
    }


@knowledge.tool(DONE)
def create_concept(
    call: Call,
    *,
    name: Name,
    explanation: Text,
    area: Place = None,
    topic: Place = None,
    subtopic: Place = None,
    certainty_score: Score = None,
) -> Body:
    """Add a concept; its name must be new within its area and topic."""
    draft = Draft(
        "concept",
        name,
        (Block(explanation.strip()),),
        audience=Audience.ORG,
        attributes=_attributes(certainty_score, area=area, topic=topic, subtopic=subtopic)[0],
    )
    return _done("Created", call.engine.writing.remember(call.caller, draft, call.idempotency_key))


@knowledge.tool(shape(success=bool, concept=dict, message=str), read_only=True)
def get_concept(
    call: Call,
    *,
    concept_id: Id,
    include_history: Annotated[
        bool, Field(description="Also every explanation it has had.")
    ] = False,
) -> Body:
    """One concept in full."""
    item, blocks = call.engine.reading.read(call.caller, _concept(call, concept_id))
    call.engine.reading.note_access(call.caller, item.id)
    concept = _row(call, item, *PLACES, "certainty_source", "certainty_score", "created_at")
    concept |= {
        "explanation": "\n\n".join(block.text for block in blocks),
        "last_modified": item.updated_at,
    }
    if include_history:
        concept["explanation_history"] = [
            {"explanation": step.changes["text"][1], "timestamp": step.event.at}
            for step in call.engine.history.history(call.caller, item.id)
            if "text" in step.changes
        ]
    return {"success": True, "concept": concept, "message": "Found"}


@knowledge.tool(DONE, idempotent=True)
def update_concept(
    call: Call,
    *,
    concept_id: Id,
    explanation: Text | None = None,
    name: Name | None = None,
    area: Place = None,
    topic: Place = None,
    subtopic: Place = None,
    certainty_score: Score = None,
) -> Body:
    """Change what is given and leave the rest; an empty area, topic or subtopic takes the old one away."""
    attributes, dropped = _attributes(certainty_score, area=area, topic=topic, subtopic=subtopic)
    if explanation is None and name is None and not attributes and not dropped:
        raise InvalidInput("No fields provided for update", field="explanation")
    patch = Patch(
        name,
        None if explanation is None else (Block(explanation.strip()),),
        None,
        attributes,
        dropped,
    )
    return _done(
        "Updated",
        call.engine.writing.revise(
            call.caller, _concept(call, concept_id), patch, key=call.idempotency_key
        ),
    )


@knowledge.tool(DONE, destructive=True)
def delete_concept(call: Call, *, concept_id: Id) -> Body:
    """Take a concept out of every search; it keeps its relationships and can be restored."""
    return _done(
        "Deleted",
        call.engine.writing.forget(
            call.caller, _concept(call, concept_id), key=call.idempotency_key
        ),
    )


@knowledge.tool(ROWS, read_only=True)
def search_concepts_semantic(
    call: Call,
    *,
    query: Text,
    limit: Limit = 10,
    min_certainty: Bound = 0,
    area: Wanted = None,
    topic: Wanted = None,
) -> Body:
    """Find concepts by meaning, the most similar first."""
    found = call.engine.recall.search(
        call.caller,
        Query(
            query,
            _chosen(min_certainty, area=area, topic=topic),
            limit=limit,
            by_similarity=True,
            per_item=True,
        ),
    )
    return {
        "success": True,
        "message": "Found",
        "total": found.total,
        "warnings": list(found.warnings),
        "results": [
            {
                **_row(call, hit.item, "area", "topic", "certainty_score"),
                "similarity": round(hit.score, 4),
            }
            for hit in found.hits
        ],
    }


@knowledge.tool(ROWS, read_only=True)
def search_concepts_exact(
    call: Call,
    *,
    name: Annotated[str, Field(description="A part of the name.")] = "",
    area: Wanted = None,
    topic: Wanted = None,
    subtopic: Wanted = None,
    min_certainty: Bound = 0,
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
) -> Body:
    """Find concepts by part of their name and by where they belong, the newest first."""
    chosen = _chosen(min_certainty, 100, name, area=area, topic=topic, subtopic=subtopic)
    return _page(call, "Found {} concepts matching criteria", chosen, limit)


@knowledge.tool(ROWS, read_only=True)
def get_recent_concepts(call: Call, *, limit: Limit = 20) -> Body:
    """The concepts that were added last."""
    return _page(call, "Found", CONCEPTS, limit, names=("area", "topic", "created_at"))


@knowledge.tool(TIED)
def create_relationship(
    call: Call,
    *,
    source_id: Id,
    target_id: Id,
    relationship_type: Kind,
    strength: Annotated[float, Field(ge=0, le=1)] = 1.0,
    notes: str | None = None,
) -> Body:
    """Connect two concepts: the source comes before, is related to, or includes the target."""
    made = call.engine.writing.link(
        call.caller,
        _concept(call, source_id),
        _concept(call, target_id),
        relationship_type,
        strength,
        given(notes=notes),
    )
    return {"success": True, "relationship_id": made.id, "message": "Relationship created"}


@knowledge.tool(TIED, destructive=True)
def delete_relationship(
    call: Call, *, source_id: Id, target_id: Id, relationship_type: Kind
) -> Body:
    """Cut one relationship between two concepts."""
    source, target = _concept(call, source_id), _concept(call, target_id)
    for link in call.engine.graph.explore(
        call.caller,
        source,
        Traversal(1, [relationship_type], "outgoing", max_items=MAX_VISITED),
    ).links:
        if link.target == target:
            call.engine.writing.unlink(call.caller, link.id)
            return {"success": True, "relationship_id": link.id, "message": "Relationship deleted"}
    raise NotFound(
        "These concepts are not related this way.",
        field="relationship_type",
        value=relationship_type,
    )


@knowledge.tool(ROWS, read_only=True)
def get_related_concepts(
    call: Call,
    *,
    concept_id: Id,
    direction: Direction = "both",
    relationship_type: Kind | None = None,
    limit: Limit = 20,
) -> Body:
    """The concepts one step away, the strongest relationship first."""
    center, types = _concept(call, concept_id), (relationship_type,) if relationship_type else ()
    around = call.engine.graph.explore(
        call.caller, center, Traversal(1, types, direction, CONCEPTS, MAX_VISITED)
    )
    items = {item.id: item for item in around.items}
    links = sorted(around.links, key=lambda link: (-link.strength, link.seq))
    return {
        "success": True,
        "message": f"Found {len(links)} related concepts",
        "total": len(links),
        "results": [
            {
                **_row(call, items[link.target if link.source == center else link.source]),
                "strength": link.strength,
                "relationship_type": link.type.upper(),
                "direction": "outgoing" if link.source == center else "incoming",
                "notes": link.attributes.get("notes"),
            }
            for link in links[:limit]
        ],
    }


@knowledge.tool(
    shape(success=bool, prerequisites=[ROW], total=int, message=str, warnings=[str]), read_only=True
)
def get_prerequisites(
    call: Call, *, concept_id: Id, depth: Annotated[int, Field(ge=1, le=5)] = 3
) -> Body:
    """What to understand before a concept, step by step back from it."""
    target = _concept(call, concept_id)
    distance, titles, cut = call.engine.graph.walk(
        call.caller, target, Traversal(depth, ("prerequisite",), "incoming", CONCEPTS, MOST)
    )
    found = sorted((steps, titles[id].casefold(), id) for id, steps in distance.items() if steps)
    return {
        "success": True,
        "message": f"Found {len(found)} prerequisites",
        "total": len(found),
        "prerequisites": [
            {"concept_id": id, "name": titles[id], "depth": steps} for steps, _, id in found
        ],
        "warnings": ["There is more than is shown."] * cut,
    }


@knowledge.tool(shape(success=bool, path=[ROW], length=int, message=str), read_only=True)
def get_concept_chain(
    call: Call,
    *,
    start_concept_id: Id,
    end_concept_id: Id,
    max_depth: Annotated[int, Field(ge=1, le=10)] = 5,
) -> Body:
    """The shortest way between two concepts along relationships of any type and direction."""
    start, end = _concept(call, start_concept_id), _concept(call, end_concept_id)
    found = call.engine.graph.shortest_path(call.caller, start, end, max_depth, CONCEPTS)
    if not found:
        raise NotFound(
            f"No path of at most {max_depth} relationships joins these concepts.",
            field="end_concept_id",
        )
    return {
        "success": True,
        "message": f"Found path of length {len(found) - 1}",
        "length": len(found) - 1,
        "path": [
            {"concept_id": id, "name": name, "relationship_to_next": type.upper() or None}
            for id, name, type in found
        ],
    }


@knowledge.tool(shape(success=bool, areas=[AREA], total_concepts=int, message=str), read_only=True)
def list_hierarchy(call: Call) -> Body:
    """All areas with their topics and subtopics, and how many concepts each holds."""
    tree: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for area, topic, subtopic, count, _ in call.engine.concepts.hierarchy(call.caller):
        if count:
            tree[area or PLACES["area"]][topic or PLACES["topic"]][
                subtopic or PLACES["subtopic"]
            ] += count
    areas = [
        {
            "name": area,
            "concept_count": sum(leaves.total() for leaves in topics.values()),
            "topics": [
                {
                    "name": topic,
                    "concept_count": leaves.total(),
                    "subtopics": [
                        {"name": leaf, "concept_count": count}
                        for leaf, count in sorted(leaves.items())
                    ],
                }
                for topic, leaves in sorted(topics.items())
            ],
        }
        for area, topics in sorted(tree.items())
    ]
    total = sum(leaves.total() for topics in tree.values() for leaves in topics.values())
    return {
        "success": True,
        "message": f"Hierarchy contains {len(areas)} areas with {total} concepts",
        "areas": areas,
        "total_concepts": total,
    }


@knowledge.tool(ROWS, read_only=True)
def get_concepts_by_certainty(
    call: Call,
    *,
    min_certainty: Bound = 0,
    max_certainty: Bound = 100,
    limit: Limit = 20,
    sort_order: Literal["asc", "desc"] = "asc",
) -> Body:
    """Concepts between two bounds of certainty, the least certain first unless asked otherwise."""
    if min_certainty > max_certainty:
        raise InvalidInput(
            "min_certainty is above max_certainty.", field="min_certainty", value=min_certainty
        )
    told = f"Found {{}} concepts with certainty between {min_certainty:g} and {max_certainty:g}"
    return _page(
        call, told, _chosen(min_certainty, max_certainty), limit, "certainty", sort_order == "desc"
    )


@manage.tool(CHANGED)
def review_concept(call: Call, *, concept_id: ItemId) -> Body:
    """Say that a concept was looked at and still holds, so that its computed certainty starts to fade anew."""
    concept = the(call, "concept", concept_id, "concept_id")
    patch = Patch(attributes={"reviewed_at": call.engine.clock.now()})
    return changed(
        call.engine.writing.revise(call.caller, concept.id, patch, key=call.idempotency_key)
    )


def _concept(call: Call, id: str) -> str:
    """The bare id, if it is that of a concept, deleted or not."""
    return the(call, "concept", id, forgotten=True).id


def _attributes(
    score: float | None, **places: str | None
) -> tuple[dict[str, JsonValue], tuple[str, ...]]:
    """What to set, and which places to take away."""
    clean = {name: " ".join(place.split()) for name, place in places.items() if place is not None}
    sure: dict[str, JsonValue] = (
        {} if score is None else {"certainty_score": score, "certainty_source": "given"}
    )
    return given(**clean) | sure, tuple(name for name, place in clean.items() if not place)


def _done(message: str, written: Written) -> Body:
    return {
        "success": True,
        "concept_id": written.item.id,
        "message": message,
        "redactions": dict(written.redactions),
        "warnings": [
            f"{same.title!r} ({same.id}) says nearly the same." for same in written.similar
        ],
    }


def _page(
    call: Call,
    message: str,
    chosen: Filter,
    limit: int,
    sort: str = "created_at",
    descending: bool = True,
    names: Sequence[str] = (*PLACES, "certainty_score", "created_at"),
) -> Body:
    page = call.engine.reading.list_items(call.caller, chosen, sort, descending, limit)
    return {
        "success": True,
        "message": message.format(page.total),
        "total": page.total,
        "results": [_row(call, item, *names) for item in page.items],
    }


def _row(call: Call, item: Item, *names: str) -> Body:
    known = {
        **item.attributes,
        "certainty_score": call.engine.concepts.certainty(item),
        "created_at": item.created_at,
    }
    return {"concept_id": item.id, "name": item.title, **{name: known.get(name) for name in names}}


def _chosen(low: float, high: float = 100, name: str = "", **places: str | None) -> Filter:
    """The concepts that belong there; one without a place belongs where the hierarchy counts it."""
    tests = [
        Condition(place, "is_or_lacks" if wanted == PLACES[place] else "eq", wanted)
        for place, wanted in places.items()
        if wanted is not None
    ]
    return Filter(
        kinds=("concept",),
        title=name,
        where=(*tests, Condition("certainty_score", "sure", [low, high])),
    )


knowledge.resources = Resources(
    ADDRESS,
    lambda call, uri: cast(
        Body, get_concept(call, concept_id=uri, include_history=True)["concept"]
    ),
    templates=(
        Resource(ADDRESS + "{id}", "concept", "A concept with its history.", "application/json"),
    ),
)
