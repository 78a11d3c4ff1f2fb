"""Front matter: the fields that stand between `---` at the top of a Markdown note.

It is the part of YAML that notes use: texts, numbers, yes and no, lists, blocks of text, and
fields inside of fields. What is anything else stays the text that it is.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memolith.domain.attributes import Json
from memolith.engine.validation import MAX_NESTING

FENCE = "---"
END_FENCES = ("---", "...")
CONSTANTS: dict[str, Json] = {
    "": None,
    "~": None,
    "null": None,
    "true": True,
    "false": False,
}
OTHER_CONSTANTS = ("yes", "no", "on", "off", "y", "n")
"""What other programs take for yes and no."""
NO_END = "front matter without an end, which came as text"
NO_FIELD = "a line of front matter that is no field (its note came)"
INDENT = "  "
MAX_INLINE_NESTING = 10
"""How deep lists in one line that are no JSON may lie in each other; deeper ones stay text."""
_KEY = re.compile(
    r"""(?P<key>"(?:[^"\\]|\\.)*"\s*|'(?:[^']|'')*'\s*|[^\s#'"\[\]{}-][^:#]*):(?:\s|$)"""
)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_BLOCK_TEXT = re.compile(r"[|>][-+]?$")
_PLAIN = re.compile(r"[^\W\d_][\w ./@+()-]*")
"""Texts that need no quotes."""


class Note(NamedTuple):
    """A Markdown file: its fields and its text."""

    fields: dict[str, Json]
    body: str


def read_note(text: str) -> Note:
    """The fields at the top of a note, and the text below them."""
    text = text.removeprefix("\ufeff")
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        return Note({}, text)
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() in END_FENCES:
            fields = _mapping([line.rstrip("\r") for line in lines[1:number]])
            return Note(fields, "\n".join(lines[number + 1 :]))
    return Note({}, text)


def faults_of(text: str) -> list[tuple[str, str]]:
    """What is wrong with the fields at the top of a note: each fault, and its line.

    They are read as far as they can be, so this is only for telling it.
    """
    lines = [line.rstrip() for line in text.removeprefix("\ufeff").split("\n")]
    if lines[0] != FENCE:
        return []
    end = next((number for number, line in enumerate(lines) if number and line in END_FENCES), 0)
    if not end:
        # Without a field below it, it is a line across the page.
        is_open = len(lines) > 1 and _KEY.match(lines[1]) is not None
        return [(NO_END, lines[1])] if is_open else []
    return [(NO_FIELD, line) for line in lines[1:end] if _is_lost(line)]


def _is_lost(line: str) -> bool:
    """Whether a line of the front matter begins no field and continues none."""
    return not (_belongs_below(line) or line.startswith("#") or _KEY.match(line))


def write_note(note: Note) -> str:
    """The text of the file; reading it gives the same note."""
    lines = [FENCE, *_written(note.fields, ""), FENCE]
    return "\n".join(lines) + "\n" + note.body


def _mapping(lines: Sequence[str], depth: int = 0) -> dict[str, Json]:
    fields: dict[str, Json] = {}
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        match = _KEY.match(line)
        if match is None:
            # A comment, an empty line, or something that no field begins with.
            continue
        rest = line[match.end() :].strip()
        block: list[str] = []
        while number < len(lines) and _belongs_below(lines[number]):
            block.append(lines[number])
            number += 1
        fields[_unquoted(match["key"].rstrip())] = _value(rest, block, depth)
    return fields


def _belongs_below(line: str) -> bool:
    """Whether a line continues the field above it."""
    return not line.strip() or line.startswith((" ", "\t", "- ")) or line == "-"


def _value(rest: str, block: list[str], depth: int) -> Json:
    if _BLOCK_TEXT.match(rest):
        return _block_text(rest, block)
    plain = _without_comment(rest)
    content = [line for line in block if line.strip() and not line.lstrip().startswith("#")]
    if plain or not content:
        # A plain text may go on in the next lines.
        return _scalar(" ".join([plain, *(line.strip() for line in content)]).strip())
    if content[0].lstrip().startswith("-"):
        return _listed(content)
    if _KEY.match(content[0].lstrip()) and depth < MAX_NESTING:
        return _mapping(_dedented(block), depth + 1)
    return _scalar(" ".join(line.strip() for line in content))


def _listed(lines: Sequence[str]) -> list[Json]:
    entries: list[str] = []
    depth = len(lines[0]) - len(lines[0].lstrip())
    for line in lines:
        stripped = line.lstrip()
        if stripped.startswith("-") and len(line) - len(stripped) <= depth:
            entries.append(stripped[1:].strip())
        else:
            entries[-1] = f"{entries[-1]} {stripped}".strip()
    return [_scalar(_without_comment(entry)) for entry in entries]


def _block_text(style: str, block: Sequence[str]) -> str:
    lines = _dedented(block)
    while lines and not lines[-1].strip():
        lines.pop()
    if style.startswith("|"):
        return "\n".join(lines) + ("" if style.endswith("-") else "\n")
    return " ".join(line.strip() for line in lines)


def _dedented(block: Sequence[str]) -> list[str]:
    depths = [len(line) - len(line.lstrip()) for line in block if line.strip()]
    depth = min(depths, default=0)
    return [line[depth:] for line in block]


def _without_comment(text: str) -> str:
    if text.startswith(('"', "'", "[", "{")):
        return text
    return _COMMENT.sub("", text).strip()


def _scalar(text: str, depth: int = 0) -> Json:
    if text.startswith(("[", "{")):
        value = _json_or_text(text)
        is_list = value == text and text.startswith("[") and text.endswith("]")
        if is_list and depth < MAX_INLINE_NESTING:
            return [_scalar(part, depth + 1) for part in _inline_parts(text[1:-1])]
        return value
    if text[:1] in ("'", '"') and text[-1:] == text[:1] and len(text) > 1:
        return _unquoted(text)
    if text.lower() in CONSTANTS:
        return CONSTANTS[text.lower()]
    return _number_or_text(text)


def _number_or_text(text: str) -> Json:
    if _INTEGER.fullmatch(text):
        return int(text)
    # A number like 007 or 20261116000000000000 is a name.
    if _FLOAT.fullmatch(text) and not text.lstrip("+-").isdigit():
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def _json_or_text(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _unquoted(text: str) -> str:
    if text.startswith("'") and text.endswith("'") and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        value = _json_or_text(text)
        return value if isinstance(value, str) and value != text else text[1:-1]
    return text


def _inline_parts(text: str) -> list[str]:
    """The entries of a list in one line; commas inside of quotes and brackets do not count."""
    parts = [""]
    quote = ""
    depth = 0
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and not parts[-1].strip():
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        if character == "," and not quote and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _written(fields: Mapping[str, Json], indent: str) -> list[str]:
    lines = []
    for name, value in fields.items():
        key = f"{indent}{_quoted(name)}:"
        if isinstance(value, dict) and value and all(_PLAIN.fullmatch(inner) for inner in value):
            lines += [key, *_written(value, indent + INDENT)]
        elif isinstance(value, list) and value and not any(_is_nested(entry) for entry in value):
            lines += [key, *(f"{indent}{INDENT}- {_one_line(entry)}" for entry in value)]
        else:
            lines.append(f"{key} {_one_line(value)}".rstrip())
    return lines


def _is_nested(value: Json) -> bool:
    return isinstance(value, list | dict)


def _one_line(value: Json) -> str:
    if isinstance(value, str):
        return _quoted(value)
    # JSON is YAML as well.
    return json.dumps(value, ensure_ascii=False)


def _quoted(text: str) -> str:
    """The text as it is, or in quotes where it would be read as something else."""
    is_word = _PLAIN.fullmatch(text) and text == text.strip() and _scalar(text) == text
    is_plain = is_word and text.lower() not in OTHER_CONSTANTS
    return text if is_plain else json.dumps(text, ensure_ascii=False)
