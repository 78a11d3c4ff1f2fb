"""Reads workbooks and tables of text: blocks of rows under their header, and what each column holds."""

import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from itertools import groupby
from typing import BinaryIO, NamedTuple, Self, cast

from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetVisibleEnum

from memolith.engine.events import TARGET, weigh
from memolith.errors import InvalidInput

Blocks = list[tuple[str, str]]
Cell = str | float | bool | date | time | timedelta
FEW_VALUES, MOST_COLUMNS, LONGEST_SUMMARY, LONGEST_CELL = 8, 60, 1500, 2000
RANGED: dict[type, str] = {float: "number", date: "date", datetime: "date", time: "time", timedelta: "duration"}
_NO_VALUE = re.compile(rb"(?:</f>|<f[^>]*/>)(?:<v\s*/>|<v></v>)?</c>")
_DRAWN = re.compile(r"xl/(?:charts/chart|media/)[^/]*$")


class Content(NamedTuple):
    """What a file holds: texts, each with its place before it, counts, what the reader noticed, and a summary."""

    blocks: Blocks
    tables: int = 0
    figures: int = 0
    sheets: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    summary: str = ""


class Grid(NamedTuple):
    """Rows of cells, the sheet they are of, and the row and column they start at."""

    sheet: str
    rows: Sequence[Sequence[Cell]]
    top: int = 0
    left: int = 0

    def place(self, start: int, end: int) -> str:
        """The range of some of the rows, as a spreadsheet names it."""
        first, last = letters(self.left), letters(self.left + len(self.rows[0]) - 1)
        return f"{self.sheet}{'!' * bool(self.sheet)}{first}{self.top + start + 1}:{last}{self.top + end}"

    def tables(self) -> Iterator[Self]:
        """The parts between empty rows, without empty columns around them."""
        for filled, group in groupby(range(len(self.rows)), lambda n: any(cell != "" for cell in self.rows[n])):
            if filled:
                rows = [self.rows[first := next(group)], *(self.rows[n] for n in group)]
                full = [n for n, column in enumerate(zip(*rows, strict=True)) if any(cell != "" for cell in column)]
                kept = [row[full[0]:full[-1] + 1] for row in rows]
                yield self._replace(rows=kept, top=self.top + first, left=self.left + full[0])

    def told(self) -> Blocks:
        """The table in words if it is one; then its rows, as many as fit one passage, each time under the header."""
        is_table = len(self.rows) > 1 < len(self.rows[0])
        headed = int(is_table and all(isinstance(cell, str) for cell in self.rows[0]))
        columns = [f"{shown(column[0]) if headed else letters(self.left + n)} ({described(column[headed:])})"
                   for n, column in enumerate(zip(*self.rows, strict=True)) if is_table and n < MOST_COLUMNS]
        place = self.place(0, len(self.rows))
        words = f"Table {place}: {len(self.rows) - headed:,} rows; columns {', '.join(columns)}."
        blocks = [(place, words)] if is_table else []
        lines = [" | ".join(map(shown, row)) for row in self.rows]
        head, start, weight = (lines[0] + "\n") * headed, headed, 0
        for end, size in enumerate([*map(weigh, lines[headed:]), TARGET], headed):
            if end > start and weight + size > TARGET - weigh(head):
                blocks.append((self.place(start, end), head + "\n".join(lines[start:end])))
                start, weight = end, 0
            weight += size
        return blocks


def read(file: BinaryIO) -> Content:
    """A workbook of either format, sheet by sheet, hidden ones too; charts and pictures are counted by their parts."""
    archive = zipfile.ZipFile(file) if zipfile.is_zipfile(file) else None
    names = archive.namelist() if archive else []
    empty = sum(len(_NO_VALUE.findall(archive.read(name))) for name in names
                if archive and name.startswith("xl/worksheets/sheet"))
    file.seek(0)
    try:
        book = CalamineWorkbook.from_filelike(file)
        sheets = [book.get_sheet_by_name(name) for name in book.sheet_names]
        grids = [Grid(one.name, cast("list[list[Cell]]", one.to_python()), *(one.start or ())) for one in sheets]
    except PasswordError as error:
        raise InvalidInput("The workbook needs a password; remove it first.", field="file") from error
    except CalamineError as error:
        raise InvalidInput(f"The workbook is damaged or no workbook at all: {error}.", field="file") from error
    hidden = ", ".join(one.name for one in book.sheets_metadata if one.visible is not SheetVisibleEnum.Visible)
    warnings = {f"{empty:,} formulas have no stored value, so their cells are empty here; open and save the file in a "
                "spreadsheet program.": empty, f"Hidden sheets are searched too: {hidden}.": hidden}
    return join(grids)._replace(sheets=tuple(book.sheet_names), figures=sum(bool(_DRAWN.match(name)) for name in names),
                                warnings=tuple(text for text, reason in warnings.items() if reason))


def join(grids: Sequence[Grid]) -> Content:
    blocks = [block for grid in grids for table in grid.tables() for block in table.told()]
    words = [text for place, text in blocks if text.startswith(f"Table {place}: ")]
    summary = "\n".join(words) or " ".join(text for _, text in blocks)
    return Content(blocks, len(words), summary=summary[:LONGEST_SUMMARY])


def described(cells: Sequence[Cell]) -> str:
    """The type of a column, and its range or its few values."""
    values = [cell for cell in cells if cell != ""]
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= RANGED.keys():
        return f"{RANGED[kinds.pop()]} from {shown(min(values))} to {shown(max(values))}"
    texts = dict.fromkeys(map(shown, values))
    few = "text: " + ", ".join(texts) if texts else "empty"
    return few if len(texts) <= FEW_VALUES else f"text, {len(texts):,} different values"


def shown(cell: Cell) -> str:
    """A cell as people read it, in one line."""
    if type(cell) is float:
        return f"{cell:.15g}"
    return " ".join(cell[:LONGEST_CELL].replace("\0", "").split()) if isinstance(cell, str) else str(cell)


def letters(column: int) -> str:
    """The name of a column: 0 is A, 26 is AA."""
    return (letters(column // 26 - 1) if column >= 26 else "") + chr(65 + column % 26)
