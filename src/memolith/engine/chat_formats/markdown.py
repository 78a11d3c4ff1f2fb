"""A chat in one Markdown or text file.

A turn begins with a heading, a name in bold, or a name before a colon.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from memolith.engine.chat_formats.turns import ChatKey, Turn

ROLES = {
    "system": "system",
    "user": "user",
    "human": "user",
    "you": "user",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "claude": "assistant",
    "gemini": "assistant",
    "ai": "assistant",
}
"""What the names of speakers mean."""

_NAME = rf"(?:{'|'.join(ROLES)})"
# Possessive, because the marks of a heading are signs as well: a line of nothing but marks could
# be divided between both in as many ways as it is long.
_HEADING = rf"#++\W*+(?:\d++\.\W*+)?(?P<heading>{_NAME})(?: said)?\W*+$"
_NUMBERED_HEADING = r"#+ \d+\. (?P<numbered>\S.*)$"
_BOLD = rf"\*\*(?P<bold>{_NAME})(?: said)?:?\*\*:?\s*(?P<after_bold>.*)$"
_COLON = rf"(?P<plain>{_NAME})(?: said)?:(?:\s+(?P<after_plain>.*))?$"
_TURN_START = re.compile("|".join((_HEADING, _NUMBERED_HEADING, _BOLD, _COLON)), re.I)
_TIME = re.compile(r"\*(\d{4}-\d\d-\d\d[T ][^*\s]+)\*\s*(?:\n|$)")


class _Part(NamedTuple):
    """The lines that one speaker said."""

    role: str
    lines: list[str]


def is_markdown_file(name: str) -> bool:
    return name.lower().endswith((".md", ".markdown", ".txt"))


def read_markdown(text: str, file_name: str) -> Iterator[Turn]:
    """The turns of a chat; a file without any is one turn of the user."""
    before_first, *parts = _parts(text)
    title = file_name
    for line in before_first.lines:
        if line.startswith("# "):
            title = line[2:].strip()
            break
    key = ChatKey(f"{file_name}: {text[:150]}", 0)
    for part in parts or [before_first]:
        said = "\n".join(part.lines).strip()
        time = _TIME.match(said)
        if time:
            said = said[time.end() :].strip()
        yield Turn("markdown", key, title, part.role, time and time[1], said, {})


def _parts(text: str) -> list[_Part]:
    """What stands before the first turn, then the turns; code is no part of the outline."""
    parts = [_Part("user", [])]
    in_code = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            in_code = not in_code
        start = None if in_code else _TURN_START.match(line)
        if start is None:
            parts[-1].lines.append(line)
            continue
        role = start["heading"] or start["numbered"] or start["bold"] or start["plain"]
        parts.append(_Part(role, [start["after_bold"] or start["after_plain"] or ""]))
    return parts
