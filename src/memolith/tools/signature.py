"""What a typed function takes and gives: its schemas, and the strict check of arguments."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    create_model,
)
from pydantic_core import CoreSchema, ErrorDetails

from memolith.errors import Malformed, MemolithError
from memolith.tools.call import ScopeName
from memolith.tools.result_schema import result_schema
from memolith.tools.schema import NULL, Body, Effect, Schema, flatten, merge_schemas, object_schema

Function = Callable[..., Mapping[str, object]]
"""A function `(call, *, typed arguments) -> TypedDict`."""
DecoratedFunction = TypeVar("DecoratedFunction", bound=Function)
SCOPE_OF_EFFECT: dict[Effect, ScopeName] = {"reads": "read", "writes": "write", "runs": "run"}
STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)
ARGUMENT_PREFIX = "argument_"
LEFT_OUT_WHEN_EMPTY = ("redactions", "warnings", "conflicts")


COLLECTIONS = ("list", "tuple", "set", "frozenset", "dict")
"""The kinds of schemas that can stop at the first entry that does not fit."""


class Argument(BaseModel):
    """An object inside the arguments of a tool: as strict as the arguments themselves."""

    model_config = STRICT

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler, /
    ) -> CoreSchema:
        """Stop at the first wrong entry of a list: only one error is told, and each costs 1 kB."""
        schema = handler(source)
        _stop_at_first_error(schema)
        return schema


class OpenArgument(Argument):
    """The same where a client may send more than is known: that is dropped."""

    model_config = ConfigDict(extra="ignore")


def _stop_at_first_error(node: Any) -> None:
    """Change a core schema so that no collection goes on after an entry that does not fit."""
    if isinstance(node, list | tuple):
        for entry in node:
            _stop_at_first_error(entry)
    elif isinstance(node, dict):
        if node.get("type") in COLLECTIONS:
            node["fail_fast"] = True
        for value in node.values():
            _stop_at_first_error(value)


def scopes_of(effect: Effect, *, needs_read: bool = False) -> frozenset[str]:
    """The scopes that a function with this effect needs.

    With `needs_read`, it also tells what was stored before, so a key that may only write or only
    run code is refused.
    """
    scopes = {SCOPE_OF_EFFECT[effect]}
    if needs_read:
        scopes.add("read")
    return frozenset(scopes)


@dataclass(frozen=True)
class Signature:
    """One function `(call, *, typed arguments) -> TypedDict`, with its schemas and its scopes."""

    function: Function
    effect: Effect
    scopes: frozenset[str]
    """All of these are needed to call it."""
    open_arguments: bool = False
    """Whether arguments that nobody knows are dropped instead of refused."""

    @property
    def scope_choices(self) -> list[frozenset[str]]:
        """The scopes of each way to call it, of which there is one."""
        return [self.scopes]

    def scopes_for(self, arguments: Mapping[str, Any]) -> frozenset[str]:
        """The scopes that a call with these arguments needs."""
        return self.scopes

    @cached_property
    def model(self) -> type[BaseModel]:
        """The arguments as a pydantic model."""
        hints = get_type_hints(self.function, include_extras=True)
        defaults = self.function.__kwdefaults__ or {}
        fields: Schema = {}
        for name, hint in hints.items():
            if name not in ("call", "return"):
                # The alias lets an argument be called `json` or `copy`, which models have as
                # methods. One that is a word of Python, as `from`, is written `from_`.
                default = Field(defaults.get(name, ...), alias=name.removesuffix("_"))
                fields[ARGUMENT_PREFIX + name] = (hint, default)
        base = OpenArgument if self.open_arguments else Argument
        return create_model(self.function.__name__, __base__=base, **fields)

    @cached_property
    def input_schema(self) -> Schema:
        """The JSON schema of the arguments."""
        schema = self.model.model_json_schema()
        return cast(Schema, flatten(schema, schema.get("$defs", {})))

    @cached_property
    def output_schema(self) -> Schema:
        """The JSON schema of the result, from the return annotation."""
        hints = get_type_hints(self.function, include_extras=True)
        return result_schema(hints["return"])

    @cached_property
    def whole_output_schema(self) -> Schema:
        """The same, with all that lists of tools leave out to be brief."""
        hints = get_type_hints(self.function, include_extras=True)
        return result_schema(hints["return"], whole=True)

    def prepare(self, arguments: Mapping[str, Any]) -> "PreparedCall":
        """Check the arguments; `Malformed` names one that does not fit."""
        try:
            # As JSON, because strict checking of Python values would refuse the JSON forms of
            # dates, enums and tuples.
            model = self.model.model_validate_json(json.dumps(arguments))
        except ValidationError as error:
            # `from None`: the values in pydantic's own text have no place in a log.
            raise self._refusal(_most_telling(error.errors(include_url=False))) from None
        values = {
            name.removeprefix(ARGUMENT_PREFIX): getattr(model, name)
            for name in model.model_fields_set
        }
        return PreparedCall(self, values)

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        """The defaults by the names that callers know."""
        defaults = self.function.__kwdefaults__ or {}
        return {name.removesuffix("_"): default for name, default in defaults.items()}

    def without_defaults(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments without those that say what holds anyway."""
        return {
            name: value for name, value in arguments.items() if not self._is_default(name, value)
        }

    def _is_default(self, name: str, value: object) -> bool:
        if name not in self._defaults:
            return False
        default = self._defaults[name]
        # Python takes 1 for True and for 1.0, which callers can tell apart.
        return type(value) is type(default) and value == default

    def without_empty_additions(self, result: Mapping[str, object]) -> Body:
        """The result without `warnings` and `redactions` that have nothing to say."""
        required = self.output_schema.get("required", ())
        return {
            name: value
            for name, value in result.items()
            if value or name in required or name not in LEFT_OUT_WHEN_EMPTY
        }

    def _refusal(self, error: ErrorDetails) -> MemolithError:
        """What is wrong with an argument, by the name that the caller knows."""
        path: list[str] = []
        schema = self.input_schema
        for step in error["loc"]:
            below = _schema_below(schema, step)
            # Names of union members stand in pydantic's paths, but not in the arguments.
            if isinstance(below, dict):
                path.append(str(step))
                schema = below
        problem = error["msg"].removeprefix("Value error, ")
        if error["type"] == "extra_forbidden":
            path.append(str(error["loc"][-1]))
            possible = ", ".join(_only_choice(schema).get("properties", {})) or "no arguments"
            problem = f"not known here; possible: {possible}"
        field_name = ".".join(path)
        return Malformed(f"`{field_name}`: {problem}", field=field_name, value=error["input"])


class PreparedCall(NamedTuple):
    """A function with its checked arguments."""

    signature: Signature
    values: dict[str, Any]


def _most_telling(errors: list[ErrorDetails]) -> ErrorDetails:
    """The first error; for a missing argument an unknown one, which is often its misspelt name."""
    if errors[0]["type"] == "missing":
        for error in errors:
            if error["type"] == "extra_forbidden":
                return error
    return errors[0]


def _only_choice(schema: Schema) -> Schema:
    """What something that may also be null is otherwise."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != NULL]
    return choices[0] if len(choices) == 1 else schema


def _schema_below(schema: Schema, step: str | int) -> object:
    """The schema of a property or of the entries of a list."""
    schema = _only_choice(schema)
    if isinstance(step, str):
        below = schema.get("properties", {}).get(step)
    else:
        below = schema.get("items")
    return below or schema.get("additionalProperties")


@dataclass(frozen=True)
class Actions:
    """Several functions behind one tool, chosen by one argument.

    The published schema is one flat object, as the documents have it; each action has its own
    typed function and result.
    """

    name: str
    description: str
    key: str = "action"
    actions: dict[str, Signature] = field(default_factory=dict)

    def action(
        self, name: str, *, effect: Effect, needs_read: bool = False
    ) -> Callable[[DecoratedFunction], DecoratedFunction]:
        """Add a function as one of the actions; see `scopes_of` for `needs_read`."""
        scopes = scopes_of(effect, needs_read=needs_read)

        def add(function: DecoratedFunction) -> DecoratedFunction:
            self.actions[name] = Signature(function, effect, scopes)
            return function

        return add

    @property
    def scope_choices(self) -> list[frozenset[str]]:
        """The scopes of each action."""
        return [action.scopes for action in self.actions.values()]

    def scopes_for(self, arguments: Mapping[str, Any]) -> frozenset[str]:
        """The scopes of the action that the arguments name; none if there is no such action."""
        name = arguments.get(self.key)
        if isinstance(name, str) and name in self.actions:
            return self.actions[name].scopes
        # Nothing is called then: `prepare` says which actions there are.
        return frozenset()

    @cached_property
    def input_schema(self) -> Schema:
        """All arguments of all actions in one flat object."""
        choice = {"type": "string", "enum": list(self.actions), "description": "What to do."}
        flat = merge_schemas([action.input_schema for action in self.actions.values()])
        properties = {self.key: choice, **flat["properties"]}
        required = [self.key, *flat.get("required", ())]
        return {"additionalProperties": False, **object_schema(properties, required)}

    @cached_property
    def output_schema(self) -> Schema:
        """All results of all actions in one flat object."""
        return merge_schemas([action.output_schema for action in self.actions.values()])

    @cached_property
    def whole_output_schema(self) -> Schema:
        """The same, with all that lists of tools leave out to be brief."""
        return merge_schemas([action.whole_output_schema for action in self.actions.values()])

    def without_defaults(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments without those that say what holds anyway for the action."""
        name = arguments.get(self.key)
        if isinstance(name, str) and name in self.actions:
            return self.actions[name].without_defaults(arguments)
        return dict(arguments)

    def prepare(self, arguments: Mapping[str, Any]) -> PreparedCall:
        """Check the arguments against the action that they name."""
        name = arguments.get(self.key)
        if not isinstance(name, str) or name not in self.actions:
            raise Malformed(
                f"`{self.key}` must be one of: {', '.join(self.actions)}.",
                field=self.key,
                value=name,
            )
        rest = {key: value for key, value in arguments.items() if key != self.key}
        self._refuse_arguments_of_other_actions(name, rest)
        return self.actions[name].prepare(rest)

    def _refuse_arguments_of_other_actions(self, name: str, arguments: Mapping[str, Any]) -> None:
        own = self.actions[name].input_schema["properties"].keys()
        of_all = self.input_schema["properties"].keys()
        for stranger in sorted((arguments.keys() - own) & of_all):
            raise Malformed(
                f"`{stranger}` does not belong to the {self.key} `{name}`.",
                field=stranger,
                value=arguments[stranger],
            )
