"""Where concepts belong: area, topic and subtopic, and what stands for a missing one."""

from pydantic import JsonValue

from memolith.domain.items import Item
from memolith.domain.queries import Condition, Filter
from memolith.tools.call import Call
from memolith.tools.knowledge.models import ConceptRow
from memolith.tools.lookup import find_item

DEFAULT_PLACES = {"area": "Uncategorized", "topic": "General", "subtopic": "General"}
"""Where the hierarchy counts a concept that has no area, topic or subtopic."""
MAX_CERTAINTY = 100.0


def concept_id_of(call: Call, id: str) -> str:
    """The bare id, if it is that of a concept, deleted or not."""
    return find_item(call, "concept", id, forgotten=True).id


def normalized_places(**places: str | None) -> dict[str, str]:
    """The places that were given, with single blanks between words."""
    return {name: " ".join(place.split()) for name, place in places.items() if place is not None}


def certainty_attributes(score: float | None) -> dict[str, JsonValue]:
    """The attributes that keep a certainty that was given; none lets it be computed."""
    if score is None:
        return {}
    return {"certainty_score": score, "certainty_source": "given"}


def concept_filter(
    min_certainty: float = 0,
    max_certainty: float = MAX_CERTAINTY,
    name_part: str = "",
    **places: str | None,
) -> Filter:
    """The concepts between two certainties that belong to these places.

    A concept without an area, topic or subtopic belongs where the hierarchy counts it.
    """
    conditions = []
    for place, wanted in places.items():
        if wanted is not None:
            operator = "is_or_lacks" if wanted == DEFAULT_PLACES[place] else "eq"
            conditions.append(Condition(place, operator, wanted))
    conditions.append(Condition("certainty_score", "sure", [min_certainty, max_certainty]))
    return Filter(kinds=("concept",), title=name_part, where=tuple(conditions))


def concept_row(item: Item) -> ConceptRow:
    """The id and name of a concept, to which each tool adds what it documents."""
    return {"concept_id": item.id, "name": item.title}


def listed_row(call: Call, item: Item) -> ConceptRow:
    """A concept as lists show it."""
    return {
        "concept_id": item.id,
        "name": item.title,
        "area": item.attributes.get("area"),
        "topic": item.attributes.get("topic"),
        "subtopic": item.attributes.get("subtopic"),
        "certainty_score": call.engine.concepts.certainty(item),
        "created_at": item.created_at,
    }
