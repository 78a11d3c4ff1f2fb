"""Words, tables and progress for people; JSON for programs."""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

Progress = Callable[[int, int], None]


_open_bars: list[TextIO] = []


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
    while _open_bars:
        stream = _open_bars.pop()
        stream.write("\n")
        stream.flush()


def confirmed(options: argparse.Namespace, question: str) -> bool:
    """Whether the person wants it, or has said so beforehand."""
    if not options.yes:
        note(f"{question} Type yes: ")
    return options.yes or sys.stdin.readline().strip().lower() == "yes"


def as_json(value: object) -> None:
    """One JSON document."""
    out(json.dumps(value, ensure_ascii=False, indent=2))


def width(text: str) -> int:
    """How many columns a terminal gives the text."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def fit(text: str, room: int) -> str:
    """The text in one line of at most that width."""
    line = " ".join(text.split())
    if width(line) <= room:
        return line
    kept = ""
    for c in line:
        if width(kept + c) > room - 1:
            break
        kept += c
    return kept + "…"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], last_room: int | None = None) -> None:
    """Columns as wide as they need; the last one gets what is left of the screen."""
    widths = [max(width(row[n]) for row in [head, *rows]) for n in range(len(head))]
    left = shutil.get_terminal_size((100, 24)).columns - sum(widths[:-1]) - 2 * (len(head) - 1)
    widths[-1] = last_room or max(20, min(widths[-1], left))
    for row in [head, ["-" * w for w in widths], *rows]:
        cells = [fit(cell, w) for cell, w in zip(row, widths, strict=True)]
        out("  ".join(cell + " " * (w - width(cell)) for cell, w in zip(cells, widths, strict=True)).rstrip())


def paragraph(text: str, indent: str = "  ") -> None:
    """Text wrapped to the screen."""
    room = min(shutil.get_terminal_size((100, 24)).columns, 110)
    for line in text.splitlines() or [""]:
        out(textwrap.fill(line, room, initial_indent=indent, subsequent_indent=indent) if line.strip() else "")


def pairs(values: Mapping[str, object]) -> None:
    """Names and values, one per line."""
    room = max(width(name) for name in values)
    for name, value in values.items():
        out(f"{name.ljust(room)}  {value}")


def progress(label: str, stream: TextIO | None = None) -> Progress:
    """A bar on the terminal that tells how far long work is; silent where nobody watches."""
    target = stream or sys.stderr
    shown = -1

    def tell(done: int, total: int) -> None:
        nonlocal shown
        if not target.isatty():
            return
        percent = min(done, total) * 100 // total if total else done // 100
        if percent != shown:
            shown = percent
            bar = f"[{'#' * (percent // 4):25}] {percent:3d} %" if total else f"{done:,}"
            target.write(f"\r{label} {bar}")
            target.flush()
            if target not in _open_bars:
                _open_bars.append(target)

    return tell
