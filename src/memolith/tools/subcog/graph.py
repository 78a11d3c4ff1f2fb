"""The tool `subcog_graph`: walk along relationships, count them, draw them."""

import json
from collections import Counter
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from memolith.domain.links import EntityType, RelationType
from memolith.engine.entities import ENTITIES, MENTION
from memolith.engine.graph.drawing import draw
from memolith.engine.graph.walking import Traversal
from memolith.ports.items import MOST_LISTED
from memolith.tools.call import Call
from memolith.tools.signature import Actions
from memolith.tools.subcog.dialect import subcog
from memolith.tools.subcog.graph_views import (
    ENTITIES_AND_MEMORIES,
    AsOf,
    EntityReference,
    GraphLimit,
    SeenDirection,
    ValidAt,
    entity_body,
    find_entity,
    graph_around,
    moment_of,
    relationship_body,
)
from memolith.tools.subcog.models import GraphDrawing, GraphPart, GraphStats
from memolith.tools.subcog.relationships import RELATION_TYPES
from memolith.tools.warnings import warn_if_cut

DEFAULT_NEIGHBOR_DEPTH = 1
DEFAULT_DRAWING_DEPTH = 2
Depth = Annotated[
    int | None, Field(ge=1, le=3, description="How many relationships away from the entity.")
]

graph = Actions(
    "subcog_graph",
    "Walk along the relationships of entities, count them, or draw them.",
    key="operation",
)
subcog.tool(read_only=True, example={"operation": "stats"})(graph)


@graph.action("neighbors", effect="reads")
def neighbors(
    call: Call,
    *,
    entity_id: EntityReference,
    depth: Depth = None,
    direction: SeenDirection = "both",
    as_of: AsOf = None,
    relationship_types: list[RelationType] | None = None,
    valid_at: ValidAt = None,
) -> GraphPart:
    """The entities around one."""
    types = tuple(relationship_types or ())
    around = graph_around(
        call,
        entity_id,
        Traversal(
            depth=depth or DEFAULT_NEIGHBOR_DEPTH,
            types=types,
            toward=direction,
            chosen=ENTITIES_AND_MEMORIES if MENTION in types else ENTITIES,
            moment=moment_of(as_of, valid_at),
        ),
    )
    others = [item for item in around.items if around.distance[item.id]]
    return {
        "entities": [entity_body(item) for item in others],
        "relationships": [relationship_body(link) for link in around.links],
        "entity_count": len(others),
        "relationship_count": len(around.links),
        "warnings": warn_if_cut(around.cut),
    }


@graph.action("path", effect="reads")
def find_path(
    call: Call,
    *,
    from_entity: EntityReference,
    to_entity: EntityReference,
    max_hops: GraphLimit = 5,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
) -> GraphPart:
    """The shortest path between two entities; empty if there is none."""
    moment = moment_of(as_of, valid_at)
    start = find_entity(call, from_entity, "from_entity", moment=moment)
    end = find_entity(call, to_entity, "to_entity", moment=moment)
    stops = call.engine.graph.shortest_path(
        call.caller, start.id, end.id, max_hops, ENTITIES, moment
    )
    path = call.engine.graph.along(call.caller, [stop.id for stop in stops], moment)
    return {
        "entities": [entity_body(item) for item in path.items],
        "relationships": [relationship_body(link) for link in path.links],
        "entity_count": len(path.items),
        "relationship_count": len(path.links),
    }


@graph.action("stats", effect="reads")
def graph_stats(call: Call) -> GraphStats:
    """How many entities and relationships there are of each type."""
    around = graph_around(
        call,
        None,
        Traversal(types=RELATION_TYPES, chosen=ENTITIES_AND_MEMORIES, max_items=MOST_LISTED),
    )
    link_types = Counter(link.type for link in around.links)
    mentions = link_types.pop(MENTION, 0)
    entity_types = Counter(str(item.namespace) for item in around.items)
    return {
        "entity_count": len(around.items),
        "relationship_count": link_types.total(),
        "mention_count": mentions,
        "entities_by_type": dict(entity_types),
        "relationships_by_type": dict(link_types),
        "warnings": warn_if_cut(around.cut),
    }


@graph.action("visualize", effect="reads")
def visualize(
    call: Call,
    *,
    format: Literal["mermaid", "dot", "json", "ascii"] = "mermaid",
    entity_id: EntityReference | None = None,
    entity_types: list[EntityType] | None = None,
    depth: Depth = None,
    limit: GraphLimit = 50,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
) -> GraphDrawing:
    """Draw the graph around an entity, or the whole of it."""
    around = graph_around(
        call,
        entity_id,
        Traversal(
            depth=depth or DEFAULT_DRAWING_DEPTH,
            chosen=replace(ENTITIES, namespaces=tuple(entity_types or ())),
            max_items=limit,
            moment=moment_of(as_of, valid_at),
        ),
    )
    if format == "json":
        nodes = [entity_body(item) for item in around.items]
        edges = [relationship_body(link) for link in around.links]
        content = json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=False)
    else:
        content = draw(around, format)
    return {
        "format": format,
        "content": content,
        "entity_count": len(around.items),
        "relationship_count": len(around.links),
        "warnings": warn_if_cut(around.cut),
    }
