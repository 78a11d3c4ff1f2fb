"""What was read in a file, laid out for people: sheets as tables, pages and sections as text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from memolith.domain.cell_ranges import CellRange, column_letters

BETWEEN_CELLS = " | "
"""What readers put between the cells of a row."""


TABLE = "Table"
"""The title of a table in a file without sheets."""


class Cell(NamedTuple):
    """A cell of a table, and whether it is cited."""

    text: str
    is_cited: bool


class Row(NamedTuple):
    """A row with its number in the sheet; the header of a table has none."""

    number: int | None
    cells: list[Cell]


@dataclass
class Section:
    """A stretch of a file: a table, or the text of one place."""

    title: str
    is_cited: bool
    paragraphs: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    """The letters above the columns of a table."""
    header: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    awaits_rows: bool = False
    """Whether it describes a table whose rows come next."""


class _Table(NamedTuple):
    """A piece that has rows of cells."""

    cells: CellRange
    header: list[str]
    lines: list[list[str]]


def sections_of(chunks: Sequence[Mapping[str, Any]], cite: str) -> list[Section]:
    """The pieces of a file as sections: what belongs together comes together."""
    cited_cells = CellRange.parse(cite) if cite else None
    sections: list[Section] = []
    before: _Table | None = None
    for chunk in chunks:
        place = str(chunk.get("locator", ""))
        text = str(chunk["text"])
        table = _table(place, text)
        if table is not None:
            if before is None or not _continues(before, table):
                _begin_table(sections, table)
            _add_rows(sections[-1], table, cited_cells)
        elif sections and before is None and sections[-1].title == place:
            sections[-1].paragraphs.append(text)
        else:
            sections.append(_text_section(place, text, cite))
        before = table
    return sections


def _text_section(place: str, text: str, cite: str) -> Section:
    section = Section(place, bool(cite) and place == cite, [text])
    cells = CellRange.parse(place)
    if cells is not None and text.startswith(f"Table {place}: "):
        section.title = cells.sheet or TABLE
        section.awaits_rows = True
    return section


def _table(place: str, text: str) -> _Table | None:
    """The rows of a piece; None if it has none, or does not have as many as its place says."""
    cells = CellRange.parse(place)
    if cells is None:
        return None
    lines = [line.split(BETWEEN_CELLS) for line in text.split("\n")]
    if any(len(line) != cells.columns for line in lines):
        return None
    if len(lines) == cells.rows + 1:
        return _Table(cells, lines[0], lines[1:])
    if len(lines) == cells.rows:
        return _Table(cells, [], lines)
    return None


def _continues(before: _Table, table: _Table) -> bool:
    """Whether the rows of a piece follow those of the one before it in the same table."""
    return before.header == table.header and before.cells._replace(top=0, bottom=0) == (
        table.cells._replace(top=0, bottom=0)
    )


def _begin_table(sections: list[Section], table: _Table) -> None:
    """Begin a table, below its description if that came just before."""
    cells = table.cells
    title = cells.sheet or TABLE
    if not sections or not sections[-1].awaits_rows or sections[-1].title != title:
        sections.append(Section(title, False))
    section = sections[-1]
    section.awaits_rows = False
    section.columns = [column_letters(number - 1) for number in range(cells.left, cells.right + 1)]
    section.header = table.header


def _add_rows(section: Section, table: _Table, cited: CellRange | None) -> None:
    for offset, line in enumerate(table.lines):
        number = table.cells.top + offset
        row = [
            Cell(text, _is_cited(table.cells, table.cells.left + column, number, cited))
            for column, text in enumerate(line)
        ]
        section.rows.append(Row(number, row))
        if any(cell.is_cited for cell in row):
            section.is_cited = True


def _is_cited(cells: CellRange, column: int, row: int, cited: CellRange | None) -> bool:
    if cited is None:
        return False
    return cited.overlaps(CellRange(cells.sheet, column, row, column, row))
