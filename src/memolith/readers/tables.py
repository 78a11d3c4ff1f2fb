"""Tables of cells in words and in rows, for workbooks and for delimited text."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from itertools import groupby, islice
from typing import NamedTuple, Self

from memolith.domain.cell_ranges import column_letters
from memolith.domain.chunking import TARGET_TOKENS, passage_size
from memolith.readers.content import Content, Piece

Cell = str | float | bool | date | time | timedelta
EMPTY = ""

MAX_COLUMNS_DESCRIBED = 60
MAX_VALUES_LISTED = 8
MAX_CELL_CHARACTERS = 2000
MAX_SUMMARY_CHARACTERS = 1500
COLUMN_TYPES: dict[type, str] = {
    float: "number",
    date: "date",
    datetime: "date",
    time: "time",
    timedelta: "duration",
}
"""The types of columns that are described by their range."""


class Grid(NamedTuple):
    """Rows of cells, the sheet they are of, and the row and column at which they start."""

    sheet: str
    rows: Sequence[Sequence[Cell]]
    top: int = 0
    left: int = 0

    @property
    def is_table(self) -> bool:
        return len(self.rows) > 1 and len(self.rows[0]) > 1

    @property
    def header_rows(self) -> int:
        """1 if the first row names the columns, else 0."""
        if self.is_table and all(isinstance(cell, str) for cell in self.rows[0]):
            return 1
        return 0

    def place(self, start: int, end: int) -> str:
        """The range of the rows from `start` up to `end`, as spreadsheets write it."""
        first_column = column_letters(self.left)
        last_column = column_letters(self.left + len(self.rows[0]) - 1)
        cells = f"{first_column}{self.top + start + 1}:{last_column}{self.top + end}"
        if self.sheet:
            return f"{self.sheet}!{cells}"
        return cells

    def split(self) -> Iterator[Self]:
        """The parts between empty rows, without the empty columns around them."""
        numbers = range(len(self.rows))
        for filled, group in groupby(numbers, lambda number: _has_value(self.rows[number])):
            if filled:
                part = list(group)
                rows = [self.rows[number] for number in part]
                yield self._replace(rows=rows, top=self.top + part[0])._trimmed()

    def row_pieces(self) -> list[Piece]:
        """As many rows as fit one passage each time, always below the header."""
        pieces = []
        lines = [" | ".join(map(format_cell, row)) for row in self.rows]
        header = lines[0] + "\n" if self.header_rows else ""
        room = TARGET_TOKENS - passage_size(header)
        start = self.header_rows
        weight = 0
        for end in range(start, len(lines)):
            size = passage_size(lines[end])
            if end > start and weight + size > room:
                pieces.append(self._rows_piece(header, lines, start, end))
                start = end
                weight = 0
            weight += size
        if start < len(lines):
            pieces.append(self._rows_piece(header, lines, start, len(lines)))
        return pieces

    def description(self) -> Piece:
        """The columns of the table with their types and ranges."""
        header_rows = self.header_rows
        columns = []
        for index, column in enumerate(islice(zip(*self.rows, strict=True), MAX_COLUMNS_DESCRIBED)):
            name = column_letters(self.left + index)
            if header_rows:
                name = format_cell(column[0])
            columns.append(f"{name} ({describe_column(column[header_rows:])})")
        place = self.place(0, len(self.rows))
        count = len(self.rows) - header_rows
        text = f"Table {place}: {count:,} rows; columns {', '.join(columns)}."
        return Piece(place, text)

    def _rows_piece(self, header: str, lines: list[str], start: int, end: int) -> Piece:
        return Piece(self.place(start, end), header + "\n".join(lines[start:end]))

    def _trimmed(self) -> Self:
        columns = zip(*self.rows, strict=True)
        filled = [index for index, column in enumerate(columns) if _has_value(column)]
        first = filled[0]
        last = filled[-1]
        rows = [row[first : last + 1] for row in self.rows]
        return self._replace(rows=rows, left=self.left + first)


def grids_content(grids: Sequence[Grid]) -> Content:
    """The tables of all grids, and a summary that describes them."""
    pieces: list[Piece] = []
    descriptions: list[str] = []
    for grid in grids:
        for part in grid.split():
            if part.is_table:
                description = part.description()
                descriptions.append(description.text)
                pieces.append(description)
            pieces += part.row_pieces()
    summary = "\n".join(descriptions)
    if not summary:
        summary = " ".join(piece.text for piece in pieces)
    return Content(pieces, tables=len(descriptions), summary=summary[:MAX_SUMMARY_CHARACTERS])


def describe_column(cells: Sequence[Cell]) -> str:
    """The type of a column, and its range or its few values."""
    values = [cell for cell in cells if cell != EMPTY]
    types = {type(value) for value in values}
    if len(types) == 1:
        name = COLUMN_TYPES.get(types.pop())
        if name is not None:
            return f"{name} from {format_cell(min(values))} to {format_cell(max(values))}"
    texts = dict.fromkeys(map(format_cell, values))
    if not texts:
        return "empty"
    if len(texts) > MAX_VALUES_LISTED:
        return f"text, {len(texts):,} different values"
    return "text: " + ", ".join(texts)


def format_cell(cell: Cell) -> str:
    """A cell as people read it, in one line."""
    if type(cell) is float:
        return f"{cell:.15g}"
    if isinstance(cell, str):
        return " ".join(cell[:MAX_CELL_CHARACTERS].replace("\0", "").split())
    return str(cell)


def _has_value(cells: Sequence[Cell]) -> bool:
    return any(cell != EMPTY for cell in cells)
