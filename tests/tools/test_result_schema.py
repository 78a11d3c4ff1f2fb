"""Output schemas are derived from the types that tools return."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from memolith.tools.result_schema import (
    AN_OBJECT,
    Described,
    Published,
    names_of,
    result_schema,
)


class Inner(TypedDict):
    """A part of a result."""

    name: str


class Optional(TypedDict, total=False):
    """Every field may be missing."""

    name: str


class Whole(TypedDict):
    """A result."""

    count: int
    note: NotRequired[str | None]


class Longer(Whole):
    """A result with one more field."""

    parts: list[Inner]


Color = Literal["red", "green"]


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (dict, {"type": "object"}),
        (list[int], {"items": {"type": "integer"}, "type": "array"}),
        (dict[str, int], {"additionalProperties": {"type": "integer"}, "type": "object"}),
        (str | None, {"type": ["string", "null"]}),
        (Color, {"enum": ["red", "green"], "type": "string"}),
        (Annotated[Color, names_of(Color)], {"enum": ["red", "green"]}),
        (Annotated[Inner, AN_OBJECT], {"type": "object"}),
        (Annotated[str, Published({"const": "ok"})], {"const": "ok"}),
        (Annotated[bool, Described("Whether.")], {"description": "Whether.", "type": "boolean"}),
    ],
    ids=str,
)
def test_a_type_has_the_schema_of_its_values(hint: Any, schema: dict[str, Any]) -> None:
    assert result_schema(hint) == schema


def test_a_field_that_may_be_missing_is_not_required() -> None:
    assert result_schema(Whole)["required"] == ["count"]


def test_a_result_whose_fields_may_all_be_missing_requires_none() -> None:
    assert "required" not in result_schema(Optional)


def test_a_result_has_the_fields_of_the_one_it_extends() -> None:
    schema = result_schema(Longer)
    assert list(schema["properties"]) == ["count", "note", "parts"]
    assert schema["required"] == ["count", "parts"]


def test_an_object_or_null_is_a_choice() -> None:
    inner = result_schema(Inner)
    assert result_schema(Inner | None) == {"anyOf": [inner, {"type": "null"}]}


def test_a_type_that_json_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="bytes"):
        result_schema(bytes)
