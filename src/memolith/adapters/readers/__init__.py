"""Reads a file by what it is, not by what it is called; runs in a child that sees nothing but the file."""

from __future__ import annotations

import zipfile
from typing import BinaryIO

from memolith.adapters.readers import pdf, sheets, texts
from memolith.adapters.readers.content import summarise
from memolith.errors import InvalidInput

KNOWN = "xlsx, xls, csv, tsv, pdf, txt, md, html, json, and docx and pptx with memolith[office]"
MOST_UNPACKED = 400_000_000
READERS = {"pdf": (pdf.read, "pdf_file"), "xls": (sheets.read, "excel_file"), "xlsx": (sheets.read, "excel_file"),
           "docx": (texts.read_office, "doc_file"), "pptx": (texts.read_office, "doc_file")}
PARTS = {"xl/workbook.xml": "xlsx", "word/document.xml": "docx", "ppt/presentation.xml": "pptx"}


def read(file: BinaryIO) -> dict[str, object]:
    """What the file holds, as plain values."""
    start = file.read(1024)
    format = "pdf" if b"%PDF-" in start else "xls" if start.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") else ""
    try:
        parts = zipfile.ZipFile(file).infolist() if start.startswith(b"PK\x03\x04") else []
    except (zipfile.BadZipFile, EOFError, ValueError) as error:
        raise InvalidInput("The file is damaged: its archive cannot be opened.", field="file") from error
    if (unpacked := sum(part.file_size for part in parts)) > MOST_UNPACKED:
        raise InvalidInput(f"The file unpacks to {unpacked:,} bytes; at most {MOST_UNPACKED:,} are read.", field="file")
    format = next((PARTS[part.filename] for part in parts if part.filename in PARTS), format)
    file.seek(0)
    if format:
        reader, type = READERS[format]
        content = reader(file)
    else:
        (format, content), type = texts.read(file.read(), KNOWN), "txt_file"
    if not content.blocks and not content.warnings:
        raise InvalidInput("The file is empty, or has no text.", field="file")
    summary = content.summary or summarise(content.blocks)
    return {"type": type, "format": format, **content._asdict(), "summary": summary}
