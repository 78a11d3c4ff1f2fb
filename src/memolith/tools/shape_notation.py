"""The old notation of result schemas. It goes when every family has typed results."""

from typing import Any, cast, get_args, get_origin

from memolith.tools.schema import Schema, object_schema

NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}


def shape(optional: str = "", /, **types: object) -> Schema:
    """The schema of a result by the types of its fields."""
    free = [*optional.split(), "warnings"]
    return object_schema(
        {name: field_schema(kind, name in free) for name, kind in types.items()},
        [name for name in types if name not in free],
    )


def field_schema(kind: Any, nullable: bool = False) -> Schema:
    """The schema of one field."""
    if isinstance(kind, list):
        return {"items": field_schema(kind[0]), "type": "array"}
    if get_origin(kind) is dict:
        return {"additionalProperties": field_schema(get_args(kind)[1]), "type": "object"}
    if not isinstance(kind, type):
        return cast(Schema, kind)
    return {"type": [NAMES[kind], "null"] if nullable else NAMES[kind]}
