"""How commands talk to people and programs: results, notes, questions and progress."""

import json
import shutil
import sys
import textwrap
from collections.abc import Callable
from typing import Any, TextIO, TypeGuard

from memolith.doors.cli.command import Options
from memolith.doors.cli.human import human_size, human_time, is_time
from memolith.doors.cli.style import BOLD, styled, without_controls
from memolith.doors.cli.tables import cut, fitted_table
from memolith.errors import Denied

DEFAULT_COLUMNS = 100
DEFAULT_LINES = 24
MAX_TEXT_COLUMNS = 110
BAR_CELLS = 25
FIELD_GAP = 2
LONG_FIELDS_OF_HITS = ("updated_at", "superseded_by")
LENGTH_OF_DAY = len("2026-01-31")
SMALLEST_SHOWN = 0.01
SIZES_IN_BYTES = ("bytes", "sizes")
"""Fields that hold a number of bytes, or several by name."""
YES = ("y", "yes")
UNKNOWN_TOTAL_STEP = 100
"""How often a count without a known total is shown."""

Rows = list[dict[str, Any]]

_open_bars: set[str] = set()
"""The progress bars whose line is not finished yet."""


def out(text: str = "") -> None:
    """Print a line to standard output at once."""
    write_line(text, sys.stdout)


def note(text: str) -> None:
    """Print a line to standard error, where it is not taken for the result."""
    write_line(text, sys.stderr)


def write_line(text: str, stream: TextIO) -> None:
    if _open_bars:
        _open_bars.clear()
        sys.stderr.write("\n")
    # What was printed before must not come after a note.
    sys.stdout.flush()
    stream.write(text + "\n")
    stream.flush()


def print_result(options: Options, result: object) -> None:
    """Print what a command returned: one JSON document with `--json`, else text for people."""
    if options.json:
        out(json.dumps(result, ensure_ascii=False, indent=2))
    else:
        out("\n".join(text_lines(result)))


def confirm(options: Options, question: str) -> None:
    """Ask before something that cannot be taken back, unless `--yes` was given."""
    if options.yes:
        return
    note(f"{question} [y/N] ")
    if sys.stdin.readline().strip().lower() not in YES:
        raise Denied("Nothing was done, because the answer was not yes.")


def text_lines(result: object) -> list[str]:
    """A result for people: rows as a table, fields one per line; empty fields are left out."""
    columns = shutil.get_terminal_size((DEFAULT_COLUMNS, DEFAULT_LINES)).columns
    if is_rows(result):
        return table_lines(result, columns)
    if isinstance(result, dict):
        return field_lines(result, columns)
    return [str(result or "none")]


def field_lines(fields: dict[str, Any], columns: int) -> list[str]:
    lines: list[str] = []
    name_width = max((len(name) for name in fields), default=0)
    for name, value in fields.items():
        label = styled(name.ljust(name_width), BOLD)
        if is_rows(value):
            if lines and lines[-1]:
                lines.append("")
            if lines:
                # A table that comes first is what was asked for, and needs no name.
                lines.append(styled(name, BOLD))
            lines += [*table_lines(value, columns), ""]
        elif name == "text":
            lines.append(wrapped(value, columns, ""))
        elif name == "problems" and value:
            lines += [f"{label}  {cell(problem)}" for problem in value]
        elif value not in (None, "", {}):
            lines.append(f"{label}  {named_cell(name, value)}")
    if lines and not lines[-1]:
        del lines[-1]
    return lines


def table_lines(rows: Rows, columns: int) -> list[str]:
    """A table; the text of a row and the rows inside it stand indented below its line.

    Where the terminal is too narrow for a table, each row is shown field by field.
    """
    rows = [shortened(row) for row in rows]
    names = table_columns(rows)
    cells = [[named_cell(name, row.get(name)) for name in names] for row in rows]
    table = fitted_table(names, cells, columns)
    if table is None:
        return lines_by_field(rows, names, columns)
    head, rule, *row_lines = table
    lines = [line for line in (head, rule) if line]
    for row, line in zip(rows, row_lines, strict=True):
        if line:
            lines.append(line)
        lines += lines_below(row, columns)
    return lines


def lines_by_field(rows: Rows, names: list[str], columns: int) -> list[str]:
    lines: list[str] = []
    for row in rows:
        if lines:
            lines.append("")
        fields = {name: row.get(name) for name in names}
        room = columns - max(len(name) for name in names) - FIELD_GAP
        shown = {
            name: cut(named_cell(name, value), room)
            for name, value in fields.items()
            if value not in (None, "")
        }
        lines += field_lines(shown, columns)
        lines += lines_below(row, columns)
    return lines


def lines_below(row: dict[str, Any], columns: int) -> list[str]:
    return [wrapped(text, columns, "    ") for text in texts_below(row) if text.strip()]


def shortened(row: dict[str, Any]) -> dict[str, Any]:
    """A hit as it fits into a line: days instead of times; `--json` has the rest."""
    if "score" not in row or "at" not in row:
        return row
    short = {name: value for name, value in row.items() if name not in LONG_FIELDS_OF_HITS}
    for name in ("at", "superseded_at"):
        if name in short:
            short[name] = short[name][:LENGTH_OF_DAY]
    return short


def table_columns(rows: Rows) -> list[str]:
    """The names that have a plain value in some row, in the order in which they first come."""
    names = dict.fromkeys(name for row in rows for name in row)
    chosen = []
    for name in names:
        values = [row.get(name) for row in rows]
        is_empty = all(value in (None, "") for value in values)
        is_nested = any(isinstance(value, dict) or is_rows(value) for value in values)
        if name != "text" and not is_empty and not is_nested:
            chosen.append(name)
    return chosen


def texts_below(row: dict[str, Any]) -> list[str]:
    """What was said, or the steps of what happened."""
    texts = [row.get("text", "")]
    for value in row.values():
        if is_rows(value):
            texts += [cell(inner) for inner in value]
    return texts


def is_rows(value: object) -> TypeGuard[Rows]:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def named_cell(name: str, value: object) -> str:
    """A value in one line; a number of bytes as a size."""
    if name not in SIZES_IN_BYTES:
        return cell(value)
    if isinstance(value, int):
        return human_size(value)
    if isinstance(value, dict):
        return ", ".join(f"{part}: {human_size(size)}" for part, size in value.items())
    return cell(value)


def cell(value: object) -> str:
    """A value in one line."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "; ".join(cell(part) for part in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {cell(part)}" for name, part in value.items())
    if isinstance(value, float):
        return number_cell(value)
    if isinstance(value, str) and is_time(value):
        return human_time(value)
    return " ".join(without_controls(str(value)).split())


def number_cell(value: float) -> str:
    """Two digits behind the point; what would look like nothing is `<0.01`."""
    if 0 < value < SMALLEST_SHOWN:
        return f"<{SMALLEST_SHOWN}"
    return f"{value:.2f}"


def wrapped(text: str, columns: int, indent: str) -> str:
    text = without_controls(text)
    width = min(columns, MAX_TEXT_COLUMNS) - len(indent)
    filled = [textwrap.fill(line, width) for line in text.strip().splitlines()]
    return textwrap.indent("\n".join(filled), indent)


def progress(label: str) -> Callable[[int, int], None]:
    """A function that shows how far long work is; it prints only to a terminal.

    It takes what is done and the total, which is 0 if it is not known.
    """
    shown = -1

    def advance(done: int, total: int) -> None:
        nonlocal shown
        if total:
            step = min(done, total) * 100 // total
        else:
            step = done // UNKNOWN_TOTAL_STEP
        if step == shown or not sys.stderr.isatty():
            return
        shown = step
        sys.stderr.write(f"\r{label} {progress_bar(step) if total else f'{done:,}'}")
        sys.stderr.flush()
        _open_bars.add(label)

    return advance


def progress_bar(percent: int) -> str:
    filled = "#" * (percent * BAR_CELLS // 100)
    return f"[{filled:{BAR_CELLS}}] {percent:3d} %"
