"""Add, show, change and delete concepts."""

from typing import Annotated

from pydantic import Field

from memolith.domain.callers import Audience
from memolith.domain.items import Draft, Patch, Written
from memolith.domain.passages import Block
from memolith.errors import InvalidInput
from memolith.tools.call import Call
from memolith.tools.knowledge.arguments import (
    CertaintyScore,
    ConceptId,
    ConceptName,
    Explanation,
    Place,
)
from memolith.tools.knowledge.dialect import knowledge
from memolith.tools.knowledge.models import ConceptBody, ConceptFound, ConceptWritten
from memolith.tools.knowledge.places import (
    certainty_attributes,
    concept_id_of,
    normalized_places,
)
from memolith.tools.resources import Resource, Resources
from memolith.tools.results import conflicts_with
from memolith.tools.schema import Body
from memolith.tools.warnings import warn_of_similar

CONCEPT_ADDRESS = "concept://"


@knowledge.tool(
    example={"name": "Stripes", "explanation": "Black and white, side by side."},
)
def create_concept(
    call: Call,
    *,
    name: ConceptName,
    explanation: Explanation,
    area: Place = None,
    topic: Place = None,
    subtopic: Place = None,
    certainty_score: CertaintyScore = None,
) -> ConceptWritten:
    """Add a concept; its name must be new within its area and topic."""
    places = normalized_places(area=area, topic=topic, subtopic=subtopic)
    given_places = {name: place for name, place in places.items() if place}
    draft = Draft(
        kind="concept",
        title=name,
        blocks=(Block(explanation.strip()),),
        audience=Audience.ORG,
        attributes={**given_places, **certainty_attributes(certainty_score)},
    )
    conflicts = conflicts_with(call, draft)
    written = call.engine.writing.remember(call.caller, draft)
    return {**_written(call, "Created", written), "conflicts": conflicts}


@knowledge.tool(read_only=True, example={"concept_id": "herd"})
def get_concept(
    call: Call,
    *,
    concept_id: ConceptId,
    include_history: Annotated[
        bool, Field(description="Also every explanation it has had.")
    ] = False,
) -> ConceptFound:
    """One concept in full."""
    item, blocks = call.engine.reading.read(call.caller, concept_id_of(call, concept_id))
    call.note_read(item.id)
    concept: ConceptBody = {
        "concept_id": item.id,
        "name": item.title,
        "area": item.attributes.get("area"),
        "topic": item.attributes.get("topic"),
        "subtopic": item.attributes.get("subtopic"),
        "certainty_source": item.attributes.get("certainty_source"),
        "certainty_score": call.engine.concepts.certainty(item),
        "created_at": item.created_at,
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


@knowledge.tool(idempotent=True, example={"concept_id": "herd", "area": "Zoology"})
def update_concept(
    call: Call,
    *,
    concept_id: ConceptId,
    explanation: Explanation | None = None,
    name: ConceptName | None = None,
    area: Place = None,
    topic: Place = None,
    subtopic: Place = None,
    certainty_score: CertaintyScore = None,
) -> ConceptWritten:
    """Change what is given and leave the rest; an empty area, topic or subtopic takes the old one
    away.
    """
    places = normalized_places(area=area, topic=topic, subtopic=subtopic)
    attributes = {
        **{name: place for name, place in places.items() if place},
        **certainty_attributes(certainty_score),
    }
    dropped = tuple(name for name, place in places.items() if not place)
    if explanation is None and name is None and not attributes and not dropped:
        raise InvalidInput("No fields provided for update", field="explanation")
    patch = Patch(
        title=name,
        blocks=None if explanation is None else (Block(explanation.strip()),),
        attributes=attributes,
        dropped=dropped,
    )
    written = call.engine.writing.revise(call.caller, concept_id_of(call, concept_id), patch)
    return _written(call, "Updated", written)


@knowledge.tool(destructive=True, example={"concept_id": "alone"})
def delete_concept(call: Call, *, concept_id: ConceptId) -> ConceptWritten:
    """Take a concept out of every search; it keeps its relationships and can be restored."""
    written = call.engine.writing.forget(call.caller, concept_id_of(call, concept_id))
    return _written(call, "Deleted", written)


def _written(call: Call, message: str, written: Written) -> ConceptWritten:
    return {
        "success": True,
        "concept_id": written.item.id,
        "message": message,
        "redactions": dict(written.redactions),
        "warnings": warn_of_similar(call, written.similar),
    }


def read_concept(call: Call, uri: str) -> Body:
    """The concept at an address, with its history."""
    found = get_concept(call, concept_id=uri, include_history=True)
    return dict(found["concept"])


knowledge.resources = Resources(
    CONCEPT_ADDRESS,
    read_concept,
    templates=(
        Resource(
            CONCEPT_ADDRESS + "{id}", "concept", "A concept with its history.", "application/json"
        ),
    ),
)
