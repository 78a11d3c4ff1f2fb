"""Tables that fit the terminal: long texts are cut, but never dates, ids and numbers."""

import re
import unicodedata

from memolith.doors.cli.style import BOLD, CYAN, DIM, YELLOW, styled

GAP = "  "
MIN_TEXT_WIDTH = 10
"""A column of texts is not made narrower than this; then rows are shown field by field."""
FIRM_CELL = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?|[\d.,:%+-]*|never|yes|no|True|False")
"""Cells that say something else when they are cut: dates, numbers and the like."""
FIRM_COLUMNS = frozenset({"id", "why"})
"""Columns that are never cut: an id, and a reason, which may end with what to do."""
COLUMN_STYLES = {"id": YELLOW, "at": CYAN, "created_at": CYAN, "updated_at": CYAN, "time": CYAN}

Cells = list[list[str]]


def fitted_table(names: list[str], cells: Cells, columns: int) -> list[str] | None:
    """The lines of a table, the head and its rule first; None if it cannot be so narrow."""
    widths = fitted_widths(names, cells, columns)
    if widths is None:
        return None
    lines = [table_line(names, widths, [BOLD] * len(names))]
    lines.append(table_line(["-" * width for width in widths], widths, [DIM] * len(names)))
    styles = [COLUMN_STYLES.get(name, "") for name in names]
    lines += [table_line(row, widths, styles) for row in cells]
    return lines


def fitted_widths(names: list[str], cells: Cells, columns: int) -> list[int] | None:
    """How wide each column is; the widest texts give way first."""
    widths = []
    may_shrink = []
    for number, name in enumerate(names):
        column = [row[number] for row in cells]
        widths.append(max(display_width(text) for text in (name, *column)))
        may_shrink.append(not is_firm(name, column))
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - columns
    while excess > 0:
        shrinkable = [
            number
            for number, width in enumerate(widths)
            if may_shrink[number] and width > MIN_TEXT_WIDTH
        ]
        if not shrinkable:
            return None
        widest = max(shrinkable, key=lambda number: widths[number])
        widths[widest] -= 1
        excess -= 1
    return widths


def is_firm(name: str, column: list[str]) -> bool:
    """Whether a column loses its meaning when it is cut."""
    return name in FIRM_COLUMNS or all(FIRM_CELL.fullmatch(text) for text in column)


def table_line(cells: list[str], widths: list[int], styles: list[str]) -> str:
    parts = []
    last = len(cells) - 1
    for number, (text, width, style) in enumerate(zip(cells, widths, styles, strict=True)):
        shown = cut(text, width)
        # The blanks stay plain, and none stand at the end of a line.
        blanks = "" if number == last else " " * (width - display_width(shown))
        parts.append(styled(shown, style) + blanks)
    return GAP.join(parts).rstrip()


def display_width(text: str) -> int:
    """How many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    width = 0
    for character in text:
        if unicodedata.combining(character):
            continue
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width


def cut(text: str, width: int) -> str:
    """The beginning of a text that fits; `…` tells that there is more."""
    if display_width(text) <= width:
        return text
    kept = ""
    room = width - 1
    for character in text:
        room -= display_width(character)
        if room < 0:
            break
        kept += character
    return kept.rstrip() + "…"
