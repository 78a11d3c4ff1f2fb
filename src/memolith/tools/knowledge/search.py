"""Find and list concepts."""

from collections import Counter, defaultdict
from typing import Annotated, Literal

from pydantic import Field

from memolith.domain.items import Superseded
from memolith.domain.queries import Filter, Hit, Query
from memolith.errors import InvalidInput
from memolith.tools.call import Call
from memolith.tools.knowledge.arguments import (
    CertaintyBound,
    ConceptLimit,
    Explanation,
    PlaceFilter,
)
from memolith.tools.knowledge.dialect import knowledge
from memolith.tools.knowledge.models import AreaCount, ConceptRow, ConceptRows, Hierarchy
from memolith.tools.knowledge.places import DEFAULT_PLACES, concept_filter, listed_row

ALL_CONCEPTS = Filter(kinds=("concept",))


@knowledge.tool(read_only=True, example={"query": "zebra"})
def search_concepts_semantic(
    call: Call,
    *,
    query: Explanation,
    limit: ConceptLimit = 10,
    min_certainty: CertaintyBound = 0,
    area: PlaceFilter = None,
    topic: PlaceFilter = None,
) -> ConceptRows:
    """Find concepts by meaning, the most similar first."""
    found = call.engine.recall.search(
        call.caller,
        Query(
            text=query,
            filter=concept_filter(min_certainty, area=area, topic=topic),
            limit=limit,
            per_item=True,
            family="knowledge",
        ),
    )
    marks = call.engine.reading.superseded(call.caller, [hit.item.id for hit in found.hits])
    results = [_found_row(call, hit, marks.get(hit.item.id)) for hit in found.hits]
    call.note_hits([hit.item.id for hit in found.hits])
    return {
        "success": True,
        "message": "Found",
        "total": found.total,
        "warnings": list(found.warnings),
        "results": results,
    }


@knowledge.tool(read_only=True, example={"name": "her"})
def search_concepts_exact(
    call: Call,
    *,
    name: Annotated[str, Field(description="A part of the name.")] = "",
    area: PlaceFilter = None,
    topic: PlaceFilter = None,
    subtopic: PlaceFilter = None,
    min_certainty: CertaintyBound = 0,
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
) -> ConceptRows:
    """Find concepts by part of their name and by where they belong, the newest first."""
    chosen = concept_filter(
        min_certainty, name_part=name, area=area, topic=topic, subtopic=subtopic
    )
    page = call.engine.reading.list_items(call.caller, chosen, limit=limit)
    return {
        "success": True,
        "message": f"Found {page.total} concepts matching criteria",
        "total": page.total,
        "results": [listed_row(call, item) for item in page.items],
    }


@knowledge.tool(read_only=True)
def get_recent_concepts(call: Call, *, limit: ConceptLimit = 20) -> ConceptRows:
    """The concepts that were added last."""
    page = call.engine.reading.list_items(call.caller, ALL_CONCEPTS, limit=limit)
    results: list[ConceptRow] = [
        {
            "concept_id": item.id,
            "name": item.title,
            "area": item.attributes.get("area"),
            "topic": item.attributes.get("topic"),
            "created_at": item.created_at,
        }
        for item in page.items
    ]
    return {"success": True, "message": "Found", "total": page.total, "results": results}


@knowledge.tool(read_only=True)
def get_concepts_by_certainty(
    call: Call,
    *,
    min_certainty: CertaintyBound = 0,
    max_certainty: CertaintyBound = 100,
    limit: ConceptLimit = 20,
    sort_order: Literal["asc", "desc"] = "asc",
) -> ConceptRows:
    """Concepts between two bounds of certainty, the least certain first unless asked otherwise."""
    if min_certainty > max_certainty:
        raise InvalidInput(
            "min_certainty is above max_certainty.", field="min_certainty", value=min_certainty
        )
    page = call.engine.reading.list_items(
        call.caller,
        concept_filter(min_certainty, max_certainty),
        sort="certainty",
        descending=sort_order == "desc",
        limit=limit,
    )
    bounds = f"between {min_certainty:g} and {max_certainty:g}"
    return {
        "success": True,
        "message": f"Found {page.total} concepts with certainty {bounds}",
        "total": page.total,
        "results": [listed_row(call, item) for item in page.items],
    }


@knowledge.tool(read_only=True)
def list_hierarchy(call: Call) -> Hierarchy:
    """All areas with their topics and subtopics, and how many concepts each holds."""
    tree: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for place in call.engine.concepts.hierarchy(call.caller):
        if place.live:
            area = place.area or DEFAULT_PLACES["area"]
            topic = place.topic or DEFAULT_PLACES["topic"]
            subtopic = place.subtopic or DEFAULT_PLACES["subtopic"]
            tree[area][topic][subtopic] += place.live
    areas = [_area_count(area, topics) for area, topics in sorted(tree.items())]
    total = sum(area["concept_count"] for area in areas)
    return {
        "success": True,
        "message": f"Hierarchy contains {len(areas)} areas with {total} concepts",
        "areas": areas,
        "total_concepts": total,
    }


def _area_count(name: str, topics: dict[str, Counter[str]]) -> AreaCount:
    return {
        "name": name,
        "concept_count": sum(subtopics.total() for subtopics in topics.values()),
        "topics": [
            {
                "name": topic,
                "concept_count": subtopics.total(),
                "subtopics": [
                    {"name": subtopic, "concept_count": count}
                    for subtopic, count in sorted(subtopics.items())
                ],
            }
            for topic, subtopics in sorted(topics.items())
        ],
    }


def _found_row(call: Call, hit: Hit, mark: Superseded | None) -> ConceptRow:
    row: ConceptRow = {
        "concept_id": hit.item.id,
        "name": hit.item.title,
        "area": hit.item.attributes.get("area"),
        "topic": hit.item.attributes.get("topic"),
        "certainty_score": call.engine.concepts.certainty(hit.item),
        "similarity": round(hit.score, 4),
        "created_at": hit.item.created_at,
        "updated_at": hit.item.updated_at,
    }
    if mark is not None:
        row["superseded_at"] = mark.at
        row["superseded_by"] = mark.by
    return row
