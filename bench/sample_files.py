"""Large and small files for the benches, written without any library."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from bench.material import texts

LINES_PER_PAGE = 40
WORDS_PER_LINE = 9
PAGES_PER_TABLE = 10
TABLE_COLUMNS = (50, 150, 250, 350)
TABLE_ROWS = (60, 80, 100, 120)
TEXT_COLUMNS = "abc"
NUMBER_COLUMNS = 7
WORDS_PER_SMALL_FILE = 120
TITLE_CHARACTERS = 40

SHEET_XML = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SPREADSHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
RELATIONSHIPS_TYPE = "application/vnd.openxmlformats-package.relationships+xml"


def write_pdf(path: Path, pages: int) -> Path:
    """A PDF of plain text; every tenth page also has a ruled table."""
    source = texts(pages * LINES_PER_PAGE, WORDS_PER_LINE)
    first_page = 4
    kids = " ".join(f"{first_page + 2 * page} 0 R" for page in range(pages))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {pages}/Kids[{kids}]>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for page in range(pages):
        content_number = first_page + 2 * page + 1
        objects.append(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>"
            f"/Contents {content_number} 0 R>>".encode()
        )
        stream = _page_content(source, has_table=page % PAGES_PER_TABLE == 0)
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
    path.write_bytes(_pdf_file(objects))
    return path


def _page_content(source: Iterator[str], has_table: bool) -> bytes:
    lines = "".join(f"({next(source)}) Tj T*\n" for _ in range(LINES_PER_PAGE))
    rules = ""
    if has_table:
        for x, y in zip(TABLE_COLUMNS, TABLE_ROWS, strict=True):
            rules += f"50 {y} m 350 {y} l S {x} 60 m {x} 120 l S\n"
    return f"BT /F1 9 Tf 12 TL 50 780 Td\n{lines}ET\n{rules}".encode()


def _pdf_file(objects: list[bytes]) -> bytes:
    """The objects with their table of offsets."""
    parts = [b"%PDF-1.4\n"]
    position = len(parts[0])
    offsets = []
    for number, content in enumerate(objects, 1):
        part = b"%d 0 obj\n%s\nendobj\n" % (number, content)
        offsets.append(position)
        parts.append(part)
        position += len(part)
    count = len(objects) + 1
    parts.append(b"xref\n0 %d\n0000000000 65535 f \n" % count)
    parts += [b"%010d 00000 n \n" % offset for offset in offsets]
    parts.append(b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (count, position))
    return b"".join(parts)


def write_workbook(path: Path, rows: int) -> Path:
    """A workbook of one sheet with ten columns: three of text, seven of numbers."""
    sheet_rows = "".join(_sheet_row(number) for number in range(rows))
    parts = {
        "[Content_Types].xml": (
            f'<Types xmlns="{PACKAGE}/content-types">'
            f'<Default Extension="rels" ContentType="{RELATIONSHIPS_TYPE}"/>'
            '<Override PartName="/xl/workbook.xml" '
            f'ContentType="{SPREADSHEET_TYPE}.sheet.main+xml"/>'
            '<Override PartName="/xl/worksheets/sheet1.xml" '
            f'ContentType="{SPREADSHEET_TYPE}.worksheet+xml"/></Types>'
        ),
        "_rels/.rels": _relationship("officeDocument", "xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": _relationship("worksheet", "worksheets/sheet1.xml"),
        "xl/workbook.xml": (
            f'<workbook xmlns="{SHEET_XML}" xmlns:r="{RELATIONSHIPS}"><sheets>'
            '<sheet name="Data" sheetId="1" r:id="rId1"/></sheets></workbook>'
        ),
        "xl/worksheets/sheet1.xml": (
            f'<worksheet xmlns="{SHEET_XML}"><sheetData>{sheet_rows}</sheetData></worksheet>'
        ),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def _sheet_row(number: int) -> str:
    cells = [f'<c t="inlineStr"><is><t>{name} {number % 97}</t></is></c>' for name in TEXT_COLUMNS]
    cells += [f"<c><v>{number * column / 2}</v></c>" for column in range(NUMBER_COLUMNS)]
    return f"<row>{''.join(cells)}</row>"


def _relationship(kind: str, target: str) -> str:
    return (
        f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{RELATIONSHIPS}/{kind}" Target="{target}"/>'
        "</Relationships>"
    )


def write_small_files(folder: Path, count: int) -> list[Path]:
    """Small files of five kinds in turn."""
    paths = []
    for number, text in enumerate(texts(count, WORDS_PER_SMALL_FILE)):
        title = text[:TITLE_CHARACTERS]
        rest = text[TITLE_CHARACTERS:]
        bodies = {
            "md": f"# {title}\n\n{rest}",
            "txt": text,
            "html": f"<html><h1>{title}</h1><p>{rest}</p></html>",
            "csv": "\n".join(f"{word},{index}" for index, word in enumerate(text.split())),
            "json": f'{{"{title}": "{rest}"}}',
        }
        extension = list(bodies)[number % len(bodies)]
        path = folder / f"{number}.{extension}"
        path.write_text(bodies[extension], encoding="utf-8")
        paths.append(path)
    return paths
