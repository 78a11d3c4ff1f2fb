"""Plain text, Markdown and JSON."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress

from memolith.domain.chunking import chunk
from memolith.readers.content import TEXT_LEVEL, Content, Line, Piece, cut_sections, cut_text

CODE_FENCES = ("```", "~~~")
_ANY_HEADING = re.compile(r"^#{1,6}\s", re.M)
_HEADING = re.compile(r"(#{1,6})\s+(.*)$")
_RULE_OF_COLUMN = re.compile(r":?-{2,}:?")
_PICTURE = "!["


def read_plain_text(text: str) -> Content:
    """Pieces by their line numbers."""
    pieces: list[Piece] = []
    line = 1
    for part in chunk(text):
        last_line = line + part.rstrip().count("\n")
        pieces += cut_text(f"lines {line}-{last_line}", part)
        line += part.count("\n")
    return Content(pieces)


def read_markdown(text: str) -> Content | None:
    """Text under its headings; None if there is no heading."""
    if not _ANY_HEADING.search(text):
        return None
    tables = sum(_is_table_rule(line) for line in text.splitlines())
    return Content(cut_sections(_markdown_lines(text)), tables, text.count(_PICTURE))


def _is_table_rule(line: str) -> bool:
    """Whether a line divides the head of a table from its rows: `| --- | :--: |`."""
    columns = [column.strip() for column in line.strip().removeprefix("|").split("|")]
    if len(columns) > 1 and not columns[-1]:
        columns.pop()
    elif len(columns) == 1:
        return False
    return all(_RULE_OF_COLUMN.fullmatch(column) for column in columns)


def read_json(text: str) -> Content | None:
    """Each value at the top under its name or number; None if this is no JSON object or list."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    # A value that is nested too deep is read as plain text, like one that is damaged.
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        if value:
            return Content(cut_sections(_json_lines(value)))
    return None


def _markdown_lines(text: str) -> Iterator[Line]:
    in_code = False
    for line in text.splitlines():
        if line.lstrip().startswith(CODE_FENCES):
            in_code = not in_code
        heading = None if in_code else _HEADING.match(line)
        if heading:
            yield Line(len(heading[1]), heading[2].rstrip("#").rstrip())
        else:
            yield Line(TEXT_LEVEL, line)


def _json_lines(value: dict[str, object] | list[object]) -> Iterator[Line]:
    if isinstance(value, dict):
        entries = list(value.items())
    else:
        entries = [(f"[{index}]", entry) for index, entry in enumerate(value)]
    for name, entry in entries:
        yield Line(1, name)
        yield Line(TEXT_LEVEL, json.dumps(entry, ensure_ascii=False, indent=1))
