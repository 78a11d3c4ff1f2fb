"""Workbooks: xlsx and xls, sheet by sheet, hidden ones too."""

import re
import zipfile
from typing import BinaryIO, cast

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetVisibleEnum,
)

from memolith.errors import InvalidInput, translated
from memolith.readers.archive import count_figures
from memolith.readers.content import Content
from memolith.readers.tables import Cell, Grid, grids_content

_FORMULA_WITHOUT_VALUE = re.compile(rb"(?:</f>|<f[^<>]*/>)(?:<v\s*/>|<v></v>)?</c>")


def read_workbook(file: BinaryIO) -> Content:
    """Every table of every sheet; charts and pictures are counted in xlsx files only."""
    empty_formulas = 0
    figures = 0
    if zipfile.is_zipfile(file):
        archive = zipfile.ZipFile(file)
        empty_formulas = _count_empty_formulas(archive)
        figures = count_figures(archive)
    file.seek(0)
    with (
        translated(
            CalamineError,
            InvalidInput,
            "The workbook is damaged or no workbook at all: {error}.",
            "file",
        ),
        translated(
            PasswordError, InvalidInput, "The workbook needs a password; remove it first.", "file"
        ),
    ):
        book = CalamineWorkbook.from_filelike(file)
        grids = [_grid(book.get_sheet_by_name(name)) for name in book.sheet_names]
    return grids_content(grids)._replace(
        sheets=tuple(book.sheet_names),
        figures=figures,
        warnings=tuple(_warnings(book, empty_formulas)),
    )


def _grid(sheet: CalamineSheet) -> Grid:
    top, left = sheet.start or (0, 0)
    return Grid(sheet.name, cast("list[list[Cell]]", sheet.to_python()), top, left)


def _count_empty_formulas(archive: zipfile.ZipFile) -> int:
    """Formulas that no spreadsheet program has ever calculated."""
    count = 0
    for name in archive.namelist():
        if name.startswith("xl/worksheets/sheet"):
            count += len(_FORMULA_WITHOUT_VALUE.findall(archive.read(name)))
    return count


def _warnings(book: CalamineWorkbook, empty_formulas: int) -> list[str]:
    warnings = []
    if empty_formulas:
        warnings.append(
            f"{empty_formulas:,} formulas have no stored value, so their cells are empty here; "
            "open and save the file in a spreadsheet program."
        )
    hidden = [
        sheet.name
        for sheet in book.sheets_metadata
        if sheet.visible is not SheetVisibleEnum.Visible
    ]
    if hidden:
        warnings.append(f"Hidden sheets are searched too: {', '.join(hidden)}.")
    return warnings
