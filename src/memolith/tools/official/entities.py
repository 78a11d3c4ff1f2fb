"""Create and delete entities."""

from typing import Annotated

from pydantic import Field

from memolith.tools.call import Call
from memolith.tools.official.dialect import official
from memolith.tools.official.models import CreatedEntities, Deleted, GivenEntity, entity_body


@official.tool(
    example={
        "entities": [{"name": "Otter", "entityType": "animal", "observations": ["Holds hands."]}]
    },
)
def create_entities(call: Call, *, entities: list[GivenEntity]) -> CreatedEntities:
    """Add entities to the graph; a name that is there already is left as it is."""
    created = call.engine.named_graph.create_entities(
        call.caller, [entity.named for entity in entities]
    )
    return {"entities": [entity_body(entity) for entity in created]}


@official.tool(destructive=True, idempotent=True, example={"entityNames": ["zoo"]})
def delete_entities(
    call: Call,
    *,
    entityNames: Annotated[list[str], Field(description="The names of the entities.")],
) -> Deleted:
    """Remove entities, and every relation that starts or ends at one of them."""
    call.engine.named_graph.remove_entities(call.caller, entityNames)
    return {"success": True, "message": "Entities deleted successfully"}
