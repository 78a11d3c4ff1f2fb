"""Edits one table in the text of a TOML file; every other byte stays as it is."""

import json
import re
import tomllib
from typing import Any

from memolith.doors.install.json_text import spaced_out

# The first group is what could hide a table header: texts of several lines and comments.
ASIDE = re.compile(
    r"""("{3}(?:\\.|[^\\])*?"{3}|'{3}.*?'{3}|#[^\r\n]*|\A\ufeff)"""
    r"""|"(?:\\.|[^"\\\r\n])*"|'[^'\r\n]*'""",
    re.DOTALL,
)


def read(text: str) -> dict[str, Any]:
    """What the text says; ValueError if it is not TOML."""
    return tomllib.loads(text.removeprefix("\ufeff"))


def edit(text: str, section: str, name: str, entry: object) -> str:
    """The text with that table at its end, or without it if the entry is None."""
    text = without_table(text, section, name)
    if not isinstance(entry, dict):
        return text
    line_end = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{section}.{name}]"]
    for field, value in entry.items():
        lines.append(f"{field} = {rendered(value)}")
    table = line_end.join(lines) + line_end
    if text and not text.endswith("\n"):
        text += line_end
    if text:
        text += line_end
    return text + table


def without_table(text: str, section: str, name: str) -> str:
    """The text without the table, its subtables and the empty line before each."""
    parts = [rf"""(?:{part}|"{part}"|'{part}')""" for part in (section, name)]
    header = r"\s*\.\s*".join(parts)
    table = re.compile(
        rf"(?:^\r?\n)?^[ \t]*\[\[?\s*{header}\s*(?:\..*)?\]\]?[ \t\r]*$"
        r"(?:\s*\n(?![ \t]*\[)[ \t]*\S.*)*.*(?:\n|\Z)",
        re.MULTILINE,
    )
    # From the end, so that the positions before stay right.
    for found in reversed(list(table.finditer(spaced_out(ASIDE, text)))):
        text = text[: found.start()] + text[found.end() :]
    return text


def rendered(value: object) -> str:
    """A value as TOML. What differs from JSON is refused when the text is read back."""
    if isinstance(value, list):
        return "[" + ", ".join(rendered(part) for part in value) + "]"
    if isinstance(value, dict):
        fields = [f"{json.dumps(key)} = {rendered(part)}" for key, part in value.items()]
        return "{ " + ", ".join(fields) + " }"
    return json.dumps(value, ensure_ascii=False, default=str)
