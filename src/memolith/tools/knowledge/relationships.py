"""Relationships between concepts: make, cut and follow them."""

from typing import Annotated

from pydantic import Field

from memolith.domain.attributes import Attributes
from memolith.domain.links import Direction
from memolith.engine.graph.walking import MAX_VISITED, Traversal
from memolith.errors import NotFound
from memolith.tools.call import Call
from memolith.tools.knowledge.arguments import ConceptId, ConceptLimit, RelationshipType
from memolith.tools.knowledge.dialect import knowledge
from memolith.tools.knowledge.models import (
    ConceptChain,
    ConceptRow,
    ConceptRows,
    Prerequisites,
    RelationshipWritten,
)
from memolith.tools.knowledge.places import concept_id_of, concept_row
from memolith.tools.knowledge.search import ALL_CONCEPTS
from memolith.tools.warnings import warn_if_cut

MAX_PREREQUISITES = 10_000


@knowledge.tool(
    example={"source_id": "herd", "target_id": "alone", "relationship_type": "prerequisite"}
)
def create_relationship(
    call: Call,
    *,
    source_id: ConceptId,
    target_id: ConceptId,
    relationship_type: RelationshipType,
    strength: Annotated[float, Field(ge=0, le=1)] = 1.0,
    notes: str | None = None,
) -> RelationshipWritten:
    """Connect two concepts: the source comes before, is related to, or includes the target."""
    attributes: Attributes = {"notes": notes} if notes else {}
    link = call.engine.writing.link(
        call.caller,
        concept_id_of(call, source_id),
        concept_id_of(call, target_id),
        relationship_type,
        strength,
        attributes,
    )
    return {"success": True, "relationship_id": link.id, "message": "Relationship created"}


@knowledge.tool(
    destructive=True,
    example={"source_id": "herd", "target_id": "foal", "relationship_type": "includes"},
)
def delete_relationship(
    call: Call,
    *,
    source_id: ConceptId,
    target_id: ConceptId,
    relationship_type: RelationshipType,
) -> RelationshipWritten:
    """Cut one relationship between two concepts."""
    source = concept_id_of(call, source_id)
    target = concept_id_of(call, target_id)
    outgoing = Traversal(types=(relationship_type,), toward="outgoing", max_items=MAX_VISITED)
    for link in call.engine.graph.explore(call.caller, source, outgoing).links:
        if link.target == target:
            call.engine.writing.unlink(call.caller, link.id)
            return {"success": True, "relationship_id": link.id, "message": "Relationship deleted"}
    raise NotFound(
        "These concepts are not related this way.",
        field="relationship_type",
        value=relationship_type,
    )


@knowledge.tool(read_only=True, example={"concept_id": "herd"})
def get_related_concepts(
    call: Call,
    *,
    concept_id: ConceptId,
    direction: Direction = "both",
    relationship_type: RelationshipType | None = None,
    limit: ConceptLimit = 20,
) -> ConceptRows:
    """The concepts one step away, the strongest relationship first."""
    center = concept_id_of(call, concept_id)
    traversal = Traversal(
        types=(relationship_type,) if relationship_type else (),
        toward=direction,
        chosen=ALL_CONCEPTS,
        max_items=MAX_VISITED,
    )
    around = call.engine.graph.explore(call.caller, center, traversal)
    items = {item.id: item for item in around.items}
    links = sorted(around.links, key=lambda link: (-link.strength, link.seq))
    results: list[ConceptRow] = []
    for link in links[:limit]:
        is_outgoing = link.source == center
        row = concept_row(items[link.target if is_outgoing else link.source])
        row["strength"] = link.strength
        row["relationship_type"] = link.type.upper()
        row["direction"] = "outgoing" if is_outgoing else "incoming"
        row["notes"] = link.attributes.get("notes")
        results.append(row)
    return {
        "success": True,
        "message": f"Found {len(links)} related concepts",
        "total": len(links),
        "results": results,
    }


@knowledge.tool(read_only=True, example={"concept_id": "foal"})
def get_prerequisites(
    call: Call, *, concept_id: ConceptId, depth: Annotated[int, Field(ge=1, le=5)] = 3
) -> Prerequisites:
    """What to understand before a concept, step by step back from it."""
    walk = call.engine.graph.walk(
        call.caller,
        concept_id_of(call, concept_id),
        Traversal(
            depth=depth,
            types=("prerequisite",),
            toward="incoming",
            chosen=ALL_CONCEPTS,
            max_items=MAX_PREREQUISITES,
        ),
    )
    reached = [id for id, steps in walk.distance.items() if steps]
    reached.sort(key=lambda id: (walk.distance[id], walk.titles[id].casefold(), id))
    return {
        "success": True,
        "message": f"Found {len(reached)} prerequisites",
        "total": len(reached),
        "prerequisites": [
            {"concept_id": id, "name": walk.titles[id], "depth": walk.distance[id]}
            for id in reached
        ],
        "warnings": warn_if_cut(walk.cut),
    }


@knowledge.tool(read_only=True, example={"start_concept_id": "herd", "end_concept_id": "foal"})
def get_concept_chain(
    call: Call,
    *,
    start_concept_id: ConceptId,
    end_concept_id: ConceptId,
    max_depth: Annotated[int, Field(ge=1, le=10)] = 5,
) -> ConceptChain:
    """The shortest way between two concepts along relationships of any type and direction."""
    start = concept_id_of(call, start_concept_id)
    end = concept_id_of(call, end_concept_id)
    path = call.engine.graph.shortest_path(call.caller, start, end, max_depth, ALL_CONCEPTS)
    if not path:
        raise NotFound(
            f"No path of at most {max_depth} relationships joins these concepts.",
            field="end_concept_id",
        )
    return {
        "success": True,
        "message": f"Found path of length {len(path) - 1}",
        "length": len(path) - 1,
        "path": [
            {
                "concept_id": stop.id,
                "name": stop.title,
                "relationship_to_next": stop.next_link_type.upper() or None,
            }
            for stop in path
        ],
    }
