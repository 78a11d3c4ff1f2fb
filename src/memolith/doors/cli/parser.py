"""A command is a function: its name and its docstring are those of the command, its options stand above it."""

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO, TypeGuard

from memolith.bootstrap import App
from memolith.errors import Denied

Options = argparse.Namespace
Run = Callable[[App, Options], object]
"""Takes the app, which is opened when it is first used; gives what there is to tell, None for nothing."""
Option = tuple[tuple[str, ...], dict[str, Any]]
Commands = dict[Run, tuple[Option, ...]]
_open_bars: set[str] = set()


def option(*names: str, **details: Any) -> Option:
    return names, details


DATA = option("--data", metavar="DIR", type=Path, help="the data folder (or MEMOLITH_DATA)")
REPO = option(
    "--repo", metavar="DIR", help="the git repository that captures belong to (or MEMOLITH_REPO)"
)
JSON = option("--json", action="store_true", help="print JSON")
YES = option("--yes", action="store_true", help="do not ask")


def into(commands: Commands, *options: Option) -> Callable[[Run], Run]:
    """Make a command of a function and put it at the end."""

    def add(run: Run) -> Run:
        commands[run] = options
        return run

    return add


def out(text: str = "", stream: TextIO | None = None) -> None:
    """A line at once, after all that belongs before it; to standard output if nothing else is said."""
    if _open_bars:
        _open_bars.clear()
        sys.stderr.write("\n")
    sys.stdout.flush()
    (stream or sys.stdout).write(text + "\n")
    (stream or sys.stdout).flush()


def note(text: str) -> None:
    out(text, sys.stderr)


def tell(options: Options, told: object) -> None:
    """Print what a command gave: one JSON document for programs, or words for people."""
    out(json.dumps(told, ensure_ascii=False, indent=2) if options.json else "\n".join(words(told)))


def confirm(options: Options, question: str) -> None:
    """Go on only if the person wants it, or has said so beforehand."""
    if not options.yes:
        note(f"{question} Type yes: ")
        if sys.stdin.readline().strip().lower() != "yes":
            raise Denied("Nothing was done, because the answer was not yes.")


def words(told: object) -> list[str]:
    """Fields one per line, rows as a table, texts wrapped to the screen; what is empty is left out."""
    lines, room = list[str](), shutil.get_terminal_size((100, 24)).columns
    if has_rows(told):
        names = dict.fromkeys(name for row in told for name in row if name != "text")
        flat = [
            name
            for name in names
            if any(row.get(name) not in (None, "") for row in told)
            and not any(isinstance(row.get(name), dict) or has_rows(row.get(name)) for row in told)
        ]
        cells = [flat, *([cell(row.get(name)) for name in flat] for row in told)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        cells.insert(1, ["-" * width for width in widths])
        for row, each in zip([{}, {}, *told], cells, strict=True):
            line = "  ".join(map(str.ljust, each, widths)).rstrip()
            # What somebody said, or what happened, below a line about it.
            below = [
                row.get("text", ""),
                *(cell(one) for value in row.values() if has_rows(value) for one in value),
            ]
            lines += [line if len(line) <= room else line[: room - 1] + "…"] if line else []
            lines += [wrapped(text, room, "    ") for text in below if text.strip()]
    elif isinstance(told, dict):
        for name, value in told.items():
            if has_rows(value):
                lines += ["", *words(value), ""]
            elif name == "text":
                lines.append(wrapped(value, room, ""))
            elif value not in (None, "", {}):
                each = (name == "problems" and value) or [value]
                lines += [f"{name.ljust(max(map(len, told)))}  {cell(one)}" for one in each]
    else:
        lines.append(str(told or "none"))
    return lines


def has_rows(value: object) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def cell(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(map(cell, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {cell(inner)}" for name, inner in value.items())
    return (
        f"{value:.2f}"
        if isinstance(value, float)
        else " ".join(str("" if value is None else value).split())
    )


def wrapped(text: str, room: int, indent: str) -> str:
    filled = (
        textwrap.fill(line, min(room, 110) - len(indent)) for line in text.strip().splitlines()
    )
    return textwrap.indent("\n".join(filled), indent)


def progress(label: str) -> Callable[[int, int], None]:
    """A bar on the terminal that tells how far long work is; silent where nobody watches."""
    shown = -1

    def advance(done: int, total: int) -> None:
        nonlocal shown
        percent = min(done, total) * 100 // total if total else done // 100
        if percent != shown and sys.stderr.isatty():
            shown = percent
            bar = f"[{'#' * (percent // 4):25}] {percent:3d} %" if total else f"{done:,}"
            sys.stderr.write(f"\r{label} {bar}")
            sys.stderr.flush()
            _open_bars.add(label)

    return advance
