r"""A small template language, checked as a whole before anything is filled in.

`{{name}}` and `{{user.name}}` are values; `{{#each notes}} {{note.text}}, {{this.text}} {{/each}}` repeats, and
`{{#if name}} … {{else}} … {{/if}}` chooses. `\{\{` and `\}\}` stand for braces; fenced code is left as it is. A value
is text and nothing else: braces in it are never looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

from memolith.engine.model import Json
from memolith.errors import InvalidInput, TooLarge

LONGEST, LONGEST_VALUE, MOST_REPEATS, DEEPEST, MOST_TOLD = 100_000, 65_536, 1000, 10, 100
# What a result may cost: its characters, and a little for every piece, for empty rounds are work too.
MOST_WORK, PIECE = 2_000_000, 8
RESERVED = ("system_", "subcog_", "__")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FENCE = r"^[ ]{0,3}(?P<mark>`{3,}+|~{3,}+)[^\n]*\n(?:.*?\n)??[ ]{0,3}(?P=mark)[`~]*[ \t]*$"
# A line with nothing but the beginning or the end of a block on it leaves no line behind.
_TOKEN = re.compile(rf"(?P<fence>{_FENCE})" r"|(?P<brace>\\{\\{|\\}\\})|^[ \t]*{{(?P<lone>[#/][^{}]*|else)}}[ \t]*\n"
                    r"|{{(?P<tag>[^{}]*)}}|(?P<stray>{{|}})", re.M | re.S)
_LINE = re.compile(rf"{_FENCE}|^(?P<level>\#{{1,6}})[ \t]+(?P<title>[^\n]*)$|^[-*][ ](?P<item>[^\n]+)$|^[^\n]*$",
                   re.M | re.S)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]")
_PLURAL = re.compile(r"(?<=.)(?:(ie)|(?<=ss)e|(?<=x)e|(?<=ch)e|(?<=sh)e)?s$")


class Part(NamedTuple):
    """A value by its path, or what is repeated or chosen by it; a free one is no part of what a loop goes through."""

    kind: str
    path: tuple[str, ...]
    free: bool
    body: list[Part | str]
    other: list[Part | str]

    @property
    def one(self) -> str:
        """What one of its entries is called: memories has a memory, boxes a box."""
        name = _PLURAL.sub(lambda found: "y" if found[1] else "", self.path[-1])
        return "item" if name == self.path[-1] else name


class Template:
    """What a text says; `names` are those that it may be given, and whether it needs them."""

    def __init__(self, content: str, declared: Collection[str] | None = None) -> None:
        if len(content) > LONGEST:
            raise TooLarge(f"The content has more than {LONGEST:,} characters.", field="content")
        self.names, self.parts, self._content, self._declared = dict[str, bool](), list[Part | str](), content, declared
        self._problems, self._open, self._lists = list[str](), list[tuple[Part, int]](), [self.parts]
        end = 0
        for found in _TOKEN.finditer(content):
            self._lists[-1].append(content[end:found.start()])
            end, tag = found.end(), found["tag"] if found["lone"] is None else found["lone"]
            if tag is not None:
                self._tag(tag.strip(), found.start())
            elif stray := found["stray"]:
                self._fault(found.start(), f"`{stray}` has no partner; `\\{stray[0]}\\{stray[0]}` stays as braces")
            else:
                self._lists[-1].append(found["fence"] or found["brace"].replace("\\", ""))
        self._lists[-1].append(content[end:])
        for part, at in self._open:
            self._fault(at, f"`#{part.kind}` is not closed by `/{part.kind}`")
        if self._problems:
            raise InvalidInput(f"The content cannot be used; problems: {'; '.join(self._problems)}.", field="content")

    def _fault(self, at: int, problem: str) -> None:
        if len(self._problems) < MOST_TOLD:
            self._problems.append(f"line {self._content.count(chr(10), 0, at) + 1}: {problem}")

    def _tag(self, text: str, at: int) -> None:
        kind, _, rest = text[1:].partition(" ")
        inner = self._open[-1][0] if self._open else None
        if text[:1] == "#" and kind in ("each", "if"):
            part = self._part(kind, rest.strip(), at)
            self._open.append((part, at))
            self._lists.append(part.body)
            if len(self._open) > DEEPEST:
                self._fault(at, f"blocks are nested more than {DEEPEST} deep")
        elif text[:1] == "/" and inner and kind == inner.kind:
            del self._open[-1], self._lists[-1]
        elif text == "else" and inner and inner.kind == "if" and self._lists[-1] is inner.body:
            self._lists[-1] = inner.other
        elif text == "else" or text[:1] == "/":
            self._fault(at, f"`{text}` has no block that it belongs to")
        else:
            self._part("value", text, at)

    def _part(self, kind: str, text: str, at: int) -> Part:
        path, blocks = tuple(text.split(".")), [part for part, _ in self._open[:DEEPEST]]
        inside = {word for part in blocks if part.kind == "each" for word in (part.one, "this")}
        if not all(map(NAME.fullmatch, path)):
            self._fault(at, f"`{text[:60]}` is no name; use letters, digits and _, and dots between names"
                        if text else "a name is missing")
        elif path[0].lower().startswith(RESERVED):
            self._fault(at, f"`{text[:60]}` is reserved, as all that begins with {', '.join(RESERVED)}")
        elif path[0] == "this" and not inside:
            self._fault(at, "`this` has a meaning inside of `#each` only")
        elif path[0] not in inside:
            if self._declared is not None and path[0] not in self._declared:
                self._fault(at, f"`{path[0]}` is not among the variables that are defined")
            needed = kind != "if" and all(part.kind == "each" for part in blocks)
            self.names[path[0]] = needed or self.names.get(path[0], False)
        part = Part(kind, path, path[0] not in inside, [], [])
        self._lists[-1].append(part)
        return part

    def render(self, values: Mapping[str, Json], needed: Iterable[str] = ()) -> str:
        """The text with the values in it; those that are missing are all named, as are others that are needed."""
        missing, pieces, work = dict.fromkeys(name for name in needed if name not in values), list[str](), 0
        for piece in _filled(self.parts, values, missing):
            pieces.append(piece)
            work += len(piece) + PIECE
            if work > MOST_WORK:
                raise TooLarge(f"The result would have more than {MOST_WORK:,} characters.", field="variables")
        if missing:
            raise InvalidInput(f"Values are missing for: {', '.join(missing)}.", field="variables")
        return _CONTROL.sub("", "".join(pieces))


def _filled(parts: Sequence[Part | str], scope: Mapping[str, Json], missing: dict[str, None]) -> Iterator[str]:
    for part in parts:
        yield part if isinstance(part, str) else ""
        if isinstance(part, str):
            continue
        value, name = _looked_up(part, scope, missing), ".".join(part.path)
        if part.kind == "value":
            yield _text(name, value)
        elif part.kind == "if":
            yield from _filled(part.body if value else part.other, scope, missing)
        elif not isinstance(value, list) or len(value) > MOST_REPEATS:
            raise InvalidInput(f"`{name}` is repeated, so it must be a list of at most {MOST_REPEATS} entries.",
                               field="variables")
        else:
            for entry in value:
                yield from _filled(part.body, {**scope, part.one: entry, "this": entry}, missing)


def _looked_up(part: Part, scope: Mapping[str, Json], missing: dict[str, None]) -> Json:
    found: Json | Mapping[str, Json] = scope
    for step in part.path:
        if not isinstance(found, Mapping) or step not in found:
            if part.free and part.kind != "if":
                missing[".".join(part.path)] = None
            return [] if part.kind == "each" else None
        found = found[step]
    return found  # type: ignore[return-value]


def _text(name: str, value: Json) -> str:
    if isinstance(value, list) and not any(isinstance(entry, list | dict) for entry in value):
        return ", ".join(_text(name, entry) for entry in value)
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and len(text.encode()) > LONGEST_VALUE:
        raise TooLarge(f"The value of `{name}` has more than {LONGEST_VALUE:,} bytes.", field="variables")
    return text


def as_json(text: str) -> str:
    """A Markdown text by its headings, as JSON; what stands before the first has level 0."""
    cut = [{"level": level, "title": title, "content": "\n".join(line[0] for line in lines).strip("\n")}
           for level, title, lines in _sections(text)]
    return json.dumps({"sections": cut, "raw": text}, ensure_ascii=False, indent=2)


def as_xml(text: str) -> str:
    """A Markdown text as XML: a section per heading, in it an item per point of a list, and other text."""
    return "\n".join(["<context>", *(f'<section level="{level}" title="{escape(title)}">' + "".join(
        f"<item>{escape(line['item'])}</item>" if line["item"] else f"<text>{escape(line[0])}</text>"
        for line in lines if line[0]) + "</section>" for level, title, lines in _sections(text)), "</context>"])


def _sections(text: str) -> list[tuple[int, str, list[re.Match[str]]]]:
    found: list[tuple[int, str, list[re.Match[str]]]] = [(0, "", [])]
    for line in _LINE.finditer(text):
        if line["level"]:
            found.append((len(line["level"]), line["title"].strip(), []))
        else:
            found[-1][2].append(line)
    return found if any(line[0].strip() for line in found[0][2]) else found[1:]
