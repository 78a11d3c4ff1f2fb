"""Entities, the relationships between them, and the graph that they form: now, or as it was known at any time."""

import json
from collections import Counter
from dataclasses import replace
from typing import Annotated, Literal, get_args

from pydantic import Field

from memolith.domain.items import Draft, Item
from memolith.domain.links import Direction, EntityType, Link, RelationType
from memolith.domain.queries import Filter
from memolith.engine.entities import ENTITIES, MEMORIES, MENTION, FoundRelation
from memolith.engine.graph.drawing import draw
from memolith.engine.graph.walking import (
    DEFAULT_MAX_ITEMS,
    NOW,
    Moment,
    Neighbourhood,
    Traversal,
)
from memolith.engine.validation import when
from memolith.errors import InvalidInput
from memolith.ports.items import MOST_LISTED
from memolith.tools.call import Call
from memolith.tools.item_views import Object, bare_id, given
from memolith.tools.schema import Body
from memolith.tools.shape_notation import shape
from memolith.tools.signature import Actions
from memolith.tools.subcog.captures import placed, subcog

__all__ = ["subcog"]
BOTH, TYPES = Filter(kinds=("entity", "memory")), get_args(RelationType)
MORE = ["There is more than is shown."]
Name = Annotated[
    str, Field(min_length=1, max_length=200, pattern=r"\S", description="What it is called.")
]
Named = Annotated[
    str, Field(min_length=1, description="An id, a URN, or a name that only one entity has.")
]
Several = Annotated[list[Named], Field(min_length=2, description="Ids, URNs or names of entities.")]
Limit = Annotated[int, Field(ge=1, description="How many at most.")]
Share = Annotated[float, Field(ge=0, le=1, description="Leave out what is less sure.")]
Way = Annotated[Direction, Field(description="As seen from the entity.")]
Depth = Annotated[
    int | None, Field(ge=1, le=3, description="How many relationships away from the entity.")
]
Known = Annotated[str | None, Field(description="As it was known at this time.")]
Valid = Annotated[str | None, Field(description="Only relationships that held at this time.")]
Bound = Annotated[str | None, Field(description="When it began or ceased to hold.")]
Memory = Annotated[
    str | None,
    Field(description="The memory that mentions them; its text, where no content is given."),
]
Properties = Annotated[Object | None, Field(description="Anything else to keep with it.")]
# An entity, a relationship, or either as far as it was found and not stored.
ROW = shape(
    id=str,
    urn=str,
    name=str,
    entity_type=str,
    confidence=float,
    aliases=[str],
    properties=dict,
    from_entity=str,
    to_entity=str,
    relationship_type=str,
    valid_from=str,
    valid_to=str,
    evidence=str,
    memory_id=str,
    created_at=str,
    updated_at=str,
) | {"required": []}
GRAPH = shape(
    entities=[ROW], relationships=[ROW], entity_count=int, relationship_count=int, warnings=[str]
)
USUAL: Body = {"confidence": 1.0, "aliases": [], "properties": {}}
DONE = shape(id=str, deleted=bool, relationships_removed=int)

entities = subcog.tool(destructive=True)(
    Actions(
        "subcog_entities",
        "Keep persons, organizations, technologies, concepts and files; find them in a text, or make "
        "one of several that are the same.",
    )
)
relationships = subcog.tool(destructive=True)(
    Actions(
        "subcog_relationships",
        "Keep what one entity has to do with another, or infer it from what memories say.",
    )
)
graph = subcog.tool(read_only=True)(
    Actions(
        "subcog_graph",
        "Walk along the relationships of entities, count them, or draw them.",
        key="operation",
    )
)


@entities.action("create", ROW, effect="writes")
def create_entity(
    call: Call, *, name: Name, entity_type: EntityType, properties: Properties = None
) -> Body:
    place = placed(call.caller, "project")
    draft = Draft(
        "entity", name, (), (), given(properties=properties), "active", *place, entity_type
    )
    return _entity(call.engine.writing.remember(call.caller, draft, call.idempotency_key).item)


@entities.action("get", ROW, effect="reads")
def get_entity(call: Call, *, entity_id: Named) -> Body:
    return _entity(_the(call, entity_id))


@entities.action("list", shape(entities=[ROW], entity_count=int), effect="reads")
def list_entities(call: Call, *, entity_type: EntityType | None = None, limit: Limit = 50) -> Body:
    chosen = replace(ENTITIES, namespaces=(entity_type,) if entity_type else ())
    page = call.engine.reading.list_items(call.caller, chosen, limit=limit)
    return {"entities": [_entity(item) for item in page.items], "entity_count": page.total}


@entities.action("delete", DONE, effect="writes")
def delete_entity(call: Call, *, entity_id: Named) -> Body:
    id = _the(call, entity_id).id
    return {
        "id": id,
        "deleted": True,
        "relationships_removed": call.engine.entities.forget(call.caller, id),
    }


@entities.action("extract", GRAPH, effect="writes")
def extract(
    call: Call,
    *,
    content: str = "",
    store: bool = False,
    min_confidence: Share = 0.6,
    memory_id: Memory = None,
) -> Body:
    caller, (audience, project) = call.caller, placed(call.caller, "project")
    memory = _the(call, memory_id, "memory_id", MEMORIES).id if memory_id else None
    text = content.strip() or (
        call.engine.insights.texts(caller, [memory])[memory] if memory else ""
    )
    if not text:
        raise InvalidInput("Give the text as `content`, or a `memory_id`.", field="content")
    found = call.engine.entities.extract(caller, text, min_confidence)
    place = Draft("entity", audience=audience, project=project)
    ids = call.engine.entities.keep(caller, place, found, memory) if store else {}
    rows: list[Body] = [
        {
            **given(id=ids.get(entity.name)),
            "name": entity.name,
            "entity_type": entity.type,
            "confidence": entity.confidence,
        }
        for entity in found.entities
    ]
    return _counted(
        rows,
        _said(found.relations, ids),
        method=found.method,
        stored=store,
        warnings=found.warnings,
    )


@entities.action(
    "merge", shape(entity=ROW, merged=[str], relationships=[ROW], dry_run=bool), effect="writes"
)
def merge(
    call: Call, *, entity_ids: Several, canonical_name: Name | None = None, dry_run: bool = False
) -> Body:
    items = {item.id: item for item in (_the(call, one, "entity_ids") for one in entity_ids)}
    if len(items) < 2:
        raise InvalidInput("These are one entity already.", field="entity_ids")
    one, moved = call.engine.entities.merge(call.caller, [*items.values()], canonical_name, dry_run)
    return {
        "entity": _entity(one),
        "merged": [id for id in items if id != one.id],
        "dry_run": dry_run,
        "relationships": [_relation(link) for link in moved],
    }


@relationships.action("create", ROW, effect="writes")
def create_relationship(
    call: Call,
    *,
    from_entity: Named,
    to_entity: Named,
    relationship_type: RelationType,
    properties: Properties = None,
    valid_from: Bound = None,
    valid_to: Bound = None,
) -> Body:
    source = _the(call, from_entity, "from_entity")
    target = _the(
        call, to_entity, "to_entity", MEMORIES if relationship_type == MENTION else ENTITIES
    )
    if source.id == target.id:
        raise InvalidInput("An entity has no relationship with itself.", field="to_entity")
    first, end = _times(valid_from=valid_from, valid_to=valid_to)
    if first and end and end <= first:
        raise InvalidInput("`valid_to` must lie after `valid_from`.", field="valid_to")
    return _relation(
        call.engine.writing.link(
            call.caller,
            source.id,
            target.id,
            relationship_type,
            1.0,
            given(properties=properties, valid_from=first, valid_to=end),
            again=True,
        )
    )


@relationships.action("get", ROW, effect="reads")
def get_relationship(call: Call, *, relationship_id: str) -> Body:
    return _relation(call.engine.entities.relationship(call.caller, bare_id(relationship_id)))


@relationships.action(
    "list", shape(relationships=[ROW], relationship_count=int, warnings=[str]), effect="reads"
)
def list_relationships(
    call: Call,
    *,
    entity_id: Named | None = None,
    relationship_type: RelationType | None = None,
    direction: Way = "both",
    limit: Limit = 50,
    as_of: Known = None,
    valid_at: Valid = None,
) -> Body:
    types = (relationship_type,) if relationship_type else TYPES
    around = _around(call, entity_id, 1, types, direction, BOTH, MOST_LISTED, as_of, valid_at)
    return {
        "relationships": [_relation(link) for link in around.links[:limit]],
        "relationship_count": len(around.links),
        "warnings": MORE * around.cut,
    }


@relationships.action("delete", DONE, effect="writes")
def delete_relationship(call: Call, *, relationship_id: str) -> Body:
    link = call.engine.entities.relationship(call.caller, bare_id(relationship_id))
    return {
        "id": call.engine.writing.unlink(call.caller, link.id).id,
        "deleted": True,
        "relationships_removed": 1,
    }


@relationships.action("infer", GRAPH, effect="writes")
def infer(
    call: Call, *, entity_ids: Several, store: bool = False, min_confidence: Share = 0.7
) -> Body:
    items = [_the(call, one, "entity_ids") for one in entity_ids]
    found = call.engine.entities.infer(call.caller, items, min_confidence)
    if store:
        call.engine.entities.keep(call.caller, Draft("entity"), found, None)
    return _counted(
        [*map(_entity, items)],
        _said(found.relations, {}),
        method=found.method,
        stored=store,
        warnings=found.warnings,
    )


@graph.action("neighbors", GRAPH, effect="reads")
def neighbors(
    call: Call,
    *,
    entity_id: Named,
    depth: Depth = None,
    direction: Way = "both",
    as_of: Known = None,
    relationship_types: list[RelationType] | None = None,
    valid_at: Valid = None,
) -> Body:
    types = tuple(relationship_types or ())
    around = _around(
        call,
        entity_id,
        depth or 1,
        types,
        direction,
        BOTH if MENTION in types else ENTITIES,
        DEFAULT_MAX_ITEMS,
        as_of,
        valid_at,
    )
    return _counted(
        [_entity(item) for item in around.items if around.distance[item.id]],
        [*map(_relation, around.links)],
        warnings=MORE * around.cut,
    )


@graph.action("path", GRAPH, effect="reads")
def find_path(
    call: Call,
    *,
    from_entity: Named,
    to_entity: Named,
    max_hops: Limit = 5,
    as_of: Known = None,
    valid_at: Valid = None,
) -> Body:
    moment, caller = _times(as_of=as_of, valid_at=valid_at), call.caller
    start, end = (
        _the(call, one, field, moment=moment).id
        for one, field in ((from_entity, "from_entity"), (to_entity, "to_entity"))
    )
    stops = call.engine.graph.shortest_path(caller, start, end, max_hops, ENTITIES, moment)
    path = call.engine.graph.along(caller, [stop.id for stop in stops], moment)
    return _counted(
        [_entity(item) for item in path.items], [_relation(link) for link in path.links]
    )


@graph.action(
    "stats",
    shape(
        entity_count=int,
        relationship_count=int,
        mention_count=int,
        warnings=[str],
        entities_by_type=dict[str, int],
        relationships_by_type=dict[str, int],
    ),
    effect="reads",
)
def stats(call: Call) -> Body:
    around = _around(call, None, 0, TYPES, "outgoing", BOTH, MOST_LISTED)
    types = Counter(link.type for link in around.links)
    mentions = types.pop(MENTION, 0)
    return {
        "entity_count": len(around.items),
        "relationship_count": types.total(),
        "mention_count": mentions,
        "entities_by_type": dict(Counter(item.namespace for item in around.items)),
        "relationships_by_type": dict(types),
        "warnings": MORE * around.cut,
    }


@graph.action(
    "visualize",
    shape(format=str, content=str, entity_count=int, relationship_count=int, warnings=[str]),
    effect="reads",
)
def visualize(
    call: Call,
    *,
    format: Literal["mermaid", "dot", "json", "ascii"] = "mermaid",
    entity_id: Named | None = None,
    entity_types: list[EntityType] | None = None,
    depth: Depth = None,
    limit: Limit = 50,
    as_of: Known = None,
    valid_at: Valid = None,
) -> Body:
    chosen = replace(ENTITIES, namespaces=tuple(entity_types or ()))
    around = _around(call, entity_id, depth or 2, (), "both", chosen, limit, as_of, valid_at)
    nodes, edges = (
        [_entity(item) for item in around.items],
        [_relation(link) for link in around.links],
    )
    return {
        "format": format,
        "content": draw(around, format)
        if format != "json"
        else json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=False),
        "entity_count": len(nodes),
        "relationship_count": len(edges),
        "warnings": MORE * around.cut,
    }


def _the(
    call: Call, name: str, field: str = "entity_id", chosen: Filter = ENTITIES, moment: Moment = NOW
) -> Item:
    """Who is meant; in the past also what was deleted since."""
    chosen = replace(chosen, forgotten=None if moment.as_of else False)
    return call.engine.entities.find(call.caller, bare_id(name), field, chosen)


def _around(
    call: Call,
    name: str | None,
    depth: int,
    types: tuple[str, ...],
    way: Direction,
    chosen: Filter,
    most: int,
    as_of: str | None = None,
    valid_at: str | None = None,
) -> Neighbourhood:
    """What lies around an entity, or all of the graph."""
    caller, moment = call.caller, _times(as_of=as_of, valid_at=valid_at)
    if name is not None:
        traversal = Traversal(depth, types, way, chosen, most, moment)
        return call.engine.graph.explore(caller, _the(call, name, moment=moment).id, traversal)
    return call.engine.graph.survey(
        caller,
        replace(chosen, kinds=("entity",)),
        chosen,
        Traversal(types=types, max_items=most, moment=moment),
    )


def _times(**given: str | None) -> Moment:
    return Moment(*(value and when(name, value) for name, value in given.items()))


def _entity(item: Item) -> Body:
    return {
        "id": item.id,
        "urn": f"subcog://{item.audience}/{item.namespace}/{item.id}",
        "name": item.title,
        "entity_type": "Memory" if item.kind == "memory" else item.namespace or "Concept",
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        **{name: item.attributes.get(name, usual) for name, usual in USUAL.items()},
    }


def _relation(link: Link) -> Body:
    return {
        "id": link.id,
        "from_entity": link.source,
        "to_entity": link.target,
        "relationship_type": link.type,
        "created_at": link.created_at,
        "updated_at": link.updated_at,
        "properties": {},
        **link.attributes,
        "confidence": link.strength,
    }


def _said(relations: list[FoundRelation], ids: dict[str, str]) -> list[Body]:
    """What was said about pairs of entities."""
    return [
        {
            "from_entity": ids.get(relation.source, relation.source),
            "relationship_type": relation.type,
            "to_entity": ids.get(relation.target, relation.target),
            "confidence": relation.confidence,
            "evidence": relation.sentence,
            **given(memory_id=relation.memory),
        }
        for relation in relations
    ]


def _counted(items: list[Body], links: list[Body], **more: object) -> Body:
    return {
        "entities": items,
        "relationships": links,
        "entity_count": len(items),
        "relationship_count": len(links),
        **more,
    }
