"""Word and PowerPoint files: docx and pptx. They need the extra `office`."""

import re
import zipfile
from collections.abc import Callable, Iterator
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError

from memolith.errors import InvalidInput, translated
from memolith.readers.archive import count_figures
from memolith.readers.content import TEXT_LEVEL, Content, Line, cut_sections

WORD_TEXT = "word/document.xml"
TITLE_LEVEL = 1
_SLIDE = re.compile(r"ppt/slides/slide(\d+)\.xml")
_HEADING_STYLE = re.compile(r"(?:Heading|berschrift)(\d)")


def read_office(file: BinaryIO) -> Content:
    """Word text under its headings, PowerPoint text under its slides."""
    parse_xml = _xml_parser()
    archive = zipfile.ZipFile(file)
    lines: list[Line] = []
    tables = 0
    with (
        translated(
            ValueError,
            InvalidInput,
            "The file declares XML entities, which are not read here.",
            "file",
        ),
        translated(
            (ParseError, zipfile.BadZipFile),
            InvalidInput,
            "The file is damaged: its text cannot be read.",
            "file",
        ),
    ):
        for heading, part in _text_parts(archive.namelist()):
            root = parse_xml(archive.read(part))
            if heading is not None:
                lines.append(heading)
            lines += _paragraphs(root)
            tables += sum(1 for element in root.iter() if _local_name(element) == "tbl")
    return Content(cut_sections(lines), tables, count_figures(archive))


def _xml_parser() -> Callable[[bytes], Element]:
    with translated(
        ImportError,
        InvalidInput,
        "Word and PowerPoint files need an extra: pip install 'memolith[office]'.",
        "file",
    ):
        # An extra, which only these files need.
        from defusedxml.ElementTree import fromstring
    parse: Callable[[bytes], Element] = fromstring
    return parse


def _text_parts(names: list[str]) -> list[tuple[Line | None, str]]:
    """The parts with text, in reading order, each with the heading that stands for it."""
    parts: list[tuple[Line | None, str]] = []
    if WORD_TEXT in names:
        parts.append((None, WORD_TEXT))
    slides = {}
    for name in names:
        found = _SLIDE.fullmatch(name)
        if found:
            slides[int(found[1])] = name
    for number, name in sorted(slides.items()):
        parts.append((Line(TITLE_LEVEL, f"slide {number}"), name))
    return parts


def _paragraphs(element: Element) -> Iterator[Line]:
    """Paragraphs with the level of their heading, and tables row by row."""
    for child in element:
        name = _local_name(child)
        if name == "tr":
            cells = [_text(cell) for cell in child]
            yield Line(TEXT_LEVEL, " | ".join(cell for cell in cells if cell))
        elif name == "p":
            yield Line(_heading_level(child), _text(child))
        else:
            yield from _paragraphs(child)


def _heading_level(paragraph: Element) -> int:
    """From the name of its style, such as Title, Heading2 or the German berschrift2."""
    for element in paragraph.iter():
        if _local_name(element) != "pStyle":
            continue
        for style in element.attrib.values():
            found = _HEADING_STYLE.fullmatch(style)
            if found:
                return int(found[1])
            if style == "Title":
                return TITLE_LEVEL
    return TEXT_LEVEL


def _text(element: Element) -> str:
    return "".join(part.text or "" for part in element.iter() if _local_name(part) == "t")


def _local_name(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]
