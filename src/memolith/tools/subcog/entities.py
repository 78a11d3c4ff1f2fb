"""The tool `subcog_entities`: keep entities, find them in texts, merge them."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from memolith.domain.items import Draft
from memolith.domain.links import EntityType
from memolith.engine.entities import ENTITIES, MEMORIES
from memolith.errors import InvalidInput
from memolith.tools.arguments import JsonObject, without_empty
from memolith.tools.call import Call
from memolith.tools.signature import Actions
from memolith.tools.subcog.dialect import placement, subcog
from memolith.tools.subcog.graph_views import (
    EntityReference,
    EntityReferences,
    GraphLimit,
    MinConfidence,
    entity_body,
    find_entity,
    found_relationships,
    relationship_body,
)
from memolith.tools.subcog.models import (
    EntitiesMerged,
    EntityPage,
    EntityResult,
    EntityRow,
    ExtractedEntity,
    ExtractedResult,
    GraphDeletion,
)

EntityName = Annotated[
    str, Field(min_length=1, max_length=200, pattern=r"\S", description="What it is called.")
]
Properties = Annotated[JsonObject | None, Field(description="Anything else to keep with it.")]

entities = Actions(
    "subcog_entities",
    "Keep persons, organizations, technologies, concepts and files; find them in a text, or make "
    "one of several that are the same.",
)
subcog.tool(
    destructive=True,
    example={"action": "create", "name": "Okapi", "entity_type": "Concept"},
)(entities)


@entities.action("create", effect="writes")
def create_entity(
    call: Call, *, name: EntityName, entity_type: EntityType, properties: Properties = None
) -> EntityResult:
    """Keep an entity."""
    audience, project = placement(call.caller, "project")
    draft = Draft(
        kind="entity",
        title=name,
        attributes=without_empty(properties=properties),
        audience=audience,
        project=project,
        namespace=entity_type,
    )
    written = call.engine.writing.remember(call.caller, draft)
    return entity_body(written.item)


@entities.action("get", effect="reads")
def get_entity(call: Call, *, entity_id: EntityReference) -> EntityResult:
    """One entity."""
    return entity_body(find_entity(call, entity_id))


@entities.action("list", effect="reads")
def list_entities(
    call: Call, *, entity_type: EntityType | None = None, limit: GraphLimit = 50
) -> EntityPage:
    """The entities of a type, or all."""
    chosen = replace(ENTITIES, namespaces=(entity_type,) if entity_type else ())
    page = call.engine.reading.list_items(call.caller, chosen, limit=limit)
    return {
        "entities": [entity_body(item) for item in page.items],
        "entity_count": page.total,
    }


@entities.action("delete", effect="writes")
def delete_entity(call: Call, *, entity_id: EntityReference) -> GraphDeletion:
    """Delete an entity and its relationships."""
    entity = find_entity(call, entity_id)
    removed = call.engine.entities.forget(call.caller, entity.id)
    return {"id": entity.id, "deleted": True, "relationships_removed": removed}


@entities.action("extract", effect="writes", needs_read=True)
def extract_entities(
    call: Call,
    *,
    content: str = "",
    store: bool = False,
    min_confidence: MinConfidence = 0.6,
    memory_id: Annotated[
        str | None,
        Field(description="The memory that mentions them; its text, where no content is given."),
    ] = None,
) -> ExtractedResult:
    """Find the entities that a text names, and what it says about them."""
    memory = find_entity(call, memory_id, "memory_id", MEMORIES).id if memory_id else None
    text = content.strip()
    if not text and memory is not None:
        text = call.engine.insights.texts(call.caller, [memory])[memory]
    if not text:
        raise InvalidInput("Give the text as `content`, or a `memory_id`.", field="content")
    found = call.engine.entities.extract(call.caller, text, min_confidence)
    ids: dict[str, str] = {}
    if store:
        audience, project = placement(call.caller, "project")
        place = Draft(kind="entity", audience=audience, project=project)
        ids = call.engine.entities.keep(call.caller, place, found, memory)
    rows: list[EntityRow] = []
    for entity in found.entities:
        row: ExtractedEntity = {
            "name": entity.name,
            "entity_type": entity.type,
            "confidence": entity.confidence,
        }
        if entity.name in ids:
            row["id"] = ids[entity.name]
        rows.append(row)
    relationships = found_relationships(found.relations, ids)
    return {
        "entities": rows,
        "relationships": list(relationships),
        "entity_count": len(rows),
        "relationship_count": len(relationships),
        "method": found.method,
        "stored": store,
        "warnings": found.warnings,
    }


@entities.action("merge", effect="writes", needs_read=True)
def merge_entities(
    call: Call,
    *,
    entity_ids: EntityReferences,
    canonical_name: EntityName | None = None,
    dry_run: bool = False,
) -> EntitiesMerged:
    """Make one entity of several that are the same."""
    found = [find_entity(call, reference, "entity_ids") for reference in entity_ids]
    items = {item.id: item for item in found}
    if len(items) < 2:
        raise InvalidInput("These are one entity already.", field="entity_ids")
    merged = call.engine.entities.merge(call.caller, list(items.values()), canonical_name, dry_run)
    return {
        "entity": entity_body(merged.entity),
        "merged": [id for id in items if id != merged.entity.id],
        "dry_run": dry_run,
        "relationships": [relationship_body(link) for link in merged.moved],
    }
