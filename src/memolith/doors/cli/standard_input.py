"""Texts that come on standard input or in files, as UTF-8 and nothing else."""

import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from memolith.errors import InvalidInput

STANDARD_STREAM = "-"
STANDARD_INPUT = "Standard input"
CHECKED_BYTES = 1 << 20


def text_or_input(text: str) -> str:
    """The text, or all of standard input for `-`."""
    if text != STANDARD_STREAM:
        refuse_undecodable(text)
        return text
    return "".join(utf8_lines(sys.stdin.buffer, STANDARD_INPUT))


@contextmanager
def opened_lines(name: str) -> Iterator[Iterator[str]]:
    """The lines of the file of that name, or of standard input for `-`."""
    if name == STANDARD_STREAM:
        yield utf8_lines(sys.stdin.buffer, STANDARD_INPUT)
        return
    with open(name, "rb") as file:
        yield utf8_lines(file, name)


def utf8_lines(file: BinaryIO, name: str) -> Iterator[str]:
    """The lines of a file; the first byte that is not UTF-8 is refused with its place."""
    for number, line in enumerate(file, start=1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise not_utf8(name, number, error.start + 1, line[error.start]) from error


def refuse_other_encodings(file: Path) -> None:
    """Refuse a file that is not UTF-8, with the place; it may be larger than memory."""
    decoder = getincrementaldecoder("utf-8")()
    with file.open("rb") as stream:
        try:
            while piece := stream.read(CHECKED_BYTES):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            stream.seek(0)
            for _ in utf8_lines(stream, str(file)):
                pass


def refuse_undecodable(text: str) -> None:
    """Refuse a text of the command line that is not UTF-8, with the place.

    The names of files may be any bytes, so this is for texts alone.
    """
    if text.isascii():
        return
    for position, character in enumerate(text, start=1):
        # Python keeps a byte that it cannot decode as half of a surrogate pair.
        if "\udc80" <= character <= "\udcff":
            raise InvalidInput(
                f"The text is not UTF-8: byte 0x{ord(character) - 0xDC00:02x} at character "
                f"{position:,}. Type it in UTF-8; nothing was done.",
                field="text",
            )


def not_utf8(name: str, line: int, position: int, byte: int) -> InvalidInput:
    return InvalidInput(
        f"{name} is not UTF-8: byte 0x{byte:02x} in line {line:,}, at byte {position:,} of the "
        "line. Convert it to UTF-8 first; nothing was written.",
        field="file",
        value=line,
    )
