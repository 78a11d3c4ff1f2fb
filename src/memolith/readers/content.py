"""What readers return, and how text is cut into the pieces that are searched."""

from collections.abc import Iterable
from typing import NamedTuple

from memolith.domain.chunking import chunk

MAX_PLACE_CHARACTERS = 200
TEXT_LEVEL = 0
"""The level of a line that is no heading."""


class Piece(NamedTuple):
    """A text that fits one passage, and its place in the file."""

    place: str
    text: str


class Line(NamedTuple):
    """A line of a structured text: a heading of level 1 to 9, or text of level 0."""

    level: int
    text: str


class Content(NamedTuple):
    """What a file holds. The entry adds a summary where a reader has none of its own."""

    blocks: list[Piece]
    tables: int = 0
    figures: int = 0
    sheets: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    summary: str = ""


def cut_text(place: str, text: str, heading: str = "") -> list[Piece]:
    """Cut a text into pieces of the same place; each starts with the heading, if there is one."""
    # No store can keep NUL characters and lone surrogates.
    clean = text.replace("\0", "").encode("utf-8", "replace").decode().strip()
    pieces = []
    for part in chunk(clean):
        if part.strip():
            pieces.append(Piece(place[:MAX_PLACE_CHARACTERS], f"{heading}{part}".strip()))
    return pieces


def cut_sections(lines: Iterable[Line]) -> list[Piece]:
    """Cut lines into pieces; the place of each is the path of the headings above it."""
    pieces: list[Piece] = []
    path: list[Line] = []
    body: list[str] = []
    for line in lines:
        if line.level == TEXT_LEVEL:
            body.append(line.text)
            continue
        pieces += _cut_section(path, body)
        path = [heading for heading in path if heading.level < line.level]
        path.append(Line(line.level, " ".join(line.text.split())))
        body = []
    return pieces + _cut_section(path, body)


def _cut_section(path: list[Line], body: list[str]) -> list[Piece]:
    place = " > ".join(heading.text for heading in path)
    heading = f"{place}\n" if place else ""
    return cut_text(place, "\n".join(body), heading)
