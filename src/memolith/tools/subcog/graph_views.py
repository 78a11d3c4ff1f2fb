"""Entities and relationships as the graph tools take and show them."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from memolith.domain.items import Item
from memolith.domain.links import Direction, Link
from memolith.domain.queries import Filter
from memolith.engine.entities import ENTITIES
from memolith.engine.graph.walking import (
    NOW,
    Moment,
    Neighbourhood,
    Traversal,
)
from memolith.engine.validation import when
from memolith.ports.analyst import FoundRelation
from memolith.tools.arguments import bare_id
from memolith.tools.call import Call
from memolith.tools.subcog.models import (
    ExtractedRelationship,
    StoredEntity,
    StoredRelationship,
)

ENTITIES_AND_MEMORIES = Filter(kinds=("entity", "memory"))

EntityReference = Annotated[
    str, Field(min_length=1, description="An id, a URN, or a name that only one entity has.")
]
EntityReferences = Annotated[
    list[EntityReference],
    Field(min_length=2, max_length=100, description="Ids, URNs or names of entities."),
]
GraphLimit = Annotated[int, Field(ge=1, description="How many at most.")]
MinConfidence = Annotated[float, Field(ge=0, le=1, description="Leave out what is less sure.")]
SeenDirection = Annotated[Direction, Field(description="As seen from the entity.")]
AsOf = Annotated[str | None, Field(description="As it was known at this time.")]
ValidAt = Annotated[str | None, Field(description="Only relationships that held at this time.")]


def find_entity(
    call: Call,
    reference: str,
    field: str = "entity_id",
    chosen: Filter = ENTITIES,
    moment: Moment = NOW,
) -> Item:
    """The entity that is meant; in the past also one that was deleted since."""
    chosen = replace(chosen, forgotten=None if moment.as_of else False)
    return call.engine.entities.find(call.caller, bare_id(reference), field, chosen)


def moment_of(as_of: str | None, valid_at: str | None) -> Moment:
    """The time that a call asks about."""
    return Moment(
        as_of=when("as_of", as_of) if as_of else None,
        valid_at=when("valid_at", valid_at) if valid_at else None,
    )


def graph_around(call: Call, reference: str | None, traversal: Traversal) -> Neighbourhood:
    """What lies around an entity, or the whole graph where none is named."""
    if reference is not None:
        entity = find_entity(call, reference, moment=traversal.moment)
        return call.engine.graph.explore(call.caller, entity.id, traversal)
    return call.engine.graph.survey(
        call.caller,
        replace(traversal.chosen, kinds=("entity",)),
        traversal.chosen,
        Traversal(types=traversal.types, max_items=traversal.max_items, moment=traversal.moment),
    )


def entity_body(item: Item) -> StoredEntity:
    """An entity, or a memory that mentions some."""
    entity_type = item.namespace or "Concept"
    if item.kind == "memory":
        entity_type = "Memory"
    return {
        "id": item.id,
        "urn": f"subcog://{item.audience}/{item.namespace}/{item.id}",
        "name": item.title,
        "entity_type": entity_type,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "confidence": item.attributes.get("confidence", 1.0),
        "aliases": item.attributes.get("aliases", []),
        "properties": item.attributes.get("properties", {}),
    }


def relationship_body(link: Link) -> StoredRelationship:
    """A stored relationship, with all that is kept with it."""
    body: StoredRelationship = {
        "id": link.id,
        "from_entity": link.source,
        "to_entity": link.target,
        "relationship_type": link.type,
        "created_at": link.created_at,
        "updated_at": link.updated_at,
        "properties": {},
        "confidence": link.strength,
    }
    attributes = {name: value for name, value in link.attributes.items() if name != "confidence"}
    return {**body, **attributes}  # type: ignore[typeddict-item]


def found_relationships(
    relations: list[FoundRelation], ids: dict[str, str]
) -> list[ExtractedRelationship]:
    """What sentences say about pairs of entities; by id where an entity was stored."""
    bodies = []
    for relation in relations:
        body: ExtractedRelationship = {
            "from_entity": ids.get(relation.source, relation.source),
            "relationship_type": relation.type,
            "to_entity": ids.get(relation.target, relation.target),
            "confidence": relation.confidence,
            "evidence": relation.sentence,
        }
        if relation.memory:
            body["memory_id"] = relation.memory
        bodies.append(body)
    return bodies
