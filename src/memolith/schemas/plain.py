"""JSON Schemas as clients like them: no titles, no references, and words for what a schema expects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args, get_origin

Body = dict[str, object]
Schema = dict[str, Any]

NULL = {"type": "null"}
NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}
WORDS = {"integer": "a whole number", "number": "a number", "string": "a text", "boolean": "true or false",
         "array": "a list", "object": "an object"}


def shape(optional: str = "", /, **types: object) -> Schema:
    """The schema of a result by the types of its fields, `[x]` for a list; what is optional may be left out or null."""
    free = optional.split()
    return an_object({name: field_schema(kind, name in free) for name, kind in types.items()},
                     [name for name in types if name not in free])


def an_object(properties: Schema, required: list[str]) -> Schema:
    return {"properties": properties, **({"required": required} if required else {}), "type": "object"}


def field_schema(kind: Any, nullable: bool = False) -> Schema:
    if isinstance(kind, list):
        return {"items": field_schema(kind[0]), "type": "array"}
    if get_origin(kind) is dict:
        return {"additionalProperties": field_schema(get_args(kind)[1]), "type": "object"}
    if not isinstance(kind, type):
        ready: Schema = kind
        return ready
    return {"type": [NAMES[kind], "null"] if nullable else NAMES[kind]}


def plain(node: Any, defs: Schema) -> Any:
    """A schema of arguments without titles and references; one that may be left out is shown as its type alone."""
    if isinstance(node, list):
        return [plain(entry, defs) for entry in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        node = {**defs[node["$ref"].rpartition("/")[2]], **{key: node[key] for key in node if key != "$ref"}}
    # The title of a schema is a text; a property of that name has a schema.
    flat = {key: plain(value, defs) for key, value in node.items() if key != "$defs" and not (
        key == "title" and isinstance(value, str))}
    if flat.get("additionalProperties") == {}:
        flat["additionalProperties"] = True
    if flat.get("default", 0) is not None or NULL not in flat.get("anyOf", []):
        return flat
    choices = [choice for choice in flat.pop("anyOf") if choice != NULL]
    del flat["default"]
    return {**(choices[0] if len(choices) == 1 else {"anyOf": choices}), **flat}


def merged(schemas: Iterable[Schema]) -> Schema:
    """One flat object with the properties of all, each as its first owner has it; required is what all require."""
    parts = list(schemas)
    properties = {name: kind for part in reversed(parts) for name, kind in part["properties"].items()}
    names = dict.fromkeys(name for part in parts for name in part["properties"])
    required = [name for name in names if all(name in part.get("required", ()) for part in parts)]
    return an_object({name: properties[name] for name in names}, required)


def at(schema: Schema, path: Iterable[str | int]) -> tuple[list[str], Schema]:
    """The part of a schema that a path leads to, and the steps that were real."""
    steps: list[str] = []
    for step in path:
        below = schema.get("properties", {}).get(step) if isinstance(step, str) else schema.get("items")
        if below is None and isinstance(schema.get("additionalProperties"), dict):
            below = schema["additionalProperties"]
        if below is None:
            # Names of union members stand in pydantic's paths, but not in the arguments.
            continue
        steps.append(str(step))
        schema = below
    return steps, schema


def expected(schema: Schema) -> str:
    """What a value of this schema is, in words."""
    if "enum" in schema:
        return "one of: " + ", ".join(map(str, schema["enum"]))
    if choices := schema.get("anyOf"):
        return " or ".join(dict.fromkeys(expected(choice) for choice in choices))
    words = WORDS.get(kind := schema.get("type", ""), kind or "any JSON value")
    if kind == "array" and schema.get("items"):
        words += f", each entry {expected(schema['items'])}"
    return words + limits(schema)


def limits(schema: Schema) -> str:
    """The bounds of a schema, in words that follow the name of its type."""
    words = between(schema.get("minimum"), schema.get("maximum"), "", "")
    bounds = {"above": schema.get("exclusiveMinimum"), "below": schema.get("exclusiveMaximum")}
    words += " and".join(f" {word} {bound}" for word, bound in bounds.items() if bound is not None)
    words += between(schema.get("minLength"), schema.get("maxLength"), " with", " characters")
    words += between(schema.get("minItems"), schema.get("maxItems"), ", with", " entries")
    return words + (f" that matches {schema['pattern']}" if "pattern" in schema else "")


def between(low: float | None, high: float | None, before: str, after: str) -> str:
    if low is None and high is None:
        return ""
    if high is None:
        return f"{before} at least {low}{after}"
    if low is None:
        return f"{before} at most {high}{after}"
    return f"{before} from {low} to {high}{after}" if not after else f"{before} {low} to {high}{after}"
