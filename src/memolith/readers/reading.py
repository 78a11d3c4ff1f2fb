"""The entry of the readers. It runs in a sandboxed child that sees nothing but the file."""

from typing import BinaryIO, NamedTuple

from memolith.errors import InvalidInput
from memolith.readers.archive import ZIP_SIGNATURE, part_names
from memolith.readers.charset import decode
from memolith.readers.content import Content
from memolith.readers.kinds import (
    BINARY_KINDS,
    READABLE_KINDS,
    TEXT_KINDS,
    TEXT_TYPE,
    FileSample,
)
from memolith.readers.summary import summarize

SAMPLE_BYTES = 1024


class ReadFile(NamedTuple):
    """What a file is, and what it holds."""

    type: str
    format: str
    content: Content


def read(file: BinaryIO) -> dict[str, object]:
    """What the file is and holds, as plain values for JSON."""
    found = _read_by_kind(file)
    content = found.content
    if not content.blocks and not content.warnings:
        raise InvalidInput("The file is empty, or has no text.", field="file")
    return {
        "type": found.type,
        "format": found.format,
        **content._asdict(),
        # A file without text has a warning, which is better than nothing.
        "summary": content.summary or summarize(content.blocks) or " ".join(content.warnings),
    }


def _read_by_kind(file: BinaryIO) -> ReadFile:
    sample = _sample(file)
    for kind in BINARY_KINDS:
        if kind.recognise(sample):
            return ReadFile(kind.type, kind.format, kind.read(file))
    text = decode(file.read())
    if text is not None:
        for text_kind in TEXT_KINDS:
            content = text_kind.read(text)
            if content is not None:
                return ReadFile(TEXT_TYPE, text_kind.format, content)
    raise InvalidInput(
        f"This is no kind of file that is read here; those are {READABLE_KINDS}.", field="file"
    )


def _sample(file: BinaryIO) -> FileSample:
    start = file.read(SAMPLE_BYTES)
    parts: frozenset[str] = frozenset()
    if start.startswith(ZIP_SIGNATURE):
        parts = part_names(file)
    file.seek(0)
    return FileSample(start, parts)
