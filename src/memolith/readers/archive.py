"""Zip archives, of which xlsx, docx and pptx files are made."""

import re
import zipfile
from typing import BinaryIO

from memolith.errors import InvalidInput, translated

MAX_UNPACKED_BYTES = 400_000_000
ZIP_SIGNATURE = b"PK\x03\x04"
_FIGURE = re.compile(r"(?:word|ppt|xl)/(?:media/|charts/chart)[^/]*$")


def part_names(file: BinaryIO) -> frozenset[str]:
    """The names of the parts of an archive; one that would unpack to too much is refused."""
    with translated(
        (zipfile.BadZipFile, EOFError, ValueError),
        InvalidInput,
        "The file is damaged: its archive does not open.",
        "file",
    ):
        parts = zipfile.ZipFile(file).infolist()
    unpacked = sum(part.file_size for part in parts)
    if unpacked > MAX_UNPACKED_BYTES:
        raise InvalidInput(
            f"The file unpacks to {unpacked:,} bytes; at most {MAX_UNPACKED_BYTES:,} are read.",
            field="file",
        )
    return frozenset(part.filename for part in parts)


def count_figures(archive: zipfile.ZipFile) -> int:
    """How many pictures and charts an Office file has."""
    return sum(1 for name in archive.namelist() if _FIGURE.match(name))
