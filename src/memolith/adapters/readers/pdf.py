"""Reads PDF files: text by page, tables by their ruled lines, figures by images and captions."""

from __future__ import annotations

import ctypes
import re
from typing import BinaryIO

import pypdfium2
import pypdfium2.raw as raw

from memolith.adapters.readers.content import Blocks, Content, pieces
from memolith.errors import InvalidInput

Line = tuple[float, float, float, float]
NEAR, THIN, FEW_LETTERS, MOST_LINES = 2.0, 2.5, 20, 2000
_CAPTION = re.compile(r"^\s*(?:Figure|Fig\.|Abbildung|图|圖)\s*(\d+)", re.M | re.I)


def read(file: BinaryIO) -> Content:
    """Every page; those that are only a picture are named in a warning."""
    blocks, captions, scanned, tables, images = Blocks(), set[str](), list[str](), 0, 0
    try:
        document = pypdfium2.PdfDocument(file)
    except pypdfium2.PdfiumError as error:
        locked = error.err_code == raw.FPDF_ERR_PASSWORD
        said = "The PDF needs a password; remove it first." if locked else "The PDF is damaged and cannot be opened."
        raise InvalidInput(said, field="file") from error
    for number, page in enumerate(document, 1):
        text = page.get_textpage().get_text_range().replace("\r\n", "\n").replace("\ufffe", "-")
        lines, pictures = _drawn(page)
        blocks += pieces(f"page {number}", text)
        captions.update(_CAPTION.findall(text))
        tables, images = tables + _tables(lines), images + pictures
        scanned += [str(number)] if pictures and len(text.strip()) < FEW_LETTERS else []
        page.close()
    warnings = (f"Scanned pages need OCR, so their text is not known: {', '.join(scanned)[:200]}.",) if scanned else ()
    return Content(blocks, tables, max(images, len(captions)), (), warnings)


def _drawn(page: pypdfium2.PdfPage) -> tuple[set[Line], int]:
    """The straight level and upright lines of a page, and how many pictures it has."""
    lines, pictures, box = set[Line](), 0, [ctypes.c_float() for _ in range(4)]
    for one in (raw.FPDFPage_GetObject(page, number) for number in range(raw.FPDFPage_CountObjects(page))):
        kind = raw.FPDFPageObj_GetType(one)
        pictures += kind == raw.FPDF_PAGEOBJ_IMAGE
        if kind == raw.FPDF_PAGEOBJ_PATH and len(lines) < MOST_LINES and raw.FPDFPageObj_GetBounds(one, *box):
            left, low, right, high = (side.value for side in box)
            lines |= {(left, low, right, high)} if min(right - left, high - low) <= THIN else set()
    return lines, pictures


def _tables(rest: set[Line]) -> int:
    """How many groups of lines that touch each other have at least three level and three upright ones."""
    tables = 0
    while rest:
        group = waiting = {rest.pop()}
        while waiting:
            waiting = {one for one in rest for two in waiting if all(
                one[side] <= two[side + 2] + NEAR and two[side] <= one[side + 2] + NEAR for side in (0, 1))}
            rest, group = rest - waiting, group | waiting
        upright = {round(left) for left, low, right, high in group if high - low > right - left}
        level = {round(low) for left, low, right, high in group if high - low <= right - left}
        tables += len(upright) >= 3 and len(level) >= 3
    return tables
