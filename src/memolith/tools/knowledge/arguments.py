"""Types of arguments of the Knowledge family."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field


def _lower_case(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


ConceptId = Annotated[str, Field(description="The id of a concept.")]
ConceptName = Annotated[
    str,
    Field(min_length=1, max_length=200, pattern=r"\S", description="What the concept is called."),
]
Explanation = Annotated[
    str, Field(min_length=1, pattern=r"\S", description="What it means, in full.")
]
Place = Annotated[str | None, Field(max_length=100, description="Where it belongs.")]
PlaceFilter = Annotated[str | None, Field(description="Only concepts that belong exactly there.")]
CertaintyScore = Annotated[
    float | None, Field(ge=0, le=100, description="How sure; computed if left out.")
]
CertaintyBound = Annotated[
    float, Field(ge=0, le=100, description="Only concepts within these bounds.")
]
ConceptLimit = Annotated[int, Field(ge=1, le=50)]
RelationshipType = Annotated[
    Literal["prerequisite", "relates_to", "includes"],
    Field(description="In upper or lower case."),
    BeforeValidator(_lower_case),
]
