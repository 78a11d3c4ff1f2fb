"""Puts one entry into the text of a config file, or takes it out, and leaves every other byte alone.

The file belongs to somebody else: comments, order, indentation and line ends are his, so nothing is written anew.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

Entry = dict[str, Any]

_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(_STRING + r"|(//[^\r\n]*|/\*.*?\*/|\A\ufeff)", re.DOTALL)
_SPARE_COMMA = re.compile(_STRING + r"|(,)(?=\s*[}\]])", re.DOTALL)
_ASIDE = re.compile(r"""("{3}(?:\\.|[^\\])*?"{3}|'{3}.*?'{3}|#[^\r\n]*|\A\ufeff)"""
                    r"""|"(?:\\.|[^"\\\r\n])*"|'[^'\r\n]*'""", re.DOTALL)
# A line of an array may look like the header of a table, but it has commas outside of quotes.
_HEADER = re.compile(r"""^[ \t]*\[\[?((?:"(?:\\.|[^"\\\r\n])*"|'[^'\r\n]*'|[^"',\r\n])+?)\]\]?[ \t\r]*$""", re.M)
_INDENTED = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_SOLID = re.compile(r"\S")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Form:
    """A way to write a config file; `read` raises ValueError for a text that is not of it."""

    name: str
    comments: bool
    read: Callable[[str], Entry]
    put: Callable[[str, str, str, Entry], str]
    drop: Callable[[str, str, str], str]


def has_comments(text: str) -> bool:
    """Whether a JSON text holds what strict JSON does not allow."""
    return JsonText(text).plain != text


def _whitened(pattern: re.Pattern[str], text: str) -> str:
    """The text at its old length, with spaces where the group of the pattern was found."""
    return pattern.sub(lambda found: re.sub(r"[^\r\n]", " ", found[0]) if found[1] else found[0], text)


def _solid(text: str, at: int) -> int:
    found = _SOLID.search(text, at)
    return found.start() if found else len(text)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


class Member(NamedTuple):
    """A key of an object: where its quote, its value and the end of its value stand."""

    start: int
    value: int
    stop: int


class Block(NamedTuple):
    """An object between its braces; of two members with the same key the last counts, as for every parser."""

    start: int
    close: int
    members: dict[str, Member]


class JsonText:
    """A JSON text, perhaps with comments and spare commas, of which positions are known."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bare = _whitened(_COMMENT, text)
        self.plain = _whitened(_SPARE_COMMA, self.bare)
        self.line = _newline(text)
        found = _INDENTED.search(self.plain)
        self.unit = found[1] if found else "  "
        self.separators = (", ", ": ") if re.search(r'"\s*: ', self.plain) else (",", ":")

    @property
    def root(self) -> Block:
        return self.block(_solid(self.plain, 0))

    def block(self, start: int) -> Block:
        """The object that begins there; the text must be known to parse."""
        members = {}
        at = _solid(self.plain, start + 1)
        while self.plain[at] != "}":
            key, end = _DECODER.raw_decode(self.plain, at)
            value = _solid(self.plain, self.plain.index(":", end) + 1)
            stop = _DECODER.raw_decode(self.plain, value)[1]
            members[key] = Member(at, value, stop)
            at = _solid(self.plain, stop)
            at = _solid(self.plain, at + 1) if self.plain[at] == "," else at
        return Block(start, at, members)

    def lead(self, at: int) -> str:
        """The white space at the beginning of the line of a position."""
        line = self.text[self.text.rfind("\n", 0, at) + 1:at]
        return line[:_solid(line, 0)]

    def indent(self, block: Block) -> str:
        """The indentation of a member that has a line of its own."""
        last = max((member.start for member in block.members.values()), default=0)
        lead = self.lead(last)
        return lead if block.members and self.text[:last].endswith("\n" + lead) else self.lead(block.start) + self.unit

    def is_one_line(self, block: Block) -> bool:
        inside_a_line = "\n" not in self.plain.strip() and block.start > _solid(self.plain, 0)
        return "\n" not in self.text[block.start:block.close] and (bool(block.members) or inside_a_line)

    def rendered(self, block: Block, value: object) -> str:
        """The value in the manner of the object that it goes into."""
        if self.is_one_line(block):
            return json.dumps(value, ensure_ascii=False, separators=self.separators)
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit)
        return lines.replace("\n", self.line + self.indent(block))

    def inserted(self, block: Block, key: str, value: object) -> str:
        """The text with a new last member, behind the comments that follow the present last one."""
        last, end = (len(text[:block.close].rstrip()) for text in (self.plain, self.text))
        spare = "," in self.bare[last:end]
        head = self.text[:last] + ("," if block.members and not spare else "") + self.text[last:end]
        comma, colon = self.separators if self.is_one_line(block) else (",", ": ")
        member = json.dumps(key, ensure_ascii=False) + colon + self.rendered(block, value)
        if self.is_one_line(block):
            return head + (comma[1:] if block.members else "") + member + self.text[end:]
        tail = "" if "\n" in self.text[end:block.close] else self.line + self.lead(block.start)
        return head + self.line + self.indent(block) + member + tail + self.text[end:]

    def without(self, block: Block, member: Member) -> str:
        """The text without that member, its comma and the white space before it."""
        if not (self.text[block.start + 1:member.start] + self.text[member.stop:block.close]).strip(", \t\r\n"):
            return self.text[:block.start + 1] + self.text[block.close:]
        start, stop, after = len(self.text[:member.start].rstrip()), member.stop, _solid(self.bare, member.stop)
        if self.bare[after] == ",":
            return self.text[:start] + self.text[after + 1:]
        before = len(self.plain[:member.start].rstrip())
        comma = before - 1 if self.plain[before - 1] == "," else before
        return self.text[:comma] + self.text[before:start] + self.text[stop:]


def _read_json(text: str) -> Entry:
    plain = JsonText(text).plain
    data = json.loads(plain) if plain.strip() else {}
    if not isinstance(data, dict):
        raise ValueError("the whole must be an object")
    return data


def _put_json(text: str, key: str, name: str, value: Entry) -> str:
    json_text = JsonText(text if JsonText(text).plain.strip() else text + "{}" + _newline(text))
    servers = json_text.root.members.get(key)
    if servers is None:
        return json_text.inserted(json_text.root, key, {name: value})
    block = json_text.block(servers.value)
    ours = block.members.get(name)
    if ours is None:
        return json_text.inserted(block, name, value)
    return json_text.text[:ours.value] + json_text.rendered(block, value) + json_text.text[ours.stop:]


def _drop_json(text: str, key: str, name: str) -> str:
    json_text = JsonText(text)
    servers = json_text.root.members.get(key)
    block = json_text.block(servers.value) if servers else None
    return json_text.without(block, block.members[name]) if block and name in block.members else text


def _spans(text: str, key: str, name: str) -> list[tuple[int, int]]:
    """Where a table and its subtables stand, without the comments that lead to the next one."""
    plain = _whitened(_ASIDE, text)
    ours = re.compile(r"\s*\.\s*".join(rf"""(?:{part}|"{part}"|'{part}')""" for part in (key, name)) + r"\s*(?:\.|\Z)")
    headers = [(found.start(), bool(ours.match(found[1].strip()))) for found in _HEADER.finditer(plain)]
    spans = []
    for (start, wanted), (following, _) in pairwise([*headers, (len(text), False)]):
        if wanted:
            end = text.find("\n", start + len(plain[start:following].rstrip()))
            spans.append((start, len(text) if end < 0 else end + 1))
    return spans


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else str(value)


def _read_toml(text: str) -> Entry:
    return tomllib.loads(text.removeprefix("\ufeff"))


def _put_toml(text: str, key: str, name: str, value: Entry) -> str:
    line = _newline(text)
    table = line.join([f"[{key}.{name}]", *(f"{field} = {_toml(inner)}" for field, inner in value.items())])
    spans = _spans(text, key, name)
    for span in reversed(spans[1:]):
        text = _cut(text, span)
    if spans:
        start, stop = spans[0]
        return text[:start] + table + (line if text[:stop].endswith("\n") else "") + text[stop:]
    ended = not text or text.endswith("\n")
    gap = ("" if ended else line) + (line if text.strip() else "")
    return text + gap + table + (line if ended else "")


def _drop_toml(text: str, key: str, name: str) -> str:
    for span in reversed(_spans(text, key, name)):
        text = _cut(text, span)
    return text


def _cut(text: str, span: tuple[int, int]) -> str:
    """The text without a table and the empty line before it."""
    line = _newline(text)
    head, tail = text[:span[0]], text[span[1]:]
    head = head.removesuffix(line) if head.endswith(line * 2) else head
    return (head if tail or text.endswith("\n") else head.removesuffix(line)) + tail


JSON = Form("json", False, _read_json, _put_json, _drop_json)
JSONC = Form("jsonc", True, _read_json, _put_json, _drop_json)
TOML = Form("toml", True, _read_toml, _put_toml, _drop_toml)
