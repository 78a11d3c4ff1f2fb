"""JSON Schemas as clients like them: no titles, no references, and words for what a schema expects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Schema = dict[str, Any]

NAMED = ("properties", "patternProperties")
NESTED = ("items", "additionalProperties", "not", "anyOf", "oneOf", "allOf", "prefixItems")
DROPPED = ("title", "discriminator", "$defs")
WORDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


class Plain:
    """One pass over a schema that inlines, strips and flattens it.

    Of arguments, an optional one is shown as its type alone; of a result, nulls are kept and additions allowed.
    """

    def __init__(self, schema: Schema, *, result: bool) -> None:
        self.schema = schema
        self.result = result
        self.defs: Schema = schema.get("$defs", {})
        self.recursive = {name for name in self.defs if name in reached(self.defs[name], self.defs)}

    def whole(self) -> Schema:
        root = self.schema
        while "$ref" in root:
            # A root must say that it is an object, so its own definition is copied even if it contains itself.
            root = {**self.defs[ref_name(root)], **{k: v for k, v in root.items() if k not in ("$ref", "$defs")}}
        flat = self.visit(root)
        kept = {name: self.visit(self.defs[name]) for name in sorted(self.recursive)}
        return {**flat, "$defs": kept} if kept else flat

    def visit(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.visit(entry) for entry in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node and ref_name(node) not in self.recursive:
            node = {**self.defs[ref_name(node)], **{k: v for k, v in node.items() if k != "$ref"}}
            return self.visit(node)
        flat = {key: self.value(key, value) for key, value in node.items() if key not in DROPPED}
        return self.without_noise(flat)

    def value(self, key: str, value: Any) -> Any:
        if key in NAMED:
            return {name: self.visit(schema) for name, schema in value.items()}
        return self.visit(value) if key in NESTED else value

    def without_noise(self, node: Schema) -> Schema:
        if self.result:
            node.pop("default", None)
            if "properties" in node:
                # The docstring of a result class speaks to whoever reads the code.
                node.pop("description", None)
            if node.get("additionalProperties") in (False, True, {}):
                del node["additionalProperties"]
        elif node.get("default", 0) is None and {"type": "null"} in node.get("anyOf", []):
            node = optional(node)
        if node.get("additionalProperties") == {}:
            node["additionalProperties"] = True
        return node


def optional(node: Schema) -> Schema:
    """An argument that may be left out, shown as what it is when it is there."""
    choices = [choice for choice in node["anyOf"] if choice != {"type": "null"}]
    rest = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
    return {**(choices[0] if len(choices) == 1 else {"anyOf": choices}), **rest}


def ref_name(node: Mapping[str, Any]) -> str:
    return str(node["$ref"]).rpartition("/")[2]


def reached(node: Any, defs: Schema, seen: set[str] | None = None) -> set[str]:
    """The names of all definitions that a schema leads to."""
    seen = set() if seen is None else seen
    if isinstance(node, dict) and isinstance(node.get("$ref"), str) and ref_name(node) not in seen:
        seen.add(ref_name(node))
        reached(defs.get(ref_name(node)), defs, seen)
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        reached(part, defs, seen)
    return seen


def merged(schemas: Iterable[Schema]) -> Schema:
    """One flat object that takes the properties of all; required is what all of them require."""
    parts = list(schemas)
    properties: Schema = {}
    for name in dict.fromkeys(name for part in parts for name in part.get("properties", {})):
        properties[name] = one_of([part["properties"][name] for part in parts if name in part.get("properties", {})])
    first = parts[0].get("required", []) if parts else []
    required = [name for name in first if all(name in part.get("required", []) for part in parts)]
    flat: Schema = {"type": "object", "properties": properties}
    return {**flat, "required": required} if required else flat


def one_of(schemas: list[Schema]) -> Schema:
    """A schema that takes what any of these takes, said once where they agree."""
    said = [{key: value for key, value in s.items() if key not in ("description", "default")} for s in schemas]
    distinct = [schema for number, schema in enumerate(said) if schema not in said[:number]]
    flat = dict(distinct[0]) if len(distinct) == 1 else {"anyOf": distinct}
    defaults = [schema.get("default", schemas) for schema in schemas]
    if defaults[0] is not schemas and all(default == defaults[0] for default in defaults):
        flat["default"] = defaults[0]
    descriptions = [schema["description"] for schema in schemas if "description" in schema]
    return {**flat, "description": descriptions[0]} if descriptions else flat


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
    if "const" in schema:
        return f"{schema['const']!r}"
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(expected(choice) for choice in choices))
    types = schema.get("type", "any JSON value")
    words = " or ".join(WORDS.get(name, name) for name in ([types] if isinstance(types, str) else types))
    if types == "array" and schema.get("items"):
        words += f", each entry {expected(schema['items'])}"
    return words + limits(schema)


def limits(schema: Schema) -> str:
    """The bounds of a schema, in words that follow the name of its type."""
    words = between(schema.get("minimum"), schema.get("maximum"), "", "")
    bounds = {"above": schema.get("exclusiveMinimum"), "below": schema.get("exclusiveMaximum")}
    words += " and".join(f" {word} {bound}" for word, bound in bounds.items() if bound is not None)
    words += between(schema.get("minLength"), schema.get("maxLength"), " with", " characters")
    words += between(schema.get("minItems"), schema.get("maxItems"), ", with", " entries")
    words += f" that matches {schema['pattern']}" if "pattern" in schema else ""
    return words + (f" ({schema['format']})" if "format" in schema else "")


def between(low: float | None, high: float | None, before: str, after: str) -> str:
    if low is None and high is None:
        return ""
    if high is None:
        return f"{before} at least {low}{after}"
    if low is None:
        return f"{before} at most {high}{after}"
    return f"{before} from {low} to {high}{after}" if not after else f"{before} {low} to {high}{after}"
