"""A command is a function: its name and its docstring are those of the command, its options stand above it.

It speaks in words, tables and progress for people, and in JSON for programs.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memolith.engine.model import Block, Passage
from memolith.errors import Denied

if TYPE_CHECKING:
    from memolith.app import App

Options = argparse.Namespace
Run = Callable[["App", Options], int | None]
"""Takes the app, which is opened when it is first used; gives the exit code, None for success."""
Option = tuple[tuple[str, ...], dict[str, Any]]
Commands = dict[Run, tuple[Option, ...]]
_open_bars: set[str] = set()


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


def start_logging(level: str) -> None:
    """Log to standard error from that level on."""
    # Only our own words: libraries that log whole answers would write people's memories into the log.
    logging.basicConfig(stream=sys.stderr, level="WARNING", format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("memolith").setLevel(level.upper())


def out(text: str = "") -> None:
    """A line to standard output, as UTF-8 whatever the console thinks."""
    end_bars()
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """A line to standard error, after all that belongs before it."""
    end_bars()
    sys.stdout.flush()
    sys.stderr.write(text + "\n")


def end_bars() -> None:
    """Let what comes next start on its own line."""
    if _open_bars:
        _open_bars.clear()
        sys.stderr.write("\n")


def tell(options: Options, data: object, *lines: str, aside: str = "") -> None:
    """One JSON document for programs; for people these lines, and something aside on standard error."""
    out(json.dumps(data, ensure_ascii=False, indent=2) if options.json else "\n".join(lines))
    if aside and not options.json:
        note(aside)


def confirm(options: Options, question: str) -> None:
    """Go on only if the person wants it, or has said so beforehand."""
    if not options.yes:
        note(f"{question} Type yes: ")
        if sys.stdin.readline().strip().lower() != "yes":
            raise Denied("Nothing was done, because the answer was not yes.")


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Columns as wide as they need, each row on one line of the screen."""
    cells = [[" ".join(str(cell).split()) for cell in row] for row in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
    room = shutil.get_terminal_size((100, 24)).columns
    return [line if len(line) <= room else line[:room - 1] + "…" for line in lines]


def tell_rows(options: Options, head: Sequence[str], rows: Sequence[Sequence[object]], *more: str) -> None:
    """The same rows as a table for people and as objects for programs."""
    tell(options, [dict(zip(head, row, strict=True)) for row in rows], *table(head, rows), *more)


def prose(said: Block | Passage, indent: str = "  ") -> list[str]:
    """What somebody said or wrote, wrapped to the screen."""
    room = min(shutil.get_terminal_size((100, 24)).columns, 110)
    text = (f"{said.speaker}: " if said.speaker else "") + said.text.strip()
    return [textwrap.fill(line, room, initial_indent=indent, subsequent_indent=indent) if line.strip() else ""
            for line in text.splitlines()]


def pairs(values: Mapping[str, object]) -> list[str]:
    """Names and values, one per line."""
    room = max(map(len, values))
    return [f"{name.ljust(room)}  {', '.join(map(str, value)) if isinstance(value, list) else value}"
            for name, value in values.items()]


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
