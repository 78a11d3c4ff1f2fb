"""A command is a function: its name and its docstring are those of the command, its options stand above it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memolith.app import App

Options = argparse.Namespace
Run = Callable[["App", Options], int | None]
"""Takes the app, which is opened when it is first used; gives the exit code, None for success."""
Option = tuple[tuple[str, ...], dict[str, Any]]
Commands = dict[Run, tuple[Option, ...]]


def option(*names: str, **details: Any) -> Option:
    """An argument or flag, in the words of argparse."""
    return names, details


YES = option("--yes", action="store_true", help="do not ask")
TENANT = option("--tenant", default="local")


def into(commands: Commands, *options: Option) -> Callable[[Run], Run]:
    """Make a command of a function and put it at the end."""
    def add(run: Run) -> Run:
        commands[run] = options
        return run

    return add
