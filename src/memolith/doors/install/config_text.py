"""Puts one entry into the text of somebody's config file, or takes it out; comments, order and line ends stay his."""

import json
import re
import tomllib
from collections.abc import Callable
from functools import partial
from typing import Any

Entry = dict[str, Any]
Member = tuple[int, int, int]
"""A key of an object: where its quote, its value and the end of its value stand."""

_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(_STRING + r"|(//[^\r\n]*|/\*.*?\*/|\A\ufeff)", re.DOTALL)
_SPARE_COMMA = re.compile(_STRING + r"|(,)(?=\s*[}\]])", re.DOTALL)
_TOML_ASIDE = re.compile(
    r"""("{3}(?:\\.|[^\\])*?"{3}|'{3}.*?'{3}|#[^\r\n]*|\A\ufeff)"""
    r"""|"(?:\\.|[^"\\\r\n])*"|'[^'\r\n]*'""",
    re.DOTALL,
)
_DECODER = json.JSONDecoder()
_rendered = partial(json.dumps, ensure_ascii=False)


def _whitened(pattern: re.Pattern[str], text: str) -> str:
    """The text at its old length, with spaces where the group of the pattern was found."""
    return pattern.sub(
        lambda found: re.sub(r"[^\r\n]", " ", found[0]) if found[1] else found[0], text
    )


def _solid(text: str, at: int) -> int:
    return len(text) - len(text[at:].lstrip())


def _plain(text: str) -> str:
    """Strict JSON of the same length: without comments and spare commas."""
    return _whitened(_SPARE_COMMA, _whitened(_COMMENT, text))


def _members(plain: str, start: int) -> dict[str, Member]:
    """The members of the object that begins there; of two with the same key the last counts, as for every parser."""
    members, at = dict[str, Member](), _solid(plain, start + 1)
    while plain[at] != "}":
        key, end = _DECODER.raw_decode(plain, at)
        value = _solid(plain, plain.index(":", end) + 1)
        stop = _DECODER.raw_decode(plain, value)[1]
        members[key] = (at, value, stop)
        at = _solid(plain, stop)
        at = _solid(plain, at + 1) if plain[at] == "," else at
    return members


def _read_json(text: str) -> Entry:
    plain = _plain(text)
    data = json.loads(plain) if plain.strip() else {}
    if not isinstance(data, dict):
        raise ValueError("the whole must be an object")
    return data


def _edit_json(text: str, key: str, name: str, entry: object) -> str:
    """The text without that member, or with it as the first one, on a line of its own if the next one has one."""
    plain = _plain(text)
    if not plain.strip():
        return text + _rendered({key: {name: entry}}, indent=2) + "\n"
    top = _solid(plain, 0)
    section = _members(plain, top).get(key)
    if section and (ours := _members(plain, section[1]).get(name)):
        start, _, stop = ours
        before, after = len(plain[:start].rstrip()), _solid(_whitened(_COMMENT, text), stop)
        if text[after] == ",":
            text = text[:start] + text[after + 1 :].lstrip()
        else:
            between = text[before:start]
            text = (
                text[:before].removesuffix(",") + (between if between.strip() else "") + text[stop:]
            )
    if entry is None:
        return text
    start, added, value = (section[1], name, entry) if section else (top, key, {name: entry})
    first = _solid(_plain(text), start + 1)
    lead = text[len(text[:first].rstrip()) : first]
    comma = "" if text[first] == "}" else "," + (lead or " ")
    return f"{text[:first]}{_rendered(added)}: {_rendered(value)}{comma}{text[first:]}"


def _toml(value: object) -> str:
    """But for tables as in JSON; the few values that are not are refused when the text is read back."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if not isinstance(value, dict):
        return _rendered(value, default=str)
    return (
        "{ "
        + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items())
        + " }"
    )


def _edit_toml(text: str, key: str, name: str, entry: object) -> str:
    """The text without the table, its subtables and the empty line before each, or with it at the end."""
    header = r"\s*\.\s*".join(rf"""(?:{part}|"{part}"|'{part}')""" for part in (key, name))
    table = re.compile(
        rf"(?:^\r?\n)?^[ \t]*\[\[?\s*{header}\s*(?:\..*)?\]\]?[ \t\r]*$"
        r"(?:\s*\n(?![ \t]*\[)[ \t]*\S.*)*.*(?:\n|\Z)",
        re.MULTILINE,
    )
    line = "\r\n" if "\r\n" in text else "\n"
    for found in reversed([*table.finditer(_whitened(_TOML_ASIDE, text))]):
        text = text[: found.start()] + text[found.end() :]
    if not isinstance(entry, dict):
        return text
    gap = [] if not text else [""] if text.endswith("\n") else ["", ""]
    fields = (f"{field} = {_toml(part)}" for field, part in entry.items())
    return text + line.join([*gap, f"[{key}.{name}]", *fields, ""])


# By the form of the file; reading raises ValueError for a text that is not of it.
READ: dict[str, Callable[[str], Entry]] = {
    "JSON": _read_json,
    "TOML": lambda text: tomllib.loads(text.removeprefix("\ufeff")),
}
EDIT: dict[str, Callable[[str, str, str, object], str]] = {"JSON": _edit_json, "TOML": _edit_toml}
