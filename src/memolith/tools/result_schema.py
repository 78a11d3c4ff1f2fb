"""The output schema of a tool, derived from the `TypedDict` that its function returns.

Results are `TypedDict`s: mypy checks every body that a tool returns, and at run time a result is a
plain dict that costs nothing to make (docs/why/results.md has the figures against pydantic).

    class Found(TypedDict):
        results: list[Hit]
        total: int
        warnings: NotRequired[list[str]]

A field that may be missing is `NotRequired`; one that may be null is `X | None`. `Published` puts
another schema in the place of the derived one, `Described` adds a description.
"""

from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from memolith.tools.schema import NULL, Schema, object_schema

SIMPLE_TYPES: dict[object, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    dict: "object",
}


class Published(NamedTuple):
    """Publishes this schema instead of the derived one, as in `Annotated[X, Published({...})]`."""

    schema: Schema


class Described(NamedTuple):
    """Adds a description, as in `Annotated[bool, Described("…")]`."""

    text: str


AN_OBJECT = Published({"type": "object"})
"""Publishes no more than that it is an object: keeps the tool list of the core family short."""
OBJECTS = Published({"items": {"type": "object"}, "type": "array"})
"""The same for a list of objects."""
A_LIST = Published({"type": "array"})
"""Less still: no more than that it is a list."""
ANYTHING = Published({})
"""Any JSON value."""


def result_schema(result: Any) -> Schema:
    """The JSON schema of a result type."""
    origin = get_origin(result)
    if origin is Annotated:
        return _annotated(result)
    if origin in (NotRequired, Required):
        return result_schema(get_args(result)[0])
    if origin in (Union, UnionType):
        return _union(get_args(result))
    if origin is list:
        return {"items": result_schema(get_args(result)[0]), "type": "array"}
    if origin is dict:
        return {"additionalProperties": result_schema(get_args(result)[1]), "type": "object"}
    if origin is Literal:
        return {"enum": list(get_args(result)), "type": "string"}
    if is_typeddict(result):
        return _typed_dict(result)
    if result in SIMPLE_TYPES:
        return {"type": SIMPLE_TYPES[result]}
    raise TypeError(f"a result cannot hold {result!r}")


def _typed_dict(result: Any) -> Schema:
    hints = get_type_hints(result, include_extras=True)
    properties = {name: result_schema(hint) for name, hint in hints.items()}
    # Under `from __future__ import annotations`, `__required_keys__` misses `NotRequired`.
    required = [
        name
        for name, hint in hints.items()
        if name in result.__required_keys__ and get_origin(hint) is not NotRequired
    ]
    return object_schema(properties, required)


def _annotated(result: Any) -> Schema:
    plain, *notes = get_args(result)
    schema: Schema | None = None
    description: str | None = None
    for note in notes:
        if isinstance(note, Published):
            schema = note.schema
        elif isinstance(note, Described):
            description = note.text
    if schema is None:
        schema = result_schema(plain)
    if description is not None:
        schema = {"description": description, **schema}
    return schema


def _union(members: tuple[Any, ...]) -> Schema:
    """`X | None` as a type that may be null, other unions as a choice."""
    choices = [result_schema(member) for member in members if member is not NoneType]
    nullable = NoneType in members
    if nullable and len(choices) == 1 and set(choices[0]) == {"type"}:
        return {"type": [choices[0]["type"], "null"]}
    if nullable:
        choices.append(NULL)
    return {"anyOf": choices}


def names_of(literal: Any) -> Published:
    """Publishes the names of a `Literal` without their type, as some documents have it."""
    return Published({"enum": list(get_args(literal))})
