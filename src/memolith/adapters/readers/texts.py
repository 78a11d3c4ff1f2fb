"""Reads texts: plain, Markdown, HTML, JSON, tables with separators, Word and PowerPoint, in any common encoding."""

from __future__ import annotations

import csv
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from html import unescape
from itertools import zip_longest
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError

import charset_normalizer

from memolith.adapters.readers.content import Blocks, Content, pieces, sections
from memolith.adapters.readers.sheets import Grid, join
from memolith.engine.events import chunk
from memolith.errors import InvalidInput

with suppress(ImportError):
    from defusedxml.ElementTree import fromstring

Lines = Iterator[tuple[int, str]]
SAMPLE, LONGEST_FIELD = 50, 300
HEADINGS = {"title": 1, **{f"h{n}": n for n in range(1, 7)}}
BREAKS = {*HEADINGS, *"p div li tr br ul ol table section article pre blockquote dt dd".split()}
_HTML = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_UNSEEN = re.compile(r"<(script|style|noscript|template)\b.*?</\1\s*>|<!--.*?-->", re.I | re.S)
_TAG = re.compile(r"<(/?[a-z][a-z0-9]*)\b[^>]*>", re.I)
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_RULE = re.compile(r"^\s*\|?(?:\s*:?-{2,}:?\s*\|)+\s*(?::?-{2,}:?)?\s*$", re.M)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_STYLE = re.compile(r"'(?:(?:Heading|berschrift)(\d)|Title)'")
_PART = re.compile(r"word/document\.xml|ppt/slides/slide(\d+)\.xml")
_FIGURE = re.compile(r"(?:word|ppt)/(?:media/|charts/chart)")


def read(data: bytes, known: str) -> tuple[str, Content]:
    """Which kind of text it is, and what it holds."""
    text = _decoded(data, known)
    if _HTML.match(text):
        names = Counter(map(str.lower, _TAG.findall(text := _UNSEEN.sub(" ", text))))
        return "html", Content(sections(_html(text)), names["table"], names["img"] + names["svg"])
    with suppress(ValueError, RecursionError):
        value = json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
        if value:
            entries = value.items() if isinstance(value, dict) else ((f"[{n}]", one) for n, one in enumerate(value))
            return "json", Content(sections(line for name, one in entries for line in (
                (1, name), (0, json.dumps(one, ensure_ascii=False, indent=1)))))
    if delimiter := _delimiter(text):
        columns = zip_longest(*csv.reader(text.splitlines(), delimiter=delimiter), fillvalue="")
        numbers = [[float(cell) if _NUMBER.fullmatch(cell) else cell for cell in column] for column in columns]
        return "tsv" if delimiter == "\t" else "csv", join([Grid("", list(zip(*numbers, strict=True)))])
    if re.search(r"^#{1,6}\s", text, re.M):
        return "md", Content(sections(_markdown(text)), len(_RULE.findall(text)), text.count("!["))
    blocks, line = Blocks(), 1
    for piece in chunk(text):
        blocks += pieces(f"lines {line}-{line + piece.rstrip().count(chr(10))}", piece)
        line += piece.count("\n")
    return "txt", Content(blocks)


def _decoded(data: bytes, known: str) -> str:
    with suppress(UnicodeDecodeError):
        if b"\0" not in data:
            return data.decode("utf-8-sig")
    if best := charset_normalizer.from_bytes(data[:200_000]).best():
        return data.decode(best.encoding, "replace")
    raise InvalidInput(f"This is no kind of file that is read here; those are {known}.", field="file")


def _markdown(text: str) -> Lines:
    fenced = False
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        found = None if fenced else _HEADING.match(line)
        yield (len(found[1]), found[2]) if found else (0, line)


def _html(text: str) -> Lines:
    """The lines of a page by heading level; rows of a table keep their cells apart."""
    level, line, parts = 0, "", ["", *_TAG.split(text), "br", ""]
    for name, said in zip(map(str.lower, parts[::2]), parts[1::2], strict=True):
        if name.strip("/") in BREAKS:
            if line.strip():
                yield level, line.strip()
            level, line = HEADINGS.get(name, 0), ""
        line += " | " * (name in ("td", "th") and bool(line)) + re.sub(r"\s+", " ", unescape(said))


def _delimiter(text: str) -> str:
    """What cuts all of the first lines into equally many short fields, if anything does."""
    sample, widths = [line for line in text.splitlines()[:SAMPLE] if line.strip()], {"": 1}
    for delimiter in "\t;,|" if len(sample) > 1 else "":
        with suppress(csv.Error):
            rows = list(csv.reader(sample, delimiter=delimiter))
            if len({len(row) for row in rows}) == 1 and max(len(cell) for row in rows for cell in row) < LONGEST_FIELD:
                widths[delimiter] = len(rows[0])
    return max(widths, key=lambda delimiter: widths[delimiter])


def read_office(file: BinaryIO) -> Content:
    """Word text under its headings, PowerPoint text under its slides."""
    if "fromstring" not in globals():
        raise InvalidInput("Word and PowerPoint files need an extra: pip install 'memolith[office]'.", field="file")
    archive, lines, tables = zipfile.ZipFile(file), list[tuple[int, str]](), 0
    names = archive.namelist()
    try:
        for found in sorted(filter(None, map(_PART.fullmatch, names)), key=lambda found: int(found[1] or 0)):
            root = fromstring(archive.read(found[0]))
            lines += [*([(1, f"slide {found[1]}")] if found[1] else []), *_paragraphs(root)]
            tables += sum(one.tag.endswith("}tbl") for one in root.iter())
    except ValueError as error:
        raise InvalidInput("The file declares XML entities, which are not read here.", field="file") from error
    except (ParseError, zipfile.BadZipFile) as error:
        raise InvalidInput("The file is damaged: its text cannot be read.", field="file") from error
    return Content(sections(lines), tables, sum(bool(_FIGURE.match(name)) for name in names))


def _paragraphs(element: Element) -> Lines:
    """Paragraphs with the level of their heading, tables row by row."""
    for one in element:
        texts = ["".join(part.text or "" for part in cell.iter() if part.tag.endswith("}t")) for cell in one]
        if one.tag.endswith("}tr"):
            yield 0, " | ".join(filter(None, texts))
        elif one.tag.endswith("}p"):
            found = _STYLE.search("".join(str(part.attrib) for part in one.iter() if part.tag.endswith("}pStyle")))
            yield (int(found[1] or 1) if found else 0), "".join(texts)
        else:
            yield from _paragraphs(one)
