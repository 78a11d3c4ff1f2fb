"""How a family words its tools, results and errors."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from memolith.errors import MemolithError
from memolith.tools.call import Call
from memolith.tools.schema import Body, Schema

JsonRpcError = tuple[int, str, Any]
"""The code, message and data of a JSON-RPC error."""


def unchanged(body: Body) -> Body:
    """The result as the tool returned it."""
    return body


def plain_failure(error: MemolithError) -> Body:
    """The error body of families that document none: type, message and the field at fault."""
    body: Body = {"error": error.type, "message": error.message}
    if error.field is not None:
        body["field"] = error.field
    return body


def no_jsonrpc_error(error: MemolithError) -> JsonRpcError | None:
    return None


def same_schema(schema: Schema) -> Schema:
    return schema


def same_call(call: Call) -> Call:
    return call


def compact_json(body: Body) -> str:
    """The body as JSON, without blanks."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def no_title(name: str) -> str | None:
    return None


class Dialect(NamedTuple):
    """How a family words its tools, results and errors.

    The last few are for families whose list of tools is that of another program, word for word.
    """

    success: Callable[[Body], Body] = unchanged
    failure: Callable[[MemolithError], Body] = plain_failure
    jsonrpc: Callable[[MemolithError], JsonRpcError | None] = no_jsonrpc_error
    """The documented JSON-RPC error. It is sent as such only on the family's own path."""
    schema: Callable[[Schema], Schema] = same_schema
    """The schema of `success(result)`, made from the schema of the result."""
    enter: Callable[[Call], Call] = same_call
    """The call as the tools of the family take it."""
    text: Callable[[Body], str] = compact_json
    """What a model reads of a body; programs get the body itself."""
    arguments: Callable[[Schema], Schema] = same_schema
    """The published schema of arguments, made from that of the function."""
    open_arguments: bool = False
    """Whether arguments that nobody knows are dropped instead of refused."""
    title: Callable[[str], str | None] = no_title
    """The title of a tool, by its name."""
    every_hint: bool = False
    """Whether tools are listed with every hint, also with those that have the default value."""


PLAIN = Dialect()
