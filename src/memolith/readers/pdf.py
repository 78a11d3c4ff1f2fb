"""PDF files: text by page, tables by their ruled lines, figures by pictures and captions."""

import ctypes
import re
from typing import BinaryIO, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from memolith.errors import InvalidInput
from memolith.readers.content import Content, Piece, cut_text

MAX_LINES_PER_PAGE = 2000
MAX_LINE_WIDTH = 2.5
"""A shape that is thinner, in points, is a line."""

TOUCHING = 2.0
"""Lines that are this near, in points, touch each other."""

MIN_LINES_OF_TABLE = 3
"""A table has at least this many level and this many upright lines."""

MIN_CHARACTERS_OF_TEXT = 20
"""A page with a picture and less text is a scan."""

MAX_SCANNED_CHARACTERS = 200
_CAPTION = re.compile(r"^[^\S\n]*(?:Figure|Fig\.|Abbildung|图|圖)\s*(\d+)", re.M | re.I)


class Box(NamedTuple):
    """Where a straight line is on its page, in points from the lower left corner."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def is_upright(self) -> bool:
        return self.top - self.bottom > self.right - self.left

    def touches(self, other: "Box") -> bool:
        return (
            self.left <= other.right + TOUCHING
            and other.left <= self.right + TOUCHING
            and self.bottom <= other.top + TOUCHING
            and other.bottom <= self.top + TOUCHING
        )


class Drawing(NamedTuple):
    """What is drawn on a page: straight lines, and the number of pictures."""

    lines: set[Box]
    pictures: int


def read_pdf(file: BinaryIO) -> Content:
    """Scanned pages have no text here; a warning names them."""
    pieces: list[Piece] = []
    captions: set[str] = set()
    scanned_pages: list[str] = []
    tables = 0
    pictures = 0
    for number, page in enumerate(_open(file), 1):
        text = _page_text(page)
        drawing = _drawing(page)
        page.close()
        pieces += cut_text(f"page {number}", text)
        captions.update(_CAPTION.findall(text))
        tables += count_tables(drawing.lines)
        pictures += drawing.pictures
        if drawing.pictures and len(text.strip()) < MIN_CHARACTERS_OF_TEXT:
            scanned_pages.append(str(number))
    warnings: tuple[str, ...] = ()
    if scanned_pages:
        listed = ", ".join(scanned_pages)[:MAX_SCANNED_CHARACTERS]
        warnings = (f"Scanned pages need OCR, so their text is not known: {listed}.",)
    figures = max(pictures, len(captions))
    summary = "" if pieces else _summary_of_scan(len(scanned_pages))
    return Content(pieces, tables, figures, warnings=warnings, summary=summary)


def _summary_of_scan(pages: int) -> str:
    """There are no sentences to make a summary of, so it says what the file is."""
    if pages == 0:
        return ""
    counted = "1 page" if pages == 1 else f"{pages:,} pages"
    return f"A scan of {counted} without text; what it says is known only after OCR."


def _open(file: BinaryIO) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(file)
    except pypdfium2.PdfiumError as error:
        message = "The PDF is damaged and cannot be opened."
        if error.err_code == pdfium.FPDF_ERR_PASSWORD:
            message = "The PDF needs a password; remove it first."
        raise InvalidInput(message, field="file") from error


def _page_text(page: pypdfium2.PdfPage) -> str:
    text: str = page.get_textpage().get_text_range()
    # PDFium marks a hyphen at the end of a line with U+FFFE.
    return text.replace("\r\n", "\n").replace("\ufffe", "-")


def _drawing(page: pypdfium2.PdfPage) -> Drawing:
    lines: set[Box] = set()
    pictures = 0
    sides = [ctypes.c_float() for _ in range(4)]
    for index in range(pdfium.FPDFPage_CountObjects(page)):
        shape = pdfium.FPDFPage_GetObject(page, index)
        kind = pdfium.FPDFPageObj_GetType(shape)
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            pictures += 1
        if kind != pdfium.FPDF_PAGEOBJ_PATH or len(lines) >= MAX_LINES_PER_PAGE:
            continue
        if pdfium.FPDFPageObj_GetBounds(shape, *sides):
            box = Box(*(side.value for side in sides))
            if min(box.right - box.left, box.top - box.bottom) <= MAX_LINE_WIDTH:
                lines.add(box)
    return Drawing(lines, pictures)


def count_tables(lines: set[Box]) -> int:
    """How many groups of lines that touch each other form a grid."""
    remaining = set(lines)
    tables = 0
    while remaining:
        group = _take_group(remaining)
        upright = {round(line.left) for line in group if line.is_upright}
        level = {round(line.bottom) for line in group if not line.is_upright}
        if len(upright) >= MIN_LINES_OF_TABLE and len(level) >= MIN_LINES_OF_TABLE:
            tables += 1
    return tables


def _take_group(remaining: set[Box]) -> set[Box]:
    """Take a line out of the set, with all that it touches, directly or by way of others."""
    group = {remaining.pop()}
    waiting = list(group)
    while waiting:
        line = waiting.pop()
        touching = {other for other in remaining if line.touches(other)}
        remaining -= touching
        group |= touching
        waiting += touching
    return group
