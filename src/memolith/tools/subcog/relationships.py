"""The tool `subcog_relationships`: keep what one entity has to do with another, or infer it."""

from typing import Annotated, get_args

from pydantic import Field

from memolith.domain.items import Draft
from memolith.domain.links import RelationType
from memolith.engine.entities import ENTITIES, MEMORIES, MENTION
from memolith.engine.graph.walking import Traversal
from memolith.engine.validation import when
from memolith.errors import InvalidInput
from memolith.ports.items import MOST_LISTED
from memolith.tools.arguments import bare_id, without_empty
from memolith.tools.call import Call
from memolith.tools.signature import Actions
from memolith.tools.subcog.dialect import subcog
from memolith.tools.subcog.entities import Properties
from memolith.tools.subcog.graph_views import (
    ENTITIES_AND_MEMORIES,
    AsOf,
    EntityReference,
    EntityReferences,
    GraphLimit,
    MinConfidence,
    SeenDirection,
    ValidAt,
    entity_body,
    find_entity,
    found_relationships,
    graph_around,
    moment_of,
    relationship_body,
)
from memolith.tools.subcog.models import (
    ExtractedResult,
    GraphDeletion,
    RelationshipPage,
    RelationshipResult,
)
from memolith.tools.warnings import warn_if_cut

RELATION_TYPES: tuple[str, ...] = get_args(RelationType)
ValidityBound = Annotated[str | None, Field(description="When it began or ceased to hold.")]

relationships = Actions(
    "subcog_relationships",
    "Keep what one entity has to do with another, or infer it from what memories say.",
)
subcog.tool(
    destructive=True,
    example={
        "action": "create",
        "from_entity": "zebra",
        "to_entity": "zoo",
        "relationship_type": "PartOf",
    },
)(relationships)


@relationships.action("create", effect="writes")
def create_relationship(
    call: Call,
    *,
    from_entity: EntityReference,
    to_entity: EntityReference,
    relationship_type: RelationType,
    properties: Properties = None,
    valid_from: ValidityBound = None,
    valid_to: ValidityBound = None,
) -> RelationshipResult:
    """Keep a relationship; one of the same type between the two is changed."""
    source = find_entity(call, from_entity, "from_entity")
    target_filter = MEMORIES if relationship_type == MENTION else ENTITIES
    target = find_entity(call, to_entity, "to_entity", target_filter)
    if source.id == target.id:
        raise InvalidInput("An entity has no relationship with itself.", field="to_entity")
    start = when("valid_from", valid_from) if valid_from else None
    end = when("valid_to", valid_to) if valid_to else None
    if start and end and end <= start:
        raise InvalidInput("`valid_to` must lie after `valid_from`.", field="valid_to")
    link = call.engine.writing.link(
        call.caller,
        source.id,
        target.id,
        relationship_type,
        1.0,
        without_empty(properties=properties, valid_from=start, valid_to=end),
        again=True,
    )
    return relationship_body(link)


@relationships.action("get", effect="reads")
def get_relationship(call: Call, *, relationship_id: str) -> RelationshipResult:
    """One relationship."""
    link = call.engine.entities.relationship(call.caller, bare_id(relationship_id))
    return relationship_body(link)


@relationships.action("list", effect="reads")
def list_relationships(
    call: Call,
    *,
    entity_id: EntityReference | None = None,
    relationship_type: RelationType | None = None,
    direction: SeenDirection = "both",
    limit: GraphLimit = 50,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
) -> RelationshipPage:
    """The relationships of an entity, or all."""
    around = graph_around(
        call,
        entity_id,
        Traversal(
            types=(relationship_type,) if relationship_type else RELATION_TYPES,
            toward=direction,
            chosen=ENTITIES_AND_MEMORIES,
            max_items=MOST_LISTED,
            moment=moment_of(as_of, valid_at),
        ),
    )
    return {
        "relationships": [relationship_body(link) for link in around.links[:limit]],
        "relationship_count": len(around.links),
        "warnings": warn_if_cut(around.cut),
    }


@relationships.action("delete", effect="writes")
def delete_relationship(call: Call, *, relationship_id: str) -> GraphDeletion:
    """Cut a relationship."""
    link = call.engine.entities.relationship(call.caller, bare_id(relationship_id))
    call.engine.writing.unlink(call.caller, link.id)
    return {"id": link.id, "deleted": True, "relationships_removed": 1}


@relationships.action("infer", effect="writes", needs_read=True)
def infer_relationships(
    call: Call,
    *,
    entity_ids: EntityReferences,
    store: bool = False,
    min_confidence: MinConfidence = 0.7,
) -> ExtractedResult:
    """Find what memories say about entities."""
    items = [find_entity(call, reference, "entity_ids") for reference in entity_ids]
    found = call.engine.entities.infer(call.caller, items, min_confidence)
    if store:
        call.engine.entities.keep(call.caller, Draft(kind="entity"), found, None)
    bodies = found_relationships(found.relations, {})
    return {
        "entities": [entity_body(item) for item in items],
        "relationships": list(bodies),
        "entity_count": len(items),
        "relationship_count": len(bodies),
        "method": found.method,
        "stored": store,
        "warnings": found.warnings,
    }
