"""Objects whose methods are awaited, made from objects whose methods block."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import update_wrapper
from typing import Concatenate, Generic, ParamSpec, TypeVar

import anyio.to_thread

Blocking = TypeVar("Blocking")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Awaiting(Generic[Blocking]):
    """Stands before an object whose methods block, and runs them in threads."""

    def __init__(self, blocking: Blocking) -> None:
        self.blocking = blocking


def awaited(
    method: Callable[Concatenate[Blocking, Arguments], Result],
) -> Callable[Concatenate[Awaiting[Blocking], Arguments], Awaitable[Result]]:
    """The method, run in a thread, because the database, the model and the network block."""

    async def run(
        self: Awaiting[Blocking], /, *positional: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        return await anyio.to_thread.run_sync(lambda: method(self.blocking, *positional, **named))

    return update_wrapper(run, method)
