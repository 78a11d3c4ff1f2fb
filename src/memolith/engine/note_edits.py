"""Changes to the text of a Markdown note: at its ends, at a passage, or at a section."""

import re
from typing import Literal, NamedTuple

from memolith.errors import InvalidInput

Operation = Literal[
    "append",
    "prepend",
    "find_replace",
    "replace_section",
    "insert_before_section",
    "insert_after_section",
]
_HEADING = re.compile(r"(#{1,6})[ \t]")
_FENCE = re.compile(r"\A[ \t]*(```|~~~)")


class Edit(NamedTuple):
    """One change of a text."""

    operation: Operation
    content: str
    section: str = ""
    """The heading of the section, as it stands in the note or without its marks."""
    find_text: str = ""
    expected_replacements: int = 1
    replace_subsections: bool = True


class Section(NamedTuple):
    """The lines of a section: its heading, and where it and its own text end."""

    heading: int
    end: int
    end_of_own_text: int


def edited(text: str, edit: Edit) -> str:
    """The text after the change."""
    if edit.operation == "append":
        return _joined(text, edit.content)
    if edit.operation == "prepend":
        return _joined(edit.content, text)
    if edit.operation == "find_replace":
        return _replaced(text, edit)
    return _with_section(text, edit)


def _joined(first: str, second: str) -> str:
    if not first or not second or first.endswith("\n"):
        return first + second
    return f"{first}\n{second}"


def _replaced(text: str, edit: Edit) -> str:
    if not edit.find_text:
        raise InvalidInput("Say which text to replace.", field="find_text")
    count = text.count(edit.find_text)
    if count != edit.expected_replacements:
        raise InvalidInput(
            f"The text to replace stands {count} times in the note, not "
            f"{edit.expected_replacements} times; give a longer text, or that number as "
            "expected_replacements.",
            field="find_text",
        )
    return text.replace(edit.find_text, edit.content)


def _with_section(text: str, edit: Edit) -> str:
    lines = text.split("\n")
    section = _section(lines, edit.section)
    new = edit.content.rstrip("\n").split("\n")
    if edit.operation == "insert_before_section":
        return "\n".join([*lines[: section.heading], *new, "", *lines[section.heading :]])
    first = section.heading + 1
    if edit.operation == "insert_after_section":
        return "\n".join([*lines[:first], *new, *lines[first:]])
    if new and new[0].strip() == lines[section.heading].strip():
        # The new text brings the heading with it.
        new = new[1:]
    end = section.end if edit.replace_subsections else section.end_of_own_text
    rest = lines[end:]
    return "\n".join([*lines[:first], *new, *([""] if rest and rest[0] else []), *rest])


def _section(lines: list[str], name: str) -> Section:
    """The section with this heading, which must be there once."""
    wanted = name.strip()
    if not wanted.lstrip("#").strip():
        raise InvalidInput("Say the heading of the section.", field="section")
    if not wanted.startswith("#"):
        wanted = f"## {wanted}"
    headings = _headings(lines)
    found = [number for number in headings if lines[number].strip() == wanted]
    if len(found) != 1:
        raise InvalidInput(
            f"The heading {wanted!r} stands {len(found)} times in the note; it must stand there "
            "once.",
            field="section",
            value=name,
        )
    [heading] = found
    later = [number for number in headings if number > heading]
    level = headings[heading]
    outer = [number for number in later if headings[number] <= level]
    return Section(heading, min(outer, default=len(lines)), min(later, default=len(lines)))


def _headings(lines: list[str]) -> dict[int, int]:
    """The levels of the headings by their lines; those in blocks of code are none."""
    levels: dict[int, int] = {}
    fence = ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        heading = _HEADING.match(line)
        if heading and not fence:
            levels[number] = len(heading[1])
    return levels
