"""Types of arguments of the LanOnasis family, and the checks that several tools make."""

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema

from memolith.domain.callers import Caller
from memolith.domain.queries import Filter
from memolith.errors import Denied, InvalidInput
from memolith.tools.call import Call


class LeftOut(Enum):
    """Stands for an argument that was left out, where null has a meaning of its own."""

    LEFT_OUT = "left out"


LEFT_OUT = LeftOut.LEFT_OUT


def _text_or_null(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ValueError("Input should be a valid string")


def _refuse_null(value: object) -> object:
    """None stands for a number that was left out; a client that sends null made a mistake."""
    if value is None:
        raise ValueError("Input should be a valid number")
    return value


def _publish_default(default: float) -> Callable[[dict[str, Any]], None]:
    """Publishes a number that may be left out with the default that the tenant starts with."""

    def publish(schema: dict[str, Any]) -> None:
        number, _null = schema.pop("anyOf")
        schema.update(number)
        schema["default"] = default

    return publish


def _publish_no_default(schema: dict[str, Any]) -> None:
    """Hides the default, which only says that the argument was left out."""
    schema.pop("default", None)


NonEmptyText = Annotated[str, Field(min_length=1)]
MemoryId = Annotated[str, Field(description="The id of the memory.")]
UserId = Annotated[str, Field(description="Whose memories; another user's id needs an admin key.")]
TopicId = Annotated[str | None, Field(description="The id of a topic.")]
AllTags = Annotated[list[str] | None, Field(description="All of these.")]
Threshold = Annotated[
    float | None,
    Field(ge=0, le=1, json_schema_extra=_publish_default(0.7)),
    BeforeValidator(_refuse_null),
]
"""Left out, it is what the tenant has set."""
DuplicateThreshold = Annotated[
    float | None,
    Field(ge=0, le=1, json_schema_extra=_publish_default(0.9)),
    BeforeValidator(_refuse_null),
]
NewText = Annotated[
    str | LeftOut | None,
    PlainValidator(_text_or_null),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]}),
    Field(description="Null: none.", json_schema_extra=_publish_no_default),
]
"""A new text, or null to take the old one away."""


def own_memories(caller: Caller) -> Filter:
    """The memories that the caller wrote."""
    return Filter(kinds=("memory",), owner=caller.user)


def acting_for(call: Call, user_id: str | None) -> Call:
    """The call as that user.

    At this machine there is only one user. Over HTTP, only an admin may act for another one.
    """
    caller = call.caller
    if user_id is not None and user_id != caller.user and not call.local:
        if not caller.admin:
            raise Denied("Only an admin may ask for another user.", field="user_id")
        caller = Caller(caller.tenant, user_id)
    return replace(call, caller=replace(caller, admin=False))


def tenant_number(call: Call, name: str, given: float | None = None) -> float:
    """The number that was given, or what the tenant has set."""
    if given is not None:
        return given
    return call.engine.tenant_settings.number(call.caller.tenant, name)


def check_lengths(call: Call, tags: list[str] | None = None, **texts: str | None) -> None:
    """Refuse what is longer than this tenant allows."""
    limits = call.engine.tenant_settings.values(call.caller.tenant)
    max_tags = int(limits["max_tags"])
    if len(tags or ()) > max_tags:
        raise InvalidInput(f"A memory has at most {max_tags} tags.", field="tags")
    for name, text in texts.items():
        _check_length(name, text, int(limits[f"max_{name}_length"]), field=name)
        if name == "title" and text is not None and not text.strip():
            raise InvalidInput("A title cannot be blank.", field="title")
    for tag in tags or ():
        _check_length("tag", tag, int(limits["max_tag_length"]), field="tags")


def _check_length(name: str, text: str | None, max_length: int, field: str) -> None:
    if text and len(text) > max_length:
        raise InvalidInput(
            f"{name} has {len(text):,} characters; at most {max_length:,} are allowed.",
            field=field,
        )
