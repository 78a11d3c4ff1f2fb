"""What a typed function takes and gives: the schemas of its signature, and the strict check of arguments against it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from memolith.errors import Malformed
from memolith.schemas.plain import Body, Schema, an_object, at, expected, merged, plain

STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

Effect = Literal["reads", "writes", "runs"]
Function = Callable[..., Body]
Acting = TypeVar("Acting", bound=Function)
Prepared = tuple["Signature", dict[str, Any]]


class Argument(BaseModel):
    """An object inside the arguments of a tool: strict as the arguments themselves."""

    model_config = STRICT


@dataclass(frozen=True)
class Signature:
    """One function `(call, *, typed arguments) -> Annotated[Body, shape(…)]`."""

    function: Function
    effect: Effect = "reads"

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
    def input_schema(self) -> Schema:
        schema = self.model.model_json_schema()
        flat: Schema = plain(schema, schema.get("$defs", {}))
        flat.setdefault("properties", {})
        return flat

    @cached_property
    def output_schema(self) -> Schema:
        schema: Schema = get_args(self.hints["return"])[1]
        return schema

    def prepare(self, arguments: Mapping[str, Any]) -> Prepared:
        """The function with its checked arguments; `Malformed` names the first that does not fit."""
        try:
            # As JSON, because strict checking of Python values would refuse the JSON forms of dates, enums and tuples.
            model = self.model.model_validate_json(json.dumps(arguments))
        except ValidationError as error:
            # None: the values in pydantic's own text have no place in a log.
            raise self.refusal(error.errors(include_url=False)[0]) from None
        return self, {name[len("argument_"):]: getattr(model, name) for name in model.model_fields_set}

    def worded(self, body: Body) -> Body:
        """The result without optional additions that are empty."""
        required = self.output_schema.get("required", ())
        return {name: value for name, value in body.items() if name in required or value not in ([], {})}

    def refusal(self, error: ErrorDetails) -> Malformed:
        path = error["loc"]
        steps, schema = at(self.input_schema, path)
        name = ".".join(steps)
        if error["type"] == "missing":
            return Malformed(f"`{name}` is required: {expected(schema)}.", field=name)
        if error["type"] == "extra_forbidden":
            name = ".".join([*steps, str(path[-1])])
            known = ", ".join(schema.get("properties", {})) or "no arguments"
            return Malformed(f"`{name}` is not known here; possible: {known}.", field=name, value=error["input"])
        if error["type"] == "value_error":
            return Malformed(f"`{name}`: {error['ctx']['error']}", field=name, value=error["input"])
        return Malformed(f"`{name}` must be {expected(schema)}.", field=name, value=error["input"])


@dataclass(frozen=True)
class Actions:
    """Several functions behind one tool, told apart by one argument; the published schema stays one flat object."""

    name: str
    description: str
    key: str = "action"
    about: str = "What to do."
    default: str | None = None
    actions: dict[str, Signature] = field(default_factory=dict)

    def action(self, name: str, *, effect: Effect) -> Callable[[Acting], Acting]:
        """Make a function the action of that name."""

        def add(function: Acting) -> Acting:
            self.actions[name] = Signature(function, effect)
            return function

        return add

    @cached_property
    def input_schema(self) -> Schema:
        choice: Schema = {"type": "string", "enum": list(self.actions), "description": self.about}
        required = [self.key] if self.default is None else []
        flat = merged([action.input_schema for action in self.actions.values()])
        shown = choice if required else {**choice, "default": self.default}
        return {"additionalProperties": False, **an_object({self.key: shown, **flat["properties"]},
                                                           [*required, *flat.get("required", ())])}

    @cached_property
    def output_schema(self) -> Schema:
        return merged([action.output_schema for action in self.actions.values()])

    def prepare(self, arguments: Mapping[str, Any]) -> Prepared:
        """The function that the action names, with its checked arguments."""
        name = arguments.get(self.key, self.default)
        if not isinstance(name, str) or name not in self.actions:
            raise Malformed(f"`{self.key}` must be one of: {', '.join(self.actions)}.", field=self.key, value=name)
        rest = {key: value for key, value in arguments.items() if key != self.key}
        strangers = rest.keys() - self.actions[name].input_schema["properties"].keys()
        for stranger in sorted(strangers & self.input_schema["properties"].keys()):
            raise Malformed(f"`{stranger}` does not belong to the {self.key} `{name}`.", field=stranger,
                            value=rest[stranger])
        return self.actions[name].prepare(rest)
