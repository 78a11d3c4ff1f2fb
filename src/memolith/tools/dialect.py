"""How a family words its results and errors."""

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


class Dialect(NamedTuple):
    """How a family words its results and errors."""

    success: Callable[[Body], Body] = unchanged
    failure: Callable[[MemolithError], Body] = plain_failure
    jsonrpc: Callable[[MemolithError], JsonRpcError | None] = no_jsonrpc_error
    """The documented JSON-RPC error. It is sent as such only on the family's own path."""
    schema: Callable[[Schema], Schema] = same_schema
    """The schema of `success(result)`, made from the schema of the result."""
    enter: Callable[[Call], Call] = same_call
    """The call as the tools of the family take it."""


PLAIN = Dialect()
