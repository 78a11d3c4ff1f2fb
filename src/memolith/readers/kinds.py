"""Every kind of file that can be read. What a file is follows from its bytes, not from its name.

To add a kind, see "Add a file reader" in CONTRIBUTING.md.
"""

from collections.abc import Callable
from typing import BinaryIO, NamedTuple

from memolith.readers.content import Content
from memolith.readers.delimited import read_csv, read_tsv
from memolith.readers.html import read_html
from memolith.readers.office import read_office
from memolith.readers.pdf import read_pdf
from memolith.readers.text import read_json, read_markdown, read_plain_text
from memolith.readers.workbook import read_workbook

READABLE_KINDS = (
    "xlsx, xls, csv, tsv, pdf, txt, md, html, json, and docx and pptx with memolith[office]"
)
TEXT_TYPE = "txt_file"
COMPOUND_FILE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


class FileSample(NamedTuple):
    """What kinds are told apart by: the first bytes, and the parts if it is a zip archive."""

    start: bytes
    parts: frozenset[str]


class BinaryKind(NamedTuple):
    """A kind of file that is recognised by its first bytes or by its parts."""

    format: str
    type: str
    recognise: Callable[[FileSample], bool]
    read: Callable[[BinaryIO], Content]


class TextKind(NamedTuple):
    """A kind of text; its reader returns None for a text of another kind."""

    format: str
    read: Callable[[str], Content | None]


BINARY_KINDS = (
    BinaryKind("xlsx", "excel_file", lambda file: "xl/workbook.xml" in file.parts, read_workbook),
    BinaryKind("docx", "doc_file", lambda file: "word/document.xml" in file.parts, read_office),
    BinaryKind("pptx", "doc_file", lambda file: "ppt/presentation.xml" in file.parts, read_office),
    BinaryKind("pdf", "pdf_file", lambda file: b"%PDF-" in file.start, read_pdf),
    BinaryKind(
        "xls",
        "excel_file",
        lambda file: file.start.startswith(COMPOUND_FILE_SIGNATURE),
        read_workbook,
    ),
)

TEXT_KINDS = (
    TextKind("html", read_html),
    TextKind("json", read_json),
    TextKind("tsv", read_tsv),
    TextKind("csv", read_csv),
    TextKind("md", read_markdown),
    TextKind("txt", read_plain_text),
)
"""In this order; the last one reads every text."""
