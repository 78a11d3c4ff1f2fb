"""Documentation in Markdown: a heading is what people search for, its section what they want."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from training.sources.pair import Builder, Pair
from training.sources.repository import Repository
from training.sources.text import Bm25, pieces, same_text, tidy

MIN_SECTION_CHARS = 160
SHORT_HEADING_WORDS = 4
EMPTY_HEADINGS = frozenset(
    (
        "additional information",
        "before you begin",
        "clean up",
        "cleaning up",
        "feedback",
        "further reading",
        "introduction",
        "next steps",
        "objectives",
        "overview",
        "prerequisites",
        "related",
        "see also",
        "summary",
        "what's next",
    )
)
"""Headings that say nothing about their section."""

_HEADING = re.compile(r"^#{1,5} +(.+?)(?: *\{#[^}]*\})? *#*$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_TITLE = re.compile(r"^title: *[\"']?(.+?)[\"']?$", re.MULTILINE)
_VARIABLE = re.compile(r"\{% *data variables\.product\.(\w+) *%\}")
_VARIABLE_LINE = re.compile(r"^(\w+): *[\"']?([^\"'>|\n]+?)[\"']?$", re.MULTILINE)
_NOISE = (
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^[ >]*(```|~~~).*$", re.MULTILINE),
    re.compile(r"\{\{[<%].*?[%>]\}\}", re.DOTALL),
    re.compile(r"\{%.*?%\}", re.DOTALL),
    re.compile(r"\{\{.*?\}\}", re.DOTALL),
    re.compile(r"!\[[^\]]*\]\([^)]*\)"),
    re.compile(r"</?[A-Za-z][^>]*>"),
    re.compile(r"^\[[^\]]+\]: \S+.*$", re.MULTILINE),
    re.compile(r"^\[!\w+\]", re.MULTILINE),
    re.compile(r"^\{:.*\}$", re.MULTILINE),
)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)|\[([^\]]+)\]\[[^\]]*\]")
_MARKS = re.compile(r"\*\*|__|`|^> ?|^[*+-] +|^\|[ :|-]+\|$", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """A heading with the text below it."""

    heading: str
    text: str


def docs(folder: str, variables: str = "") -> Builder:
    """The builder for one folder of pages. `variables` is a file with the names of products."""
    return partial(_build, folder=folder, variables=variables)


def _build(repository: Repository, folder: str, variables: str) -> Iterator[Pair]:
    names = {}
    if variables:
        names = dict(_VARIABLE_LINE.findall(repository.text(variables)))
    for path in repository.paths(folder, ".md"):
        title, sections = _sections(repository.text(path), names)
        # A page without a title is about the documentation itself.
        if title:
            yield from _page_pairs(title, sections)


def _page_pairs(title: str, sections: list[Section]) -> Iterator[Pair]:
    search = Bm25([section.text for section in sections])
    for number, section in enumerate(sections):
        if not section.heading or section.heading.lower() in EMPTY_HEADINGS:
            continue
        question = _question(title, section.heading)
        others = search.best(question, 2, skip={number})
        others += [other for other in range(len(sections)) if other not in (number, *others)]
        wrong = [sections[other].text for other in others[:3]]
        wrong = [text for text in wrong if not same_text(text, section.text)]
        yield Pair(question, (section.text,), tuple(wrong[:1]))


def _question(title: str, heading: str) -> str:
    """The heading, with the title of the page where it is too short to be understood alone."""
    if len(heading.split()) >= SHORT_HEADING_WORDS or title.lower() in heading.lower():
        return heading
    return f"{title}: {heading}"


def _sections(page: str, names: dict[str, str]) -> tuple[str, list[Section]]:
    """The title of a page and its sections that say enough."""
    front = _FRONT_MATTER.match(page)
    title = ""
    if front:
        found = _TITLE.search(front.group(1))
        title = _plain(found.group(1), names) if found else ""
        page = page[front.end() :]
    # A line of a code block that begins with # is no heading.
    page = re.sub(r"^(```|~~~).*?^\1", _quoted_code, page, flags=re.MULTILINE | re.DOTALL)
    parts = _HEADING.split(page)
    sections = []
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        plain = _plain(text, names)
        if len(plain) >= MIN_SECTION_CHARS:
            sections.append(Section(_plain(heading, names), pieces(plain)[0]))
    return title, sections


def _quoted_code(block: re.Match[str]) -> str:
    return re.sub(r"^#", " #", block.group(0), flags=re.MULTILINE)


def _plain(text: str, names: dict[str, str]) -> str:
    for _ in range(2):
        text = _VARIABLE.sub(lambda found: names.get(found.group(1), ""), text)
    for noise in _NOISE:
        text = noise.sub(" ", text)
    text = _LINK.sub(lambda found: found.group(1) or found.group(2) or "", text)
    return tidy(_MARKS.sub(" ", text)).replace(" .", ".").replace(" ,", ",")
