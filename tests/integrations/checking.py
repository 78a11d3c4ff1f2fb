"""Runs the checks of a file in the environment of a framework, where pytest is not installed."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from memolith import Memory

Error = TypeVar("Error", bound=Exception)


def run_checks(names: Mapping[str, Any]) -> None:
    """Call each function whose name begins with `check_`, and print its name when it passed."""
    checks: dict[str, Callable[[Memory], Any]] = {
        name: value for name, value in names.items() if name.startswith("check_")
    }
    with open_memory() as memory:
        for name, check in checks.items():
            if inspect.iscoroutinefunction(check):
                asyncio.run(check(memory))
            else:
                check(memory)
            print(name, flush=True)


def open_memory() -> Memory:
    """The memory that the test chose: a folder, or a server."""
    if "CHECK_URL" in os.environ:
        return Memory(url=os.environ["CHECK_URL"], key=os.environ["CHECK_KEY"])
    return Memory(os.environ["CHECK_FOLDER"], embedder="none")


def refused(kind: type[Error], call: Callable[[], Any]) -> Error:
    """The error of this kind that a call raises; anything else is a failure."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")
