"""What a typed function takes and gives: the schemas of its signature, and the strict check of arguments against it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic_core import ErrorDetails

from memolith.errors import InvalidInput
from memolith.schemas.plain import Plain, Schema, at, expected, merged

STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

Effect = Literal["reads", "writes", "runs"]
Function = Callable[..., object]
Acting = TypeVar("Acting", bound=Function)
Prepared = tuple["Signature", dict[str, Any]]


class Argument(BaseModel):
    """An object inside the arguments of a tool: strict as the arguments themselves."""

    model_config = STRICT


class Result(BaseModel):
    """What a tool returns; its schema is built when it is first needed."""

    model_config = ConfigDict(defer_build=True, frozen=True, populate_by_name=True)


def absent(value: object) -> bool:
    """For `Field(exclude_if=absent)`: an optional addition that is None or empty is left out of the result."""
    return value is None or value == [] or value == {}


@dataclass(frozen=True)
class Signature:
    """One function `(call, *, typed arguments) -> result`."""

    function: Function

    def __post_init__(self) -> None:
        first, *rest = inspect.signature(self.function).parameters.values()
        if first.name != "call" or any(parameter.kind is not parameter.KEYWORD_ONLY for parameter in rest):
            raise TypeError(f"{self.name} must be a function of (call, *, …)")

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def description(self) -> str:
        return self.function.__doc__ or ""

    @cached_property
    def hints(self) -> dict[str, Any]:
        return get_type_hints(self.function, include_extras=True)

    @cached_property
    def model(self) -> type[BaseModel]:
        fields: dict[str, Any] = {}
        for name, parameter in list(inspect.signature(self.function).parameters.items())[1:]:
            default = ... if parameter.default is parameter.empty else parameter.default
            # An alias, so that an argument may be called `json` or `copy`, which a model has as methods.
            fields[f"argument_{name}"] = (self.hints[name], Field(default, alias=name))
        return create_model(self.name, __config__=STRICT, **fields)

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.hints["return"])

    @cached_property
    def input_schema(self) -> Schema:
        schema = Plain(self.model.model_json_schema(), result=False).whole()
        schema.setdefault("properties", {})
        return schema

    @cached_property
    def output_schema(self) -> Schema:
        return Plain(self.adapter.json_schema(mode="serialization"), result=True).whole()

    def prepare(self, arguments: Mapping[str, Any]) -> Prepared:
        """The function with its checked arguments; `InvalidInput` names the first that does not fit."""
        try:
            # As JSON, because strict checking of Python values would refuse the JSON forms of dates, enums and tuples.
            model = self.model.model_validate_json(json.dumps(arguments))
        except ValidationError as error:
            # None: the values in pydantic's own text have no place in a log.
            raise self.refusal(error.errors(include_url=False)[0]) from None
        return self, {name[len("argument_"):]: getattr(model, name) for name in model.model_fields_set}

    def dump(self, result: object) -> dict[str, Any]:
        """The result as plain JSON values."""
        body: dict[str, Any] = self.adapter.dump_python(result, mode="json", by_alias=True)
        return body

    def refusal(self, error: ErrorDetails) -> InvalidInput:
        path = error["loc"]
        steps, schema = at(self.input_schema, path)
        name = ".".join(steps)
        if error["type"] == "missing":
            return InvalidInput(f"`{name}` is required: {expected(schema)}.", field=name)
        if error["type"] == "extra_forbidden":
            name = ".".join([*steps, str(path[-1])])
            known = ", ".join(schema.get("properties", {})) or "no arguments"
            return InvalidInput(f"`{name}` is not known here; possible: {known}.", field=name, value=error["input"])
        if error["type"] == "value_error":
            return InvalidInput(f"`{name}`: {error['ctx']['error']}", field=name, value=error["input"])
        return InvalidInput(f"`{name}` must be {expected(schema)}.", field=name, value=error["input"])


@dataclass(frozen=True)
class Action:
    """One action of an action-style tool."""

    signature: Signature
    effect: Effect


@dataclass(frozen=True)
class Actions:
    """Several functions behind one tool, told apart by one argument; the published schema stays one flat object."""

    name: str
    description: str
    key: str = "action"
    about: str = "What to do."
    default: str | None = None
    actions: dict[str, Action] = field(default_factory=dict)

    def action(self, name: str, *, effect: Effect) -> Callable[[Acting], Acting]:
        """Make a function the action of that name."""

        def add(function: Acting) -> Acting:
            self.actions[name] = Action(Signature(function), effect)
            return function

        return add

    @cached_property
    def input_schema(self) -> Schema:
        choice: Schema = {"type": "string", "enum": list(self.actions), "description": self.about}
        if self.default is not None:
            choice["default"] = self.default
        flat = merged(action.signature.input_schema for action in self.actions.values())
        required = [*([self.key] if self.default is None else []), *flat.get("required", [])]
        schema = {"type": "object", "properties": {self.key: choice, **flat["properties"]}, "required": required,
                  "additionalProperties": False}
        return schema if required else {name: value for name, value in schema.items() if name != "required"}

    @cached_property
    def output_schema(self) -> Schema:
        schemas = [action.signature.output_schema for action in self.actions.values()]
        return schemas[0] if all(schema == schemas[0] for schema in schemas) else merged(schemas)

    def prepare(self, arguments: Mapping[str, Any]) -> Prepared:
        """The function that the action names, with its checked arguments."""
        if self.key not in arguments and self.default is None:
            raise InvalidInput(f"`{self.key}` is required: one of: {', '.join(self.actions)}.", field=self.key)
        name = arguments.get(self.key, self.default)
        if not isinstance(name, str) or name not in self.actions:
            raise InvalidInput(f"`{self.key}` must be one of: {', '.join(self.actions)}.", field=self.key, value=name)
        rest = {key: value for key, value in arguments.items() if key != self.key}
        strangers = rest.keys() - self.actions[name].signature.input_schema["properties"].keys()
        for stranger in sorted(strangers & self.input_schema["properties"].keys()):
            raise InvalidInput(f"`{stranger}` does not belong to the {self.key} `{name}`.", field=stranger,
                               value=rest[stranger])
        return self.actions[name].signature.prepare(rest)
