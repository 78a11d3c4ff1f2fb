"""Turning results into HTML: the templates, and how values are written for people."""

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from jinja2.runtime import Context

from memolith import __version__
from memolith.doors.page.event_words import deed, event_words
from memolith.doors.page.read_words import read_verb, read_way

PACKAGE = "memolith.doors.page"
CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
FRAME = "base.html"
"""The template around every page."""
Block = Callable[[Context], Iterator[str]]
"""What shows one block of a template."""
DATE_LENGTH = len("2026-11-16")
MAX_TITLE_LENGTH = 80
MINUTE_LENGTH = len("2026-11-16T12:30")


class DiffPart(NamedTuple):
    """A piece of a text that was kept, added or removed."""

    change: str
    text: str


class StaticFile(NamedTuple):
    """A file of the page, and what it is."""

    content: bytes
    content_type: str


def day(at: str) -> str:
    """The date of a time."""
    return at[:DATE_LENGTH]


def minute(at: str) -> str:
    """A time up to the minute, in UTC."""
    return at[:MINUTE_LENGTH].replace("T", " ")


def number(value: float) -> str:
    """A number with commas between thousands."""
    return f"{value:,}"


def size(value: float) -> str:
    """A number of bytes for people, in the units in which limits are set."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.1f}".removesuffix(".0") + f" {unit}"
        value /= 1024
    raise AssertionError("the last unit takes everything")


def percent(value: float) -> str:
    """A probability for people."""
    return "< 1 %" if value < 0.01 else f"{100 * value:.0f} %"


def shortened(text: str, limit: int = MAX_TITLE_LENGTH) -> str:
    """The text on one line; a long one ends at a word and with dots.

    A text of just the limit counts as long: titles that memolith makes are cut there.
    """
    line = " ".join(text.split())
    if len(line) < limit:
        return line
    beginning, _, _ = line[:limit].rpartition(" ")
    if len(beginning) < limit // 2:
        # One very long word.
        beginning = line[: limit - 1]
    return beginning.rstrip(" ,;:.") + "…"


def heading(title: str, text: str) -> str:
    """What to call an item: by its title, or by how its text begins."""
    if title and not (len(title) >= MAX_TITLE_LENGTH and text.startswith(title)):
        return title
    return shortened(title or text)


def list_changes(old: object, new: object) -> list[tuple[str, list[str]]]:
    """What was added to a list and what was removed from it."""
    before = old if isinstance(old, list | tuple) else []
    after = new if isinstance(new, list | tuple) else []
    changes = [
        ("added", [str(entry) for entry in after if entry not in before]),
        ("removed", [str(entry) for entry in before if entry not in after]),
    ]
    return [change for change in changes if change[1]]


def plain(value: object) -> str:
    """Any JSON value as text: a text as it is, the rest as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


class Comparisons:
    """Tells what changed from one value to another; all comparisons of a page share one budget."""

    def __init__(self) -> None:
        self.work_left = MAX_WORK_PER_PAGE

    def difference(self, old: object, new: object) -> list[DiffPart]:
        """What changed: by words, in long texts by sentences, in very long ones as a whole."""
        before = plain(old)
        after = plain(new)
        for split in (_words, _sentences):
            stretch = Stretch.between(split(before), split(after))
            if stretch.work <= min(MAX_WORK, self.work_left):
                self.work_left -= stretch.work
                return list(stretch.parts())
        return list(_replaced(before, after))


MAX_WORK = 100_000
"""How much is compared piece by piece.

The time that a comparison takes can grow with the third power of the number of pieces.
"""
MAX_WORK_PER_PAGE = 300_000
SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*|[.!?\n]+")


class Stretch(NamedTuple):
    """The pieces of two texts, apart from those with which both begin and both end."""

    beginning: list[str]
    before: list[str]
    after: list[str]
    end: list[str]

    @classmethod
    def between(cls, before: list[str], after: list[str]) -> "Stretch":
        start = _common(before, after)
        before = before[start:]
        beginning, after = after[:start], after[start:]
        same_at_end = _common(before[::-1], after[::-1])
        middle = len(after) - same_at_end
        return cls(beginning, before[: len(before) - same_at_end], after[:middle], after[middle:])

    @property
    def work(self) -> int:
        return len(self.before) * len(self.after)

    def parts(self) -> Iterator[DiffPart]:
        if self.beginning:
            yield DiffPart("kept", "".join(self.beginning))
        matcher = difflib.SequenceMatcher(a=self.before, b=self.after, autojunk=False)
        for tag, first, last, new_first, new_last in matcher.get_opcodes():
            old = "".join(self.before[first:last])
            if tag == "equal":
                yield DiffPart("kept", old)
            else:
                yield from _replaced(old, "".join(self.after[new_first:new_last]))
        if self.end:
            yield DiffPart("kept", "".join(self.end))


def _replaced(old: str, new: str) -> Iterator[DiffPart]:
    if old:
        yield DiffPart("removed", old)
    if new:
        yield DiffPart("added", new)


def _common(before: list[str], after: list[str]) -> int:
    """With how many pieces both begin."""
    count = 0
    for old, new in zip(before, after, strict=False):
        if old != new:
            break
        count += 1
    return count


def _sentences(text: str) -> list[str]:
    """The text in pieces that end with a line or a sentence."""
    return SENTENCE.findall(text)


def _words(text: str) -> list[str]:
    """The text in pieces that begin at each word, so that joined they are the text."""
    pieces: list[str] = []
    for line in text.splitlines(keepends=True):
        words = line.split(" ")
        pieces += [word + " " for word in words[:-1]]
        pieces.append(words[-1])
    return [piece for piece in pieces if piece]


def address(path: str, **parameters: object) -> str:
    """A path with the parameters that have a value."""
    chosen: list[tuple[str, str]] = []
    for name, value in parameters.items():
        values = value if isinstance(value, list | tuple) else [value]
        chosen += [(name, str(part)) for part in values if part not in (None, "", False)]
    return f"{path}?{urlencode(chosen)}" if chosen else path


def bars(counts: Sequence[Mapping[str, Any]], field: str, height: int = 60) -> list[dict[str, Any]]:
    """The bars of a plot: one per entry, as high as its share of the largest."""
    largest = max((entry[field] for entry in counts), default=0) or 1
    return [
        {
            "x": position,
            "height": round(height * entry[field] / largest, 2),
            "y": round(height - height * entry[field] / largest, 2),
            "label": f"{entry['day']}: {entry[field]:,}",
        }
        for position, entry in enumerate(counts)
    ]


@cache
def templates() -> Environment:
    """The templates. Everything that is put into them is escaped."""
    environment = Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    texts = (day, minute, number, size, percent, plain, shortened)
    deeds = (event_words, deed, read_verb, read_way)
    for function in (*texts, *deeds):
        environment.filters[function.__name__] = function
    environment.globals.update(
        address=address,
        bars=bars,
        heading=heading,
        list_changes=list_changes,
        version=__version__,
    )
    # For every block, also for one that is rendered by itself.
    environment.globals["parts"] = environment.get_template("parts.html").module
    return environment


def render(name: str, values: Mapping[str, Any], part: str = "") -> str:
    """A page, or only the named block of it; the whole page if it has no such block."""
    template = templates().get_template(name)
    shown = {"difference": Comparisons().difference, **values}
    block = own_blocks(name).get(part)
    if block is None:
        return template.render(shown)
    return "".join(block(template.new_context(shown)))


def own_blocks(name: str) -> dict[str, Block]:
    """The blocks of a page that can be shown by themselves: those within its main block."""
    frame = templates().get_template(FRAME).blocks
    blocks = templates().get_template(name).blocks
    return {part: block for part, block in blocks.items() if part not in frame}


@cache
def static_files() -> dict[str, StaticFile]:
    """The scripts, style sheets and pictures of the page by their names."""
    found = {}
    for file in (files(PACKAGE) / "static").iterdir():
        content_type = CONTENT_TYPES.get(file.name[file.name.rfind(".") :])
        if content_type is not None:
            found[file.name] = StaticFile(file.read_bytes(), content_type)
    return found
