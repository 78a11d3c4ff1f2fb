"""The output schema of a tool, derived from the `TypedDict` that its function returns.

Results are `TypedDict`s: mypy checks every body that a tool returns, and at run time a result is a
plain dict that costs nothing to make (docs/why/results.md has the figures against pydantic).

    class Found(TypedDict):
        results: list[Hit]
        total: int
        warnings: NotRequired[list[str]]

A field that may be missing is `NotRequired`; one that may be null is `X | None`. `Published` puts
another schema in the place of the derived one, `Brief` does so in the lists of tools that models
read, and `Described` adds a description.
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

from memolith.domain.attributes import Json
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


class Brief(NamedTuple):
    """The same, but for the lists of tools only; the OpenAPI document has the derived schema."""

    schema: Schema


class Described(NamedTuple):
    """Adds a description, as in `Annotated[bool, Described("…")]`."""

    text: str


AN_OBJECT = Brief({"type": "object"})
"""Publishes no more than that it is an object: keeps the tool list of the core family short."""
OBJECTS = Brief({"items": {"type": "object"}, "type": "array"})
"""The same for a list of objects."""
A_LIST = Brief({"type": "array"})
"""Less still: no more than that it is a list."""
ANYTHING = Published({})
"""Any JSON value."""


def result_schema(result: Any, *, whole: bool = False) -> Schema:
    """The JSON schema of a result type, `whole` without the brevity of the lists of tools."""
    origin = get_origin(result)
    if origin in CONTAINERS:
        return _container(result, whole)
    if result is object or _is_any_json(result):
        return {}
    if origin in (Union, UnionType):
        return _union(get_args(result), whole)
    if origin is Literal:
        return {"enum": list(get_args(result)), "type": "string"}
    if is_typeddict(result):
        return _typed_dict(result, whole)
    if result in SIMPLE_TYPES:
        return {"type": SIMPLE_TYPES[result]}
    raise TypeError(f"a result cannot hold {result!r}")


CONTAINERS = (Annotated, NotRequired, Required, list, dict)
"""Types that say something about a type inside them."""


JSON_KINDS = {get_origin(member) or member for member in get_args(Json)}


def _is_any_json(result: Any) -> bool:
    """Whether a union allows every JSON value, however far `Json` in it is spelt out."""
    return {get_origin(member) or member for member in get_args(result)} == JSON_KINDS


def _container(result: Any, whole: bool) -> Schema:
    origin = get_origin(result)
    if origin is Annotated:
        return _annotated(result, whole)
    inner = result_schema(get_args(result)[-1], whole=whole)
    if origin is list:
        return {"items": inner, "type": "array"}
    if origin is dict:
        return {"additionalProperties": inner, "type": "object"}
    return inner


def _typed_dict(result: Any, whole: bool) -> Schema:
    hints = get_type_hints(result, include_extras=True)
    properties = {name: result_schema(hint, whole=whole) for name, hint in hints.items()}
    # Under `from __future__ import annotations`, `__required_keys__` misses `NotRequired`.
    required = [
        name
        for name, hint in hints.items()
        if name in result.__required_keys__ and get_origin(hint) is not NotRequired
    ]
    return object_schema(properties, required)


def _annotated(result: Any, whole: bool) -> Schema:
    plain, *notes = get_args(result)
    schema: Schema | None = None
    description: str | None = None
    for note in notes:
        if isinstance(note, Published) or (isinstance(note, Brief) and not whole):
            schema = note.schema
        elif isinstance(note, Described):
            description = note.text
    if schema is None:
        schema = result_schema(plain, whole=whole)
    if description is not None:
        schema = {"description": description, **schema}
    return schema


def _union(members: tuple[Any, ...], whole: bool) -> Schema:
    """`X | None` as a type that may be null, other unions as a choice."""
    choices = [result_schema(member, whole=whole) for member in members if member is not NoneType]
    nullable = NoneType in members
    if nullable and len(choices) == 1 and set(choices[0]) == {"type"}:
        return {"type": [choices[0]["type"], "null"]}
    if nullable:
        choices.append(NULL)
    return {"anyOf": choices}


def names_of(literal: Any) -> Published:
    """Publishes the names of a `Literal` without their type, as some documents have it."""
    return Published({"enum": list(get_args(literal))})
