"""A command is a function: its name and its docstring are those of the command, its options stand above it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

Options = argparse.Namespace
Run = Callable[[Any, Options], int | None]
"""Takes the app, or None if it is bare; gives the exit code, None for success."""
Option = tuple[tuple[str, ...], dict[str, Any]]


class Command(NamedTuple):
    """What the parser needs to know; a bare command does without an app."""

    run: Run
    options: tuple[Option, ...]
    bare: bool

    @property
    def name(self) -> str:
        """The name as it is typed: `import_` is `import`, `restore_backup` is `restore-backup`."""
        return self.run.__name__.rstrip("_").replace("_", "-")


def option(*names: str, **details: Any) -> Option:
    """An argument or flag, in the words of argparse."""
    return names, details


YES = option("--yes", action="store_true", help="do not ask")
TENANT = option("--tenant", default="local")


def into(commands: list[Command], *options: Option, bare: bool = False) -> Callable[[Run], Run]:
    """Make a command of a function and put it at the end of the list."""
    def add(run: Run) -> Run:
        commands.append(Command(run, options, bare))
        return run

    return add
