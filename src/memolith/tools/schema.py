"""JSON schemas: as pydantic makes them for arguments, cleaned up, and several joined into one."""

from collections.abc import Mapping
from typing import Any, Literal

Body = dict[str, object]
"""The result of a tool as it goes over the wire."""
Schema = dict[str, Any]
Effect = Literal["reads", "writes", "runs"]
NULL: Schema = {"type": "null"}


def object_schema(properties: Schema, required: list[str]) -> Schema:
    """The schema of an object; `required` is left out if it is empty."""
    schema: Schema = {"properties": properties}
    if required:
        schema["required"] = required
    schema["type"] = "object"
    return schema


def flatten(node: Any, definitions: Mapping[str, Any]) -> Any:
    """A schema of arguments without titles and references.

    An argument that may be left out is shown as its type alone, without `null` and its default.
    """
    if isinstance(node, list):
        return [flatten(entry, definitions) for entry in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        others = {key: value for key, value in node.items() if key != "$ref"}
        node = {**definitions[name], **others}
    flat = {}
    for key, value in node.items():
        # The title of a schema is a text; a property with the name `title` has a schema.
        is_title = key == "title" and isinstance(value, str)
        if key != "$defs" and not is_title:
            flat[key] = flatten(value, definitions)
    if flat.get("additionalProperties") == {}:
        flat["additionalProperties"] = True
    return _without_null(flat)


def _without_null(schema: Schema) -> Schema:
    """The schema of an optional argument as that of its value."""
    has_null_default = "default" in schema and schema["default"] is None
    if not has_null_default or NULL not in schema.get("anyOf", []):
        return schema
    choices = [choice for choice in schema["anyOf"] if choice != NULL]
    others = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    if len(choices) == 1:
        return {**choices[0], **others}
    return {"anyOf": choices, **others}


def merge_schemas(schemas: list[Schema]) -> Schema:
    """One flat object with the properties of all.

    A property that several have is as the first has it. Required is what all of them require.
    """
    properties: Schema = {}
    for schema in schemas:
        for name, property_schema in schema["properties"].items():
            properties.setdefault(name, property_schema)
    required = [
        name for name in properties if all(name in schema.get("required", ()) for schema in schemas)
    ]
    return object_schema(properties, required)
