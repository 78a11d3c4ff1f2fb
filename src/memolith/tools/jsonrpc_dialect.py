"""Dialects that word errors as JSON-RPC codes, as LanOnasis and Subcog document them."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from memolith.errors import AlreadyExists, MemolithError
from memolith.tools.call import Call
from memolith.tools.dialect import Dialect, JsonRpcError, same_call
from memolith.tools.schema import Body


class ErrorCode(NamedTuple):
    """A documented JSON-RPC error code and its meaning."""

    code: int
    details: str


INTERNAL_ERROR = ErrorCode(-32603, "Internal Error")


def jsonrpc_dialect(
    codes: Mapping[type[MemolithError], ErrorCode],
    invalid: ErrorCode,
    enter: Callable[[Call], Call] = same_call,
) -> Dialect:
    """A dialect of JSON-RPC codes: `codes` by error class, `invalid` for other bad input."""

    def error_code(error: MemolithError) -> ErrorCode:
        for error_class, code in codes.items():
            if isinstance(error, error_class):
                return code
        return INTERNAL_ERROR if error.status >= 500 else invalid

    def jsonrpc(error: MemolithError) -> JsonRpcError:
        code, details = error_code(error)
        data: Body = {"details": details}
        # Inside the engine, a name that must be unique is a title.
        field = "name" if isinstance(error, AlreadyExists) else error.field
        if field:
            data["field"] = field
        return code, error.message, data

    def failure(error: MemolithError) -> Body:
        code, message, data = jsonrpc(error)
        return {"code": code, "message": message, "data": data}

    return Dialect(failure=failure, jsonrpc=jsonrpc, enter=enter)
