"""Add observations to entities, and take them away."""

from memolith.tools.call import Call
from memolith.tools.official.dialect import official
from memolith.tools.official.models import (
    AddedObservations,
    Deleted,
    DroppedObservations,
    GivenObservations,
    ObservationResults,
)


@official.tool(
    example={"observations": [{"entityName": "zebra", "contents": ["Sleeps standing."]}]},
)
def add_observations(call: Call, *, observations: list[GivenObservations]) -> ObservationResults:
    """Add facts to entities that are there; a fact that is known already is not added again."""
    results: list[AddedObservations] = []
    for given in observations:
        added = call.engine.named_graph.add_observations(
            call.caller, given.entity_name, given.contents
        )
        results.append({"entityName": given.entity_name, "addedObservations": added})
    return {"results": results}


@official.tool(
    destructive=True,
    idempotent=True,
    example={"deletions": [{"entityName": "quagga", "observations": ["Is gone."]}]},
)
def delete_observations(call: Call, *, deletions: list[DroppedObservations]) -> Deleted:
    """Remove facts from entities."""
    for given in deletions:
        call.engine.named_graph.remove_observations(
            call.caller, given.entity_name, given.observations
        )
    return {"success": True, "message": "Observations deleted successfully"}
