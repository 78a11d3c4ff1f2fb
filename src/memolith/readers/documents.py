"""Reads a file by what it is, not by what it is called; runs in a child that sees nothing but the file."""

import csv
import ctypes
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from functools import partial
from html import unescape
from itertools import groupby, zip_longest
from typing import BinaryIO, NamedTuple, Self, cast
from xml.etree.ElementTree import Element, ParseError

import charset_normalizer
import pypdfium2
import pypdfium2.raw as raw
from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetVisibleEnum

from memolith.domain.chunking import TARGET, chunk, weigh
from memolith.errors import InvalidInput, translated

with suppress(ImportError):
    from defusedxml.ElementTree import fromstring

Blocks = list[tuple[str, str]]
Cell = str | float | bool | date | time | timedelta
Line = tuple[float, float, float, float]
Lines = Iterator[tuple[int, str]]
KNOWN = "xlsx, xls, csv, tsv, pdf, txt, md, html, json, and docx and pptx with memolith[office]"
PARTS = {"xl/workbook.xml": "xlsx", "word/document.xml": "docx", "ppt/presentation.xml": "pptx"}
MOST_UNPACKED, LONGEST_PLACE, LONGEST_SUMMARY, SENTENCES, BEST = 400_000_000, 200, 600, 4000, 50
NEAR, THIN, FEW_LETTERS, MOST_LINES = 2.0, 2.5, 20, 2000
SAMPLE, LONGEST_FIELD = 50, 300
FEW_VALUES, MOST_COLUMNS, LONGEST_TABLES, LONGEST_CELL = 8, 60, 1500, 2000
RANGED: dict[type, str] = {
    float: "number",
    date: "date",
    datetime: "date",
    time: "time",
    timedelta: "duration",
}
HEADINGS = {"title": 1, **{f"h{n}": n for n in range(1, 7)}}
BREAKS = {*HEADINGS, *"p div li tr br ul ol table section article pre blockquote dt dd".split()}
_WORD = re.compile(r"[^\W\d_]{4,}|[\u3400-\u9fff]{2}")
_SENTENCE = re.compile(r"[^.!?。！？\n]{8,400}(?:[.!?](?=\s|$)|[。！？]|\n|$)")
_CAPTION = re.compile(r"^\s*(?:Figure|Fig\.|Abbildung|图|圖)\s*(\d+)", re.M | re.I)
_HTML = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_UNSEEN = re.compile(r"<(script|style|noscript|template)\b.*?</\1\s*>|<!--.*?-->", re.I | re.S)
_TAG = re.compile(r"<(/?[a-z][a-z0-9]*)\b[^>]*>", re.I)
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_RULE = re.compile(r"^\s*\|?(?:\s*:?-{2,}:?\s*\|)+\s*(?::?-{2,}:?)?\s*$", re.M)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_STYLE = re.compile(r"'(?:(?:Heading|berschrift)(\d)|Title)'")
_PART = re.compile(r"word/document\.xml|ppt/slides/slide(\d+)\.xml")
_FIGURE = re.compile(r"(?:word|ppt|xl)/(?:media/|charts/chart)[^/]*$")
_NO_VALUE = re.compile(rb"(?:</f>|<f[^>]*/>)(?:<v\s*/>|<v></v>)?</c>")
refused = partial(translated, kind=InvalidInput, field="file")


class Content(NamedTuple):
    """What a file holds: texts, each with its place before it, counts, what the reader noticed, and a summary."""

    blocks: Blocks
    tables: int = 0
    figures: int = 0
    sheets: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    summary: str = ""


class Grid(NamedTuple):
    """Rows of cells, the sheet they are of, and the row and column they start at."""

    sheet: str
    rows: Sequence[Sequence[Cell]]
    top: int = 0
    left: int = 0

    def place(self, start: int, end: int) -> str:
        """The range of some of the rows, as a spreadsheet names it."""
        first, last = letters(self.left), letters(self.left + len(self.rows[0]) - 1)
        return f"{self.sheet}{'!' * bool(self.sheet)}{first}{self.top + start + 1}:{last}{self.top + end}"

    def tables(self) -> Iterator[Self]:
        """The parts between empty rows, without empty columns around them."""
        for filled, group in groupby(
            range(len(self.rows)), lambda n: any(cell != "" for cell in self.rows[n])
        ):
            if filled:
                rows = [self.rows[first := next(group)], *(self.rows[n] for n in group)]
                full = [
                    n
                    for n, column in enumerate(zip(*rows, strict=True))
                    if any(cell != "" for cell in column)
                ]
                kept = [row[full[0] : full[-1] + 1] for row in rows]
                yield self._replace(rows=kept, top=self.top + first, left=self.left + full[0])

    def told(self) -> Blocks:
        """The table in words if it is one; then its rows, as many as fit one passage, each time under the header."""
        is_table = len(self.rows) > 1 < len(self.rows[0])
        headed = int(is_table and all(isinstance(cell, str) for cell in self.rows[0]))
        columns = [
            f"{shown(column[0]) if headed else letters(self.left + n)} ({described(column[headed:])})"
            for n, column in enumerate(zip(*self.rows, strict=True))
            if is_table and n < MOST_COLUMNS
        ]
        place = self.place(0, len(self.rows))
        words = f"Table {place}: {len(self.rows) - headed:,} rows; columns {', '.join(columns)}."
        blocks = [(place, words)] if is_table else []
        lines = [" | ".join(map(shown, row)) for row in self.rows]
        head, start, weight = (lines[0] + "\n") * headed, headed, 0
        for end, size in enumerate([*map(weigh, lines[headed:]), TARGET], headed):
            if end > start and weight + size > TARGET - weigh(head):
                blocks.append((self.place(start, end), head + "\n".join(lines[start:end])))
                start, weight = end, 0
            weight += size
        return blocks


def read(file: BinaryIO) -> dict[str, object]:
    """What the file holds, as plain values."""
    start = file.read(1024)
    format = (
        "pdf"
        if b"%PDF-" in start
        else "xls"
        if start.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
        else ""
    )
    with refused(
        (zipfile.BadZipFile, EOFError, ValueError),
        message="The file is damaged: its archive does not open.",
    ):
        parts = zipfile.ZipFile(file).infolist() if start.startswith(b"PK\x03\x04") else []
    if (unpacked := sum(part.file_size for part in parts)) > MOST_UNPACKED:
        raise InvalidInput(
            f"The file unpacks to {unpacked:,} bytes; at most {MOST_UNPACKED:,} are read.",
            field="file",
        )
    format = next((PARTS[part.filename] for part in parts if part.filename in PARTS), format)
    file.seek(0)
    if format == "pdf":
        type, content = "pdf_file", _pdf(file)
    elif format in ("xls", "xlsx"):
        type, content = "excel_file", _workbook(file)
    elif format:
        type, content = "doc_file", _office(file)
    else:
        type, (format, content) = "txt_file", _text(_decoded(file.read()))
    if not content.blocks and not content.warnings:
        raise InvalidInput("The file is empty, or has no text.", field="file")
    summary = content.summary or _summary(content.blocks)
    return {"type": type, "format": format, **content._asdict(), "summary": summary}


def _pieces(place: str, text: str, head: str = "") -> Blocks:
    """The text in pieces that each fit one passage, all with the same place and head."""
    # What no store can keep is no text.
    clean = text.replace("\0", "").encode("utf-8", "replace").decode().strip()
    return [
        (place[:LONGEST_PLACE], f"{head}{piece}".strip()) for piece in chunk(clean) if piece.strip()
    ]


def _sections(lines: Iterable[tuple[int, str]]) -> Blocks:
    """Lines of text (level 0) under the path of the headings (level 1 to 9) above them."""
    found, path, body = Blocks(), list[tuple[int, str]](), list[str]()
    for level, text in [*lines, (1, "")]:
        if level:
            place = " > ".join(title for _, title in path)
            found += _pieces(place, "\n".join(body), place and place + "\n")
            path, body = (
                [*(one for one in path if one[0] < level), (level, " ".join(text.split()))],
                [],
            )
        else:
            body.append(text)
    return found


def _summary(blocks: Blocks) -> str:
    """The few sentences that hold most of the words of the whole, in their order; early ones count more."""
    sentences = [
        " ".join(found.split()) for _, text in blocks for found in _SENTENCE.findall(text)
    ][:SENTENCES]
    words = [set(_WORD.findall(sentence.lower())) for sentence in sentences]
    counts, chosen, told = (
        Counter(word for found in words for word in found),
        list[int](),
        set[str](),
    )
    scores = [
        sum(counts[word] for word in found) / (len(found) + 5) * (1 + 1 / (1 + n))
        for n, found in enumerate(words)
    ]
    for n in sorted(range(len(scores)), key=lambda n: -scores[n])[:BEST]:
        room = LONGEST_SUMMARY - sum(len(sentences[one]) for one in chosen)
        if len(words[n] - told) * 2 >= len(words[n]) and len(sentences[n]) <= room:
            chosen.append(n)
            told |= words[n]
    return (
        " ".join(sentences[n] for n in sorted(chosen))
        or " ".join(text for _, text in blocks)[:LONGEST_SUMMARY]
    )


def _pdf(file: BinaryIO) -> Content:
    """Text by page, tables by their ruled lines, figures by images and captions; scans are named in a warning."""
    blocks, captions, scanned, tables, images = Blocks(), set[str](), list[str](), 0, 0
    try:
        document = pypdfium2.PdfDocument(file)
    except pypdfium2.PdfiumError as error:
        locked = error.err_code == raw.FPDF_ERR_PASSWORD
        said = (
            "The PDF needs a password; remove it first."
            if locked
            else "The PDF is damaged and cannot be opened."
        )
        raise InvalidInput(said, field="file") from error
    for number, page in enumerate(document, 1):
        text = page.get_textpage().get_text_range().replace("\r\n", "\n").replace("\ufffe", "-")
        lines, pictures = _drawn(page)
        blocks += _pieces(f"page {number}", text)
        captions.update(_CAPTION.findall(text))
        tables, images = tables + _ruled(lines), images + pictures
        scanned += [str(number)] if pictures and len(text.strip()) < FEW_LETTERS else []
        page.close()
    warnings = (
        (f"Scanned pages need OCR, so their text is not known: {', '.join(scanned)[:200]}.",)
        if scanned
        else ()
    )
    return Content(blocks, tables, max(images, len(captions)), (), warnings)


def _drawn(page: pypdfium2.PdfPage) -> tuple[set[Line], int]:
    """The straight level and upright lines of a page, and how many pictures it has."""
    lines, pictures, box = set[Line](), 0, [ctypes.c_float() for _ in range(4)]
    for one in (
        raw.FPDFPage_GetObject(page, number) for number in range(raw.FPDFPage_CountObjects(page))
    ):
        kind = raw.FPDFPageObj_GetType(one)
        pictures += kind == raw.FPDF_PAGEOBJ_IMAGE
        if (
            kind == raw.FPDF_PAGEOBJ_PATH
            and len(lines) < MOST_LINES
            and raw.FPDFPageObj_GetBounds(one, *box)
        ):
            left, low, right, high = (side.value for side in box)
            lines |= {(left, low, right, high)} if min(right - left, high - low) <= THIN else set()
    return lines, pictures


def _ruled(rest: set[Line]) -> int:
    """How many groups of lines that touch each other have at least three level and three upright ones."""
    tables = 0
    while rest:
        group = waiting = {rest.pop()}
        while waiting:
            waiting = {
                one
                for one in rest
                for two in waiting
                if all(
                    one[side] <= two[side + 2] + NEAR and two[side] <= one[side + 2] + NEAR
                    for side in (0, 1)
                )
            }
            rest, group = rest - waiting, group | waiting
        upright = {round(left) for left, low, right, high in group if high - low > right - left}
        level = {round(low) for left, low, right, high in group if high - low <= right - left}
        tables += len(upright) >= 3 and len(level) >= 3
    return tables


def _decoded(data: bytes) -> str:
    with suppress(UnicodeDecodeError):
        if b"\0" not in data:
            return data.decode("utf-8-sig")
    if best := charset_normalizer.from_bytes(data[:200_000]).best():
        return data.decode(best.encoding, "replace")
    raise InvalidInput(
        f"This is no kind of file that is read here; those are {KNOWN}.", field="file"
    )


def _text(text: str) -> tuple[str, Content]:
    """Which kind of text it is, and what it holds."""
    if _HTML.match(text):
        names = Counter(map(str.lower, _TAG.findall(text := _UNSEEN.sub(" ", text))))
        return "html", Content(_sections(_html(text)), names["table"], names["img"] + names["svg"])
    with suppress(ValueError, RecursionError):
        value = json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
        if value:
            entries = (
                value.items()
                if isinstance(value, dict)
                else ((f"[{n}]", one) for n, one in enumerate(value))
            )
            return "json", Content(
                _sections(
                    line
                    for name, one in entries
                    for line in ((1, name), (0, json.dumps(one, ensure_ascii=False, indent=1)))
                )
            )
    if delimiter := _delimiter(text):
        columns = zip_longest(*csv.reader(text.splitlines(), delimiter=delimiter), fillvalue="")
        numbers = [
            [float(cell) if _NUMBER.fullmatch(cell) else cell for cell in column]
            for column in columns
        ]
        return "tsv" if delimiter == "\t" else "csv", _joined(
            [Grid("", list(zip(*numbers, strict=True)))]
        )
    if re.search(r"^#{1,6}\s", text, re.M):
        return "md", Content(_sections(_markdown(text)), len(_RULE.findall(text)), text.count("!["))
    blocks, line = Blocks(), 1
    for piece in chunk(text):
        blocks += _pieces(f"lines {line}-{line + piece.rstrip().count(chr(10))}", piece)
        line += piece.count("\n")
    return "txt", Content(blocks)


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
            if (
                len({len(row) for row in rows}) == 1
                and max(len(cell) for row in rows for cell in row) < LONGEST_FIELD
            ):
                widths[delimiter] = len(rows[0])
    return max(widths, key=lambda delimiter: widths[delimiter])


def _office(file: BinaryIO) -> Content:
    """Word text under its headings, PowerPoint text under its slides."""
    if "fromstring" not in globals():
        raise InvalidInput(
            "Word and PowerPoint files need an extra: pip install 'memolith[office]'.", field="file"
        )
    archive, lines, tables = zipfile.ZipFile(file), list[tuple[int, str]](), 0
    names = archive.namelist()
    with (
        refused(ValueError, message="The file declares XML entities, which are not read here."),
        refused(
            (ParseError, zipfile.BadZipFile),
            message="The file is damaged: its text cannot be read.",
        ),
    ):
        for found in sorted(
            filter(None, map(_PART.fullmatch, names)), key=lambda found: int(found[1] or 0)
        ):
            root = fromstring(archive.read(found[0]))
            lines += [*([(1, f"slide {found[1]}")] if found[1] else []), *_paragraphs(root)]
            tables += sum(one.tag.endswith("}tbl") for one in root.iter())
    return Content(_sections(lines), tables, sum(map(bool, map(_FIGURE.match, names))))


def _paragraphs(element: Element) -> Lines:
    """Paragraphs with the level of their heading, tables row by row."""
    for one in element:
        texts = [
            "".join(part.text or "" for part in cell.iter() if part.tag.endswith("}t"))
            for cell in one
        ]
        if one.tag.endswith("}tr"):
            yield 0, " | ".join(filter(None, texts))
        elif one.tag.endswith("}p"):
            found = _STYLE.search(
                "".join(str(part.attrib) for part in one.iter() if part.tag.endswith("}pStyle"))
            )
            yield (int(found[1] or 1) if found else 0), "".join(texts)
        else:
            yield from _paragraphs(one)


def _workbook(file: BinaryIO) -> Content:
    """A workbook of either format, sheet by sheet, hidden ones too; charts and pictures are counted by their parts."""
    archive = zipfile.ZipFile(file) if zipfile.is_zipfile(file) else None
    names = archive.namelist() if archive else []
    empty = sum(
        len(_NO_VALUE.findall(archive.read(name)))
        for name in names
        if archive and name.startswith("xl/worksheets/sheet")
    )
    file.seek(0)
    with (
        refused(CalamineError, message="The workbook is damaged or no workbook at all: {error}."),
        refused(PasswordError, message="The workbook needs a password; remove it first."),
    ):
        book = CalamineWorkbook.from_filelike(file)
        sheets = [book.get_sheet_by_name(name) for name in book.sheet_names]
        grids = [
            Grid(one.name, cast("list[list[Cell]]", one.to_python()), *(one.start or ()))
            for one in sheets
        ]
    hidden = ", ".join(
        one.name for one in book.sheets_metadata if one.visible is not SheetVisibleEnum.Visible
    )
    warnings = {
        f"{empty:,} formulas have no stored value, so their cells are empty here; open and save the file in a "
        "spreadsheet program.": empty,
        f"Hidden sheets are searched too: {hidden}.": hidden,
    }
    return _joined(grids)._replace(
        sheets=tuple(book.sheet_names),
        figures=sum(map(bool, map(_FIGURE.match, names))),
        warnings=tuple(text for text, reason in warnings.items() if reason),
    )


def _joined(grids: Sequence[Grid]) -> Content:
    blocks = [block for grid in grids for table in grid.tables() for block in table.told()]
    words = [text for place, text in blocks if text.startswith(f"Table {place}: ")]
    summary = "\n".join(words) or " ".join(text for _, text in blocks)
    return Content(blocks, len(words), summary=summary[:LONGEST_TABLES])


def described(cells: Sequence[Cell]) -> str:
    """The type of a column, and its range or its few values."""
    values = [cell for cell in cells if cell != ""]
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= RANGED.keys():
        return f"{RANGED[kinds.pop()]} from {shown(min(values))} to {shown(max(values))}"
    texts = dict.fromkeys(map(shown, values))
    few = "text: " + ", ".join(texts) if texts else "empty"
    return few if len(texts) <= FEW_VALUES else f"text, {len(texts):,} different values"


def shown(cell: Cell) -> str:
    """A cell as people read it, in one line."""
    if type(cell) is float:
        return f"{cell:.15g}"
    return (
        " ".join(cell[:LONGEST_CELL].replace("\0", "").split())
        if isinstance(cell, str)
        else str(cell)
    )


def letters(column: int) -> str:
    """The name of a column: 0 is A, 26 is AA."""
    return (letters(column // 26 - 1) if column >= 26 else "") + chr(65 + column % 26)
