"""Values that a test cannot go on without: checked, and then with a type that says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar, cast

from mcp import types

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.errors import MemolithError
from memolith.storage.sqlite.store import SqliteStore
from memolith.tools.call import Call
from memolith.tools.registry import Outcome

T = TypeVar("T")


def present(value: T | None) -> T:
    """The value, which is not None."""
    assert value is not None
    return value


def body_of(outcome: Outcome) -> dict[str, Any]:
    """What a call answered, well or not."""
    answer: dict[str, Any] = dict(outcome.body)
    return answer


def call_with_key(
    app: App,
    tool: str,
    arguments: dict[str, Any],
    key: str | None,
    caller: Caller = Caller(),
) -> dict[str, Any]:
    """What a tool answers under an idempotency key; its error is raised."""
    call = Call(caller, app.engine, idempotency_key=key)
    outcome = app.registry.run(tool, arguments, call)
    if outcome.error:
        raise outcome.error
    return body_of(outcome)


def erased_wholly(app: App, id: str, caller: Caller = Caller()) -> bool:
    """Erase an item; whether every byte of it was overwritten."""
    told: list[bool] = []
    app.engine.writing.erase(caller, id, tell=told.append)
    return told == [True]


def error_of(outcome: Outcome) -> MemolithError:
    """The error of a call that was refused."""
    assert not outcome.ok, outcome.body
    return present(outcome.error)


def sqlite_file(app: App) -> Path:
    """The database file of an app that runs on SQLite."""
    assert isinstance(app.store, SqliteStore)
    return app.store.file


def text_of(content: types.ContentBlock) -> str:
    """The text of one part of an MCP answer."""
    assert isinstance(content, types.TextContent)
    return content.text


def keyed(key: str | int) -> types.RequestParamsMeta:
    """The meta of a call that names its idempotency key, right or wrong."""
    return cast(types.RequestParamsMeta, {"memolith/idempotency-key": key})


def answered(result: types.CallToolResult) -> str:
    """The text of the answer of an MCP tool call."""
    return text_of(result.content[0])


def resource_text(result: types.ReadResourceResult) -> str:
    """The text of an MCP resource."""
    contents = result.contents[0]
    assert isinstance(contents, types.TextResourceContents)
    return contents.text
