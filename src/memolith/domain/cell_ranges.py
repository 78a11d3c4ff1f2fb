"""Ranges of cells as spreadsheets write them: `Sales!B2:D9`."""

from __future__ import annotations

import re
from typing import NamedTuple

_RANGE = re.compile(
    r"(?:(?P<sheet>.+)!)?"
    r"(?P<left>[A-Z]{1,3})(?P<top>[1-9]\d{0,6})(?::(?P<right>[A-Z]{1,3})(?P<bottom>[1-9]\d{0,6}))?",
    re.S,
)
LETTERS = 26


class CellRange(NamedTuple):
    """Cells of a sheet, by the first and the last column and row, which count from 1."""

    sheet: str
    left: int
    top: int
    right: int
    bottom: int

    @classmethod
    def parse(cls, text: str) -> CellRange | None:
        """The range that a text names; None if it names none."""
        match = _RANGE.fullmatch(text.strip())
        if match is None:
            return None
        left = column_number(match["left"])
        top = int(match["top"])
        return cls(
            sheet=match["sheet"] or "",
            left=left,
            top=top,
            right=column_number(match["right"]) if match["right"] else left,
            bottom=int(match["bottom"]) if match["bottom"] else top,
        )

    @property
    def columns(self) -> int:
        return self.right - self.left + 1

    @property
    def rows(self) -> int:
        return self.bottom - self.top + 1

    def overlaps(self, other: CellRange) -> bool:
        """Whether both have a cell in common."""
        return (
            self.sheet == other.sheet
            and self.left <= other.right
            and other.left <= self.right
            and self.top <= other.bottom
            and other.top <= self.bottom
        )


def column_number(letters: str) -> int:
    """The number of a column: A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = number * LETTERS + ord(letter) - ord("A") + 1
    return number


def column_letters(index: int) -> str:
    """The name of a column: 0 is A, 26 is AA."""
    letter = chr(ord("A") + index % LETTERS)
    if index < LETTERS:
        return letter
    return column_letters(index // LETTERS - 1) + letter
