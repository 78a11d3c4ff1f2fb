"""Edits one entry in the text of a JSON file with comments, as clients and people write it.

Comments, order, indentation and line ends of everything else stay as they are, which no JSON
library does: so the text is edited by positions.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

STRING = r'"(?:\\.|[^"\\])*"'
# The first group of each pattern is what is replaced by spaces; strings match without it.
COMMENT = re.compile(STRING + r"|(//[^\r\n]*|/\*.*?\*/|\A\ufeff)", re.DOTALL)
TRAILING_COMMA = re.compile(STRING + r"|(,)(?=\s*[}\]])", re.DOTALL)
LINE_START = re.compile(r"\r?\n[ \t]*")
DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Member:
    """Where a member of an object stands in the text."""

    start: int
    value_start: int
    end: int


def read(text: str) -> dict[str, Any]:
    """What the text says; ValueError if it is not a JSON object."""
    strict = strict_json(text)
    if not strict.strip():
        return {}
    data = json.loads(strict)
    if not isinstance(data, dict):
        raise ValueError("the whole must be an object")
    return data


def edit(text: str, section: str, name: str, entry: object) -> str:
    """The text with that entry as the first of the section, or without it if the entry is None."""
    strict = strict_json(text)
    if not strict.strip():
        return text + json.dumps({section: {name: entry}}, ensure_ascii=False, indent=2) + "\n"
    top = next_solid(strict, 0)
    section_member = members(strict, top).get(section)
    if section_member is None:
        if entry is None:
            return text
        return with_first_member(text, top, section, {name: entry})
    present = members(strict, section_member.value_start).get(name)
    if present is not None:
        text = without_member(text, present)
    if entry is None:
        return text
    # What was removed stands after this position, so it is still right.
    return with_first_member(text, section_member.value_start, name, entry)


def with_first_member(text: str, object_start: int, name: str, value: object) -> str:
    """Put a member first, written as the present first one: in its line, in one, or in several."""
    strict = strict_json(text)
    first = next_solid(strict, object_start + 1)
    before_first = text[:first]
    blank = text[len(before_first.rstrip()) : first]
    written = json.dumps(value, ensure_ascii=False)
    if "\n" in blank and first_value_has_lines(strict, object_start):
        # Each line begins as the member does.
        lines = json.dumps(value, ensure_ascii=False, indent=indent_of(strict)).split("\n")
        written = LINE_START.findall(blank)[-1].join(lines)
    member = f"{json.dumps(name, ensure_ascii=False)}: {written}"
    if text[first] != "}":
        member += "," + (blank or " ")
    return before_first + member + text[first:]


def first_value_has_lines(strict: str, object_start: int) -> bool:
    """Whether the first member of an object is written in several lines."""
    first = next(iter(members(strict, object_start).values()), None)
    return first is not None and "\n" in strict[first.value_start : first.end]


def indent_of(strict: str) -> str:
    """What the first member of the file is indented with."""
    top = next_solid(strict, 0) + 1
    blank = strict[top : next_solid(strict, top)]
    return blank.rpartition("\n")[2] or "  "


def without_member(text: str, member: Member) -> str:
    after = next_solid(spaced_out(COMMENT, text), member.end)
    if text[after] == ",":
        return text[: member.start] + text[after + 1 :].lstrip()
    # It was the last member, so the comma before it goes, and a comment between the two stays.
    before = len(strict_json(text)[: member.start].rstrip())
    between = text[before : member.start]
    if not between.strip():
        between = ""
    return text[:before].removesuffix(",") + between + text[member.end :]


def members(strict: str, object_start: int) -> dict[str, Member]:
    """The members of an object by key; the last of two with the same key, as parsers read it."""
    found = {}
    position = next_solid(strict, object_start + 1)
    while strict[position] != "}":
        key, key_end = DECODER.raw_decode(strict, position)
        value_start = next_solid(strict, strict.index(":", key_end) + 1)
        _, end = DECODER.raw_decode(strict, value_start)
        found[key] = Member(position, value_start, end)
        position = next_solid(strict, end)
        if strict[position] == ",":
            position = next_solid(strict, position + 1)
    return found


def strict_json(text: str) -> str:
    """Strict JSON of the same length: comments and trailing commas become spaces."""
    return spaced_out(TRAILING_COMMA, spaced_out(COMMENT, text))


def spaced_out(pattern: re.Pattern[str], text: str) -> str:
    """The text at its old length, with spaces for every match of the pattern's first group."""

    def spaces(found: re.Match[str]) -> str:
        if not found[1]:
            return found[0]
        return re.sub(r"[^\r\n]", " ", found[0])

    return pattern.sub(spaces, text)


def next_solid(text: str, position: int) -> int:
    """The position of the next character that is not white space."""
    return len(text) - len(text[position:].lstrip())
