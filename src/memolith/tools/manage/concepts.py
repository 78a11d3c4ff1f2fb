"""Say that a concept still holds, and how sure it is."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, TypedDict

from memolith.domain.items import Item, Patch
from memolith.engine.certainty import (
    BASE_CERTAINTY,
    DETAIL_WEIGHT,
    GIVEN,
    LENGTH_WEIGHT,
    LINKS_WEIGHT,
    Evidence,
    fading,
)
from memolith.tools.arguments import ItemId
from memolith.tools.call import Call
from memolith.tools.lookup import find_item
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import Described
from memolith.tools.results import ChangedItem, changed_item


class NamedConcept(TypedDict):
    """A concept, by its id and its name."""

    id: str
    name: str


class EvidencePart(TypedDict):
    """One kind of evidence, and what it adds to a certainty."""

    evidence: Literal["written", "length", "detail", "links"]
    count: Annotated[int, Described("How many words, telling words or links there are.")]
    points: float
    most: Annotated[float, Described("How many points it can add at most.")]


class ExplainedCertainty(TypedDict):
    """The result of `explain_certainty`: the points are added, and multiplied by the factors."""

    concept_id: str
    name: str
    certainty: Annotated[float, Described("How sure it is now, 0 to 100.")]
    source: Annotated[
        Literal["given", "computed"], Described("Whether somebody gave it, or it was computed.")
    ]
    parts: list[EvidencePart]
    near_copies: Annotated[int, Described("Concepts that say nearly the same.")]
    near_copies_factor: float
    contradictions: Annotated[int, Described("Of such concepts, those that differ in a fact.")]
    contradictions_factor: float
    neighbours: Annotated[list[NamedConcept], Described("Those of them that you may see.")]
    computed: Annotated[float, Described("The certainty that follows, before it fades.")]
    age_days: Annotated[int, Described("Days since it was written or reviewed.")]
    age_factor: float


@manage.tool(example={"concept_id": "foal"})
def review_concept(call: Call, *, concept_id: ItemId) -> ChangedItem:
    """Say that a concept was looked at and still holds, so that its computed certainty starts to
    fade anew.
    """
    concept = find_item(call, "concept", concept_id, "concept_id")
    patch = Patch(attributes={"reviewed_at": call.engine.clock.now()})
    written = call.engine.writing.revise(call.caller, concept.id, patch)
    return changed_item(written)


@manage.tool(read_only=True, example={"concept_id": "foal"})
def explain_certainty(call: Call, *, concept_id: ItemId) -> ExplainedCertainty:
    """How the certainty of a concept comes about: its text, its links, what says the same or
    contradicts it, and its age.
    """
    concept = find_item(call, "concept", concept_id, "concept_id")
    report = call.engine.concepts.explain(call.caller, concept.id)
    evidence = report.evidence
    is_given = report.item.attributes.get("certainty_source") == GIVEN
    others = (*evidence.contradictions, *evidence.near_copies)
    return {
        "concept_id": concept.id,
        "name": concept.title,
        "certainty": report.certainty,
        "source": "given" if is_given else "computed",
        "parts": _parts(evidence),
        "near_copies": len(evidence.near_copies),
        "near_copies_factor": round(evidence.near_copies_factor, 3),
        "contradictions": len(evidence.contradictions),
        "contradictions_factor": round(evidence.contradictions_factor, 3),
        "neighbours": _named(others, report.neighbours),
        "computed": round(evidence.score, 1),
        "age_days": report.age_days,
        "age_factor": round(fading(report.age_days), 3),
    }


def _parts(evidence: Evidence) -> list[EvidencePart]:
    return [
        {
            "evidence": "written",
            "count": 1,
            "points": BASE_CERTAINTY,
            "most": BASE_CERTAINTY,
        },
        {
            "evidence": "length",
            "count": evidence.words,
            "points": round(evidence.length_points, 1),
            "most": LENGTH_WEIGHT,
        },
        {
            "evidence": "detail",
            "count": evidence.telling_words,
            "points": round(evidence.detail_points, 1),
            "most": DETAIL_WEIGHT,
        },
        {
            "evidence": "links",
            "count": evidence.links,
            "points": round(evidence.link_points, 1),
            "most": LINKS_WEIGHT,
        },
    ]


def _named(ids: Iterable[str], items: Mapping[str, Item]) -> list[NamedConcept]:
    return [{"id": id, "name": items[id].title} for id in ids if id in items]
