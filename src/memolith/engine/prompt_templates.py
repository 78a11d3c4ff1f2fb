"""A small template language for prompts; docs/how-to/prompts.md describes it.

A template is checked as a whole before anything is filled in.
"""

import json
import re
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Literal, NamedTuple

from memolith.domain.attributes import Json
from memolith.errors import InvalidInput, TooLarge

MAX_TEMPLATE_CHARACTERS = 100_000
MAX_BLOCK_DEPTH = 10
MAX_PROBLEMS_TOLD = 100
MAX_NAMES_IN_PATH = 20
"""A path is walked again in every round of a loop."""
MAX_RENDER_COST = 2_000_000
"""What a result may cost: one for each character, and a little for each piece."""
COST_PER_PIECE = 8
"""Rounds of a loop that write nothing are work, too."""
RESERVED_PREFIXES = ("system_", "subcog_", "__")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,}+|~{3,}+)(?P<rest>[^\n]*)$", re.M)
_AFTER_CLOSING_MARK = re.compile(r"[`~]*[ \t]*")
# A line with nothing on it but the beginning or the end of a block leaves no line behind.
_TOKEN = re.compile(
    r"(?P<brace>\\{\\{|\\}\\})|^[ \t]*{{(?P<lone>[#/][^{}]*|else)}}[ \t]*\n"
    r"|{{(?P<tag>[^{}]*)}}|(?P<stray>{{|}})",
    re.M | re.S,
)
_HEADING = re.compile(r"^(?P<level>#{1,6})[ \t]+(?P<title>[^\n]*)$", re.M)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]")
_PLURAL_ENDING = re.compile(r"(?<=.)(?:(ie)|(?<=ss|ch|sh)e|(?<=x)e)?s$")


class Part(NamedTuple):
    """A value by its path, or a block that is repeated or chosen by that value."""

    kind: str
    """`value`, `each` or `if`."""
    path: tuple[str, ...]
    is_variable: bool
    """Whether the path begins with a variable of the template, and not with an entry of a loop."""
    body: "list[Part | str]"
    alternative: "list[Part | str]"
    """What stands after `else`."""

    @property
    def entry_name(self) -> str:
        """What one entry of a list is called: memories has a memory, boxes a box."""
        plural = self.path[-1]
        singular = _PLURAL_ENDING.sub(lambda ending: "y" if ending[1] else "", plural)
        return "item" if singular == plural else singular


class Token(NamedTuple):
    """A tag, the text between tags, or braces without a partner."""

    position: int
    kind: Literal["text", "tag", "stray"]
    text: str


class Section(NamedTuple):
    """A part of a text below a heading; what stands before the first has level 0."""

    level: int
    title: str
    content: str


class Template:
    """A template that was read and found to be sound."""

    def __init__(self, content: str, declared: Collection[str] | None = None) -> None:
        if len(content) > MAX_TEMPLATE_CHARACTERS:
            raise TooLarge(
                f"The content has more than {MAX_TEMPLATE_CHARACTERS:,} characters.",
                field="content",
            )
        parser = _Parser(content, declared)
        self.parts = parser.parse()
        self.names = parser.names
        """The variables of the template, and whether each is needed."""

    def render(self, values: Mapping[str, Json], needed: Iterable[str] = ()) -> str:
        """The text with the values in it; every value that is missing is named in the error.

        `needed` are names that must have a value even if the template does without.
        """
        missing = dict.fromkeys(name for name in needed if values.get(name) is None)
        pieces = []
        cost = 0
        for piece in _filled(self.parts, ChainMap(dict(values)), missing):
            pieces.append(piece)
            cost += len(piece) + COST_PER_PIECE
            if cost > MAX_RENDER_COST:
                raise TooLarge(
                    f"The result would have more than {MAX_RENDER_COST:,} characters.",
                    field="variables",
                )
        if missing:
            raise InvalidInput(f"Values are missing for: {', '.join(missing)}.", field="variables")
        return _CONTROL.sub("", "".join(pieces))


class _Parser:
    """Reads a template, and collects every problem in it."""

    def __init__(self, content: str, declared: Collection[str] | None) -> None:
        self.names: dict[str, bool] = {}
        self._content = content
        self._declared = declared
        self._tokens = _tokens(content)
        self._problems: list[str] = []

    def parse(self) -> list[Part | str]:
        parts, _ = self._read((), ())
        if not self._content.strip():
            self._fault(0, "there is nothing")
        if self._problems:
            raise InvalidInput(
                f"The content cannot be used; problems: {'; '.join(self._problems)}.",
                field="content",
            )
        return parts

    def _read(
        self, blocks: tuple[Part, ...], end_tags: tuple[str, ...]
    ) -> tuple[list[Part | str], str]:
        """The parts up to one of the tags that end the innermost block, and which tag it was."""
        parts: list[Part | str] = []
        for token in self._tokens:
            text = token.text
            if token.kind == "text":
                parts.append(text)
            elif token.kind == "stray":
                escaped = f"\\{text[0]}\\{text[0]}"
                self._fault(token.position, f"`{text}` has no partner; `{escaped}` stays as braces")
            elif text in end_tags:
                return parts, text
            elif text == "else" or text.startswith("/"):
                self._fault(token.position, f"`{text}` has no block that it belongs to")
            elif text.startswith(("#each ", "#if ")) or text in ("#each", "#if"):
                if len(blocks) < MAX_BLOCK_DEPTH:
                    parts.append(self._read_block(token, blocks))
                else:
                    self._fault(
                        token.position, f"blocks are nested more than {MAX_BLOCK_DEPTH} deep"
                    )
            else:
                parts.append(self._part("value", text, token.position, blocks))
        return parts, ""

    def _read_block(self, token: Token, blocks: tuple[Part, ...]) -> Part:
        """A block with everything up to its end."""
        kind, _, name = token.text[1:].partition(" ")
        part = self._part(kind, name.strip(), token.position, blocks)
        inside = (*blocks, part)
        end_tags = ("/if", "else") if kind == "if" else ("/each",)
        body, end = self._read(inside, end_tags)
        part.body.extend(body)
        if end == "else":
            alternative, end = self._read(inside, ("/if",))
            part.alternative.extend(alternative)
        if not end:
            self._fault(token.position, f"`#{kind}` is not closed by `/{kind}`")
        return part

    def _part(self, kind: str, text: str, position: int, blocks: tuple[Part, ...]) -> Part:
        path = tuple(text.split("."))
        entry_names: set[str] = set()
        for block in blocks:
            if block.kind == "each":
                entry_names.update((block.entry_name, "this"))
        is_variable = path[0] not in entry_names
        problem = self._name_problem(text, path, entry_names)
        if problem:
            self._fault(position, problem)
        elif is_variable:
            if self._declared is not None and path[0] not in self._declared:
                self._fault(position, f"`{path[0]}` is not among the variables that are defined")
            # Inside of an `if`, a value may turn out not to be needed.
            is_needed = kind != "if" and all(block.kind == "each" for block in blocks)
            self.names[path[0]] = is_needed or self.names.get(path[0], False)
        return Part(kind, path, is_variable, [], [])

    def _name_problem(self, text: str, path: tuple[str, ...], entry_names: set[str]) -> str | None:
        """What is wrong with the name of a value."""
        if not text:
            return "a name is missing"
        if len(path) > MAX_NAMES_IN_PATH:
            return f"`{text[:60]}` has more than {MAX_NAMES_IN_PATH} names with dots between them"
        if not all(NAME.fullmatch(name) for name in path):
            return f"`{text[:60]}` is no name; use letters, digits and _, and dots between names"
        if path[0].lower().startswith(RESERVED_PREFIXES):
            prefixes = ", ".join(RESERVED_PREFIXES)
            return f"`{text[:60]}` is reserved, as all that begins with {prefixes}"
        if path[0] == "this" and not entry_names:
            return "`this` has a meaning inside of `#each` only"
        return None

    def _fault(self, position: int, problem: str) -> None:
        if len(self._problems) < MAX_PROBLEMS_TOLD:
            line = self._content.count("\n", 0, position) + 1
            self._problems.append(f"line {line}: {problem}")


def _tokens(content: str) -> Iterator[Token]:
    """The tags of a template and the text between them; code in fences is text."""
    fences = _Fences(content)
    end = 0
    match = _TOKEN.search(content)
    while match is not None:
        fence = fences.first_from(end)
        if fence is not None and fence.start < match.start():
            yield Token(end, "text", content[end : fence.end])
            end = fence.end
            if match.start() < end:
                match = _TOKEN.search(content, end)
            continue
        yield Token(end, "text", content[end : match.start()])
        end = match.end()
        group = str(match.lastgroup)
        text = match[group]
        if group == "brace":
            yield Token(match.start(), "text", text.replace("\\", ""))
        elif group == "stray":
            yield Token(match.start(), "stray", text.strip())
        else:
            yield Token(match.start(), "tag", text.strip())
        match = _TOKEN.search(content, end)
    yield Token(end, "text", content[end:])


class Span(NamedTuple):
    """A part of a text."""

    start: int
    end: int


class _Fences:
    """The code in fences of a text, found from left to right in one pass.

    A fence is closed by a line with the same mark, at least as long. One that is not closed is
    text.
    """

    def __init__(self, text: str) -> None:
        self._lines = list(_FENCE.finditer(text))
        self._longest_closing = _longest_closing_marks(self._lines)
        self._next_line = 0
        self._next_fence: Span | None = None

    def first_from(self, position: int) -> Span | None:
        """The first fence that begins there or later; positions must not go back."""
        while self._next_fence is None or self._next_fence.start < position:
            if self._next_line == len(self._lines):
                return None
            self._read_line(position)
        return self._next_fence

    def _read_line(self, position: int) -> None:
        """Take the next line with a mark; with all up to its end, if it begins a fence there."""
        opening = self._lines[self._next_line]
        mark = opening["mark"]
        self._next_line += 1
        longest = self._longest_closing[self._next_line].get(mark[0], 0)
        if opening.start() < position or longest < len(mark):
            return
        line = self._lines[self._next_line]
        while not (line["mark"].startswith(mark) and _is_closing(line)):
            self._next_line += 1
            line = self._lines[self._next_line]
        self._next_line += 1
        self._next_fence = Span(opening.start(), line.end())


def _is_closing(line: re.Match[str]) -> bool:
    return _AFTER_CLOSING_MARK.fullmatch(line["rest"]) is not None


def _longest_closing_marks(lines: Sequence[re.Match[str]]) -> list[dict[str, int]]:
    """For each line: how long the longest mark of each kind is that closes there or later."""
    longest: dict[str, int] = {}
    from_the_end = [longest]
    for line in reversed(lines):
        kind = line["mark"][0]
        if _is_closing(line) and len(line["mark"]) > longest.get(kind, 0):
            longest = {**longest, kind: len(line["mark"])}
        from_the_end.append(longest)
    return from_the_end[::-1]


def _filled(
    parts: Sequence[Part | str], scope: ChainMap[str, Json], missing: dict[str, None]
) -> Iterator[str]:
    """The pieces of the result; variables without a value are added to `missing`."""
    for part in parts:
        if isinstance(part, str):
            yield part
            continue
        name = ".".join(part.path)
        value = _value_at(scope, part.path)
        if part.kind == "if":
            yield from _filled(part.body if value else part.alternative, scope, missing)
        elif value is None and part.is_variable:
            missing[name] = None
        elif part.kind == "value":
            yield _text(value)
        elif value is None:
            continue
        elif isinstance(value, list):
            for entry in value:
                # On top of the others: copying them for every entry takes the product of both.
                entry_scope = ChainMap({part.entry_name: entry, "this": entry}, *scope.maps)
                yield from _filled(part.body, entry_scope, missing)
        else:
            raise InvalidInput(f"`{name}` is repeated, so it must be a list.", field="variables")


def _value_at(scope: Mapping[str, Json], path: Sequence[str]) -> Json:
    """The value at a path of names; None if there is none."""
    value = scope.get(path[0])
    for name in path[1:]:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _text(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and not any(isinstance(entry, list | dict) for entry in value):
        return ", ".join(_text(entry) for entry in value)
    return json.dumps(value, ensure_ascii=False)


def as_json(text: str) -> str:
    """A rendered text as JSON, cut into its sections."""
    sections = [section._asdict() for section in _sections(text)]
    return json.dumps({"sections": sections, "raw": text}, ensure_ascii=False, indent=2)


def as_xml(text: str) -> str:
    """A rendered text as XML, cut into its sections."""
    lines = ["<context>"]
    for section in _sections(text):
        title = escape(section.title)
        content = escape(section.content)
        lines.append(f'<section level="{section.level}" title="{title}">{content}</section>')
    lines.append("</context>")
    return "\n".join(lines)


def _headings(text: str) -> list[re.Match[str]]:
    """The headings outside of code."""
    fences = _Fences(text)
    headings = []
    end = 0
    for match in _HEADING.finditer(text):
        fence = fences.first_from(end)
        while fence is not None and fence.end <= match.start():
            end = fence.end
            fence = fences.first_from(end)
        if fence is None or match.start() < fence.start:
            headings.append(match)
    return headings


def _sections(text: str) -> list[Section]:
    """The text cut at headings outside of code."""
    headings = _headings(text)
    first_end = headings[0].start() if headings else len(text)
    sections = []
    if text[:first_end].strip():
        sections.append(Section(0, "", text[:first_end].strip("\n")))
    ends = [heading.start() for heading in headings[1:]]
    for heading, end in zip(headings, [*ends, len(text)], strict=False):
        content = text[heading.end() : end].strip("\n")
        sections.append(Section(len(heading["level"]), heading["title"].strip(), content))
    return sections
