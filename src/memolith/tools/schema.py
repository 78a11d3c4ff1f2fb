"""What a typed function takes and gives: the schemas of its signature, and the strict check of arguments against it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from memolith.errors import Malformed, MemolithError

Body = dict[str, object]
Schema = dict[str, Any]
Effect = Literal["reads", "writes", "runs"]
Function = Callable[..., Body]
Acting = TypeVar("Acting", bound=Function)
Prepared = tuple["Signature", dict[str, Any]]
STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)
NULL = {"type": "null"}
NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}
ADDED = ("redactions", "warnings")


def shape(optional: str = "", /, **types: object) -> Schema:
    """The schema of a result by the types of its fields, `[x]` for a list; what is optional may be left out or null."""
    free = [*optional.split(), "warnings"]
    return an_object(
        {name: field_schema(kind, name in free) for name, kind in types.items()},
        [name for name in types if name not in free],
    )


def an_object(properties: Schema, required: list[str]) -> Schema:
    return {
        "properties": properties,
        **({"required": required} if required else {}),
        "type": "object",
    }


def field_schema(kind: Any, nullable: bool = False) -> Schema:
    if isinstance(kind, list):
        return {"items": field_schema(kind[0]), "type": "array"}
    if get_origin(kind) is dict:
        return {"additionalProperties": field_schema(get_args(kind)[1]), "type": "object"}
    if not isinstance(kind, type):
        return cast(Schema, kind)
    return {"type": [NAMES[kind], "null"] if nullable else NAMES[kind]}


def plain(node: Any, defs: Schema) -> Any:
    """A schema of arguments without titles and references; one that may be left out is shown as its type alone."""
    if isinstance(node, list):
        return [plain(entry, defs) for entry in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        node = {
            **defs[node["$ref"].rpartition("/")[2]],
            **{key: node[key] for key in node if key != "$ref"},
        }
    # The title of a schema is a text; a property of that name has a schema.
    flat = {
        key: plain(value, defs)
        for key, value in node.items()
        if key != "$defs" and not (key == "title" and isinstance(value, str))
    }
    if flat.get("additionalProperties") == {}:
        flat["additionalProperties"] = True
    if flat.get("default", 0) is not None or NULL not in flat.get("anyOf", []):
        return flat
    choices = [choice for choice in flat.pop("anyOf") if choice != NULL]
    del flat["default"]
    return {**(choices[0] if len(choices) == 1 else {"anyOf": choices}), **flat}


def merged(schemas: list[Schema]) -> Schema:
    """One flat object with the properties of all, each as its first owner has it; required is what all require."""
    properties: Schema = {}
    for name, kind in (pair for schema in schemas for pair in schema["properties"].items()):
        properties.setdefault(name, kind)
    return an_object(
        properties,
        [name for name in properties if all(name in s.get("required", ()) for s in schemas)],
    )


class Argument(BaseModel):
    """An object inside the arguments of a tool: strict as the arguments themselves."""

    model_config = STRICT


@dataclass(frozen=True)
class Signature:
    """One function `(call, *, typed arguments) -> Body`, and the shape of its result."""

    function: Function
    output_schema: Schema
    effect: Effect = "reads"

    @cached_property
    def model(self) -> type[BaseModel]:
        hints, defaults = (
            get_type_hints(self.function, include_extras=True),
            self.function.__kwdefaults__ or {},
        )
        # An alias, so that an argument may be called `json` or `copy`, which a model has as methods.
        fields: Schema = {
            f"argument_{name}": (hint, Field(defaults.get(name, ...), alias=name))
            for name, hint in hints.items()
            if name not in ("call", "return")
        }
        return create_model(self.function.__name__, __config__=STRICT, **fields)

    @cached_property
    def input_schema(self) -> Schema:
        schema = self.model.model_json_schema()
        return cast(Schema, plain(schema, schema.get("$defs", {})))

    def prepare(self, arguments: Mapping[str, Any]) -> Prepared:
        """The function with its checked arguments; `Malformed` names the first that does not fit."""
        try:
            # As JSON, because strict checking of Python values would refuse the JSON forms of dates, enums and tuples.
            model = self.model.model_validate_json(json.dumps(arguments))
        except ValidationError as error:
            # None: the values in pydantic's own text have no place in a log.
            raise self.refusal(error.errors(include_url=False)[0]) from None
        return self, {
            name[len("argument_") :]: getattr(model, name) for name in model.model_fields_set
        }

    def worded(self, body: Body) -> Body:
        """The result without additions that have nothing to tell."""
        required = self.output_schema.get("required", ())
        return {
            name: value
            for name, value in body.items()
            if value or name in required or name not in ADDED
        }

    def refusal(self, error: ErrorDetails) -> MemolithError:
        """What is wrong with the first argument that does not fit, by the name that the caller knows."""
        steps, schema, told = (
            list[str](),
            self.input_schema,
            error["msg"].removeprefix("Value error, "),
        )
        for step in error["loc"]:
            below = (
                schema.get("properties", {}).get(step)
                if isinstance(step, str)
                else schema.get("items")
            )
            below = below or schema.get("additionalProperties")
            # Names of union members stand in pydantic's paths, but not in the arguments.
            if isinstance(below, dict):
                steps, schema = [*steps, str(step)], below
        if error["type"] == "extra_forbidden":
            steps.append(str(error["loc"][-1]))
            told = f"not known here; possible: {', '.join(schema.get('properties', {})) or 'no arguments'}"
        return Malformed(
            f"`{'.'.join(steps)}`: {told}", field=".".join(steps), value=error["input"]
        )


@dataclass(frozen=True)
class Actions:
    """Several functions behind one tool, told apart by one argument; the published schema stays one flat object."""

    name: str
    description: str
    key: str = "action"
    actions: dict[str, Signature] = field(default_factory=dict)

    def action(self, name: str, gives: Schema, *, effect: Effect) -> Callable[[Acting], Acting]:
        def add(function: Acting) -> Acting:
            self.actions[name] = Signature(function, gives, effect)
            return function

        return add

    @cached_property
    def input_schema(self) -> Schema:
        choice = {"type": "string", "enum": list(self.actions), "description": "What to do."}
        flat = merged([action.input_schema for action in self.actions.values()])
        return {
            "additionalProperties": False,
            **an_object(
                {self.key: choice, **flat["properties"]}, [self.key, *flat.get("required", ())]
            ),
        }

    @cached_property
    def output_schema(self) -> Schema:
        return merged([action.output_schema for action in self.actions.values()])

    def prepare(self, arguments: Mapping[str, Any]) -> Prepared:
        name = arguments.get(self.key)
        if not isinstance(name, str) or name not in self.actions:
            raise Malformed(
                f"`{self.key}` must be one of: {', '.join(self.actions)}.",
                field=self.key,
                value=name,
            )
        rest = {key: value for key, value in arguments.items() if key != self.key}
        strangers = rest.keys() - self.actions[name].input_schema["properties"].keys()
        for stranger in sorted(strangers & self.input_schema["properties"].keys()):
            raise Malformed(
                f"`{stranger}` does not belong to the {self.key} `{name}`.",
                field=stranger,
                value=rest[stranger],
            )
        return self.actions[name].prepare(rest)
