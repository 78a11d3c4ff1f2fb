"""A small template language (docs/how-to/prompts.md), checked as a whole before anything is filled in."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from html import escape
from typing import NamedTuple, cast

from memolith.domain.attributes import Json
from memolith.errors import InvalidInput, TooLarge

LONGEST, DEEPEST, MOST_TOLD = 100_000, 10, 100
# What a result may cost: its characters, and a little for every piece, for empty rounds are work too.
MOST_WORK, PIECE = 2_000_000, 8
RESERVED = ("system_", "subcog_", "__")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FENCE = r"^[ ]{0,3}(?P<mark>`{3,}+|~{3,}+)[^\n]*\n(?:.*?\n)??[ ]{0,3}(?P=mark)[`~]*[ \t]*$"
# A line with nothing but the beginning or the end of a block on it leaves no line behind.
_TOKEN = re.compile(
    rf"(?P<fence>{_FENCE})"
    r"|(?P<brace>\\{\\{|\\}\\})|^[ \t]*{{(?P<lone>[#/][^{}]*|else)}}[ \t]*\n"
    r"|{{(?P<tag>[^{}]*)}}|(?P<stray>{{|}})",
    re.M | re.S,
)
_HEADING = re.compile(rf"{_FENCE}|^(?P<level>\#{{1,6}})[ \t]+(?P<title>[^\n]*)$", re.M | re.S)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]")
_PLURAL = re.compile(r"(?<=.)(?:(ie)|(?<=ss|ch|sh)e|(?<=x)e)?s$")


class Part(NamedTuple):
    """A value by its path, or what is repeated or chosen by it; a free one is no part of what a loop goes through."""

    kind: str
    path: tuple[str, ...]
    free: bool
    body: "list[Part | str]"
    other: "list[Part | str]"

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
        self.names, self._declared, self._problems = dict[str, bool](), declared, list[str]()
        self._content, self._pieces = content, _pieces(content)
        self.parts, _ = self._read(())
        if not content.strip():
            self._fault(0, "there is nothing")
        if self._problems:
            raise InvalidInput(
                f"The content cannot be used; problems: {'; '.join(self._problems)}.",
                field="content",
            )

    def _read(self, blocks: tuple[Part, ...], *ends: str) -> tuple[list[Part | str], str]:
        """What stands before one of the tags that end the innermost block, and which of them it was."""
        parts = list[Part | str]()
        for at, sort, text in self._pieces:
            kind, _, name = text[1:].partition(" ")
            if sort == "text":
                parts.append(text)
            elif sort == "stray":
                self._fault(
                    at, f"`{text}` has no partner; `\\{text[0]}\\{text[0]}` stays as braces"
                )
            elif text in ends:
                return parts, text
            elif text == "else" or text[:1] == "/":
                self._fault(at, f"`{text}` has no block that it belongs to")
            elif text[:1] != "#" or kind not in ("each", "if"):
                parts.append(self._part("value", text, at, blocks))
            elif len(blocks) == DEEPEST:
                self._fault(at, f"blocks are nested more than {DEEPEST} deep")
            else:
                parts.append(part := self._part(kind, name.strip(), at, blocks))
                part.body[:], end = self._read(
                    (*blocks, part), f"/{kind}", *["else"] * (kind == "if")
                )
                if end == "else":
                    part.other[:], end = self._read((*blocks, part), "/if")
                if not end:
                    self._fault(at, f"`#{kind}` is not closed by `/{kind}`")
        return parts, ""

    def _fault(self, at: int, problem: str) -> None:
        if len(self._problems) < MOST_TOLD:
            self._problems.append(f"line {self._content.count(chr(10), 0, at) + 1}: {problem}")

    def _part(self, kind: str, text: str, at: int, blocks: tuple[Part, ...]) -> Part:
        path = tuple(text.split("."))
        inside = {word for part in blocks if part.kind == "each" for word in (part.one, "this")}
        if not all(map(NAME.fullmatch, path)):
            self._fault(
                at,
                f"`{text[:60]}` is no name; use letters, digits and _, and dots between names"
                if text
                else "a name is missing",
            )
        elif path[0].lower().startswith(RESERVED):
            self._fault(
                at, f"`{text[:60]}` is reserved, as all that begins with {', '.join(RESERVED)}"
            )
        elif path[0] == "this" and not inside:
            self._fault(at, "`this` has a meaning inside of `#each` only")
        elif path[0] not in inside:
            if self._declared is not None and path[0] not in self._declared:
                self._fault(at, f"`{path[0]}` is not among the variables that are defined")
            needed = kind != "if" and all(part.kind == "each" for part in blocks)
            self.names[path[0]] = needed or self.names.get(path[0], False)
        return Part(kind, path, path[0] not in inside, [], [])

    def render(self, values: Mapping[str, Json], needed: Iterable[str] = ()) -> str:
        """The text with the values in it; those that are missing are all named, as are others that are needed."""
        missing, pieces, work = (
            dict.fromkeys(name for name in needed if values.get(name) is None),
            list[str](),
            0,
        )
        for piece in _filled(self.parts, values, missing):
            pieces.append(piece)
            if (work := work + len(piece) + PIECE) > MOST_WORK:
                raise TooLarge(
                    f"The result would have more than {MOST_WORK:,} characters.", field="variables"
                )
        if missing:
            raise InvalidInput(f"Values are missing for: {', '.join(missing)}.", field="variables")
        return _CONTROL.sub("", "".join(pieces))


def _pieces(content: str) -> Iterator[tuple[int, str, str]]:
    """The place, sort and text of each tag, of the text between them, and of braces without a partner."""
    end = 0
    for found in _TOKEN.finditer(content):
        yield end, "text", content[end : found.start()]
        sort, text, end = str(found.lastgroup), found[str(found.lastgroup)], found.end()
        plain = {"fence": text, "brace": text.replace("\\", "")}
        yield found.start(), "text" if sort in plain else sort, plain.get(sort, text.strip())
    yield end, "text", content[end:]


def _filled(
    parts: Sequence[Part | str], scope: Mapping[str, Json], missing: dict[str, None]
) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
            continue
        name, value = (
            ".".join(part.path),
            reduce(
                lambda found, step: found.get(step) if isinstance(found, dict) else None,
                part.path,
                cast("Json", scope),
            ),
        )
        if part.kind == "if":
            yield from _filled(part.body if value else part.other, scope, missing)
        elif value is None and part.free:
            missing[name] = None
        elif part.kind == "value":
            yield _text(value)
        elif not isinstance(value, list | None):
            raise InvalidInput(f"`{name}` is repeated, so it must be a list.", field="variables")
        else:
            for entry in value or ():
                yield from _filled(part.body, {**scope, part.one: entry, "this": entry}, missing)


def _text(value: Json) -> str:
    if isinstance(value, list) and not any(isinstance(entry, list | dict) for entry in value):
        return ", ".join(map(_text, value))
    return (
        value
        if isinstance(value, str)
        else ""
        if value is None
        else json.dumps(value, ensure_ascii=False)
    )


def as_json(text: str) -> str:
    return json.dumps({"sections": _sections(text), "raw": text}, ensure_ascii=False, indent=2)


def as_xml(text: str) -> str:
    return "\n".join(
        [
            "<context>",
            *(
                '<section level="{level}" title="{title}">{content}</section>'.format_map(
                    {name: escape(str(value)) for name, value in one.items()}
                )
                for one in _sections(text)
            ),
            "</context>",
        ]
    )


def _sections(text: str) -> list[dict[str, Json]]:
    """The text cut at headings outside of code; what stands before the first has level 0."""
    heads = [found for found in _HEADING.finditer(text) if found["level"]]
    cuts = [(0, "", 0), *((len(one["level"]), one["title"].strip(), one.end()) for one in heads)]
    found = [
        {"level": level, "title": title, "content": text[start:end].strip("\n")}
        for (level, title, start), end in zip(
            cuts, (*(one.start() for one in heads), len(text)), strict=True
        )
    ]
    return [one for one in found if one["level"] or str(one["content"]).strip()]
