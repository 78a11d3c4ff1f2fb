"""Tables in text: csv and tsv, with whatever character stands between the cells."""

import csv
import re
from collections.abc import Iterable
from itertools import zip_longest

from memolith.readers.content import Content
from memolith.readers.tables import EMPTY, Cell, Grid, grids_content

DELIMITERS = "\t;,|"
MAX_SAMPLE_LINES = 50
SAMPLE_CHARACTERS = 65_536
MAX_FIELD_CHARACTERS = 300
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")


def read_tsv(text: str) -> Content | None:
    """A table whose cells are separated by tabs; None if this is none."""
    if find_delimiter(text) != "\t":
        return None
    return _read(text, "\t")


def read_csv(text: str) -> Content | None:
    """A table whose cells are separated by another character; None if this is none."""
    delimiter = find_delimiter(text)
    if delimiter is None:
        return None
    return _read(text, delimiter)


def find_delimiter(text: str) -> str | None:
    """What cuts the first lines into the most columns, all lines into equally many."""
    sample = [line for line in _first_lines(text) if line.strip()]
    if len(sample) < 2:
        return None
    best = None
    most_columns = 1
    for delimiter in DELIMITERS:
        columns = _count_columns(sample, delimiter)
        if columns > most_columns:
            best = delimiter
            most_columns = columns
    return best


def _first_lines(text: str) -> list[str]:
    lines = text[:SAMPLE_CHARACTERS].splitlines()
    if len(lines) <= MAX_SAMPLE_LINES:
        lines = text.splitlines()
    return lines[:MAX_SAMPLE_LINES]


def _count_columns(lines: list[str], delimiter: str) -> int:
    """How many short fields each line has; 0 if they do not all have the same number."""
    try:
        rows = list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        return 0
    widths = {len(row) for row in rows}
    longest = max(len(field) for row in rows for field in row)
    if len(widths) > 1 or longest >= MAX_FIELD_CHARACTERS:
        return 0
    return widths.pop()


def _read(text: str, delimiter: str) -> Content:
    rows = csv.reader(text.splitlines(), delimiter=delimiter)
    # By columns and back, which fills up the rows that are too short.
    columns = zip_longest(*rows, fillvalue=EMPTY)
    numbers = [_with_numbers(column) for column in columns]
    return grids_content([Grid("", list(zip(*numbers, strict=True)))])


def _with_numbers(column: Iterable[str]) -> list[Cell]:
    cells: list[Cell] = []
    for cell in column:
        if _NUMBER.fullmatch(cell):
            cells.append(float(cell))
        else:
            cells.append(cell)
    return cells
