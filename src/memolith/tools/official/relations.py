"""Create and delete relations between entities."""

from typing import Annotated

from pydantic import Field

from memolith.tools.call import Call
from memolith.tools.official.dialect import official
from memolith.tools.official.models import CreatedRelations, Deleted, GivenRelation, relation_body


@official.tool(
    example={"relations": [{"from": "zebra", "to": "zoo", "relationType": "lives in"}]},
)
def create_relations(call: Call, *, relations: list[GivenRelation]) -> CreatedRelations:
    """Relate entities to each other; word a relation in the active voice, as in works at."""
    created = call.engine.named_graph.create_relations(
        call.caller, [relation.named for relation in relations]
    )
    return {"relations": [relation_body(relation) for relation in created]}


@official.tool(
    destructive=True,
    idempotent=True,
    example={"relations": [{"from": "quagga", "to": "zoo", "relationType": "stood in"}]},
)
def delete_relations(
    call: Call,
    *,
    relations: Annotated[
        list[GivenRelation], Field(description="The relations, as they were made.")
    ],
) -> Deleted:
    """Remove relations; the entities stay."""
    call.engine.named_graph.remove_relations(
        call.caller, [relation.named for relation in relations]
    )
    return {"success": True, "message": "Relations deleted successfully"}
