"""Reading JSON objects from a file piece by piece, so that a large export fits in memory."""

import json
import re
from collections.abc import Iterator
from typing import TextIO

from memolith.domain.attributes import Json
from memolith.engine.chat_formats.turns import JsonObject, Report, as_object

READ_CHARACTERS = 1 << 20
MAX_VALUE_CHARACTERS = 1 << 26
_BETWEEN_VALUES = re.compile(r"[\s,\[\]\ufeff]*")
_DECODER = json.JSONDecoder()


def read_json_values(file: TextIO, one_per_line: bool, report: Report) -> Iterator[JsonObject]:
    """The objects of a file: one in each line, the entries of a list, or one after the other."""
    unread = ""
    while len(unread) <= MAX_VALUE_CHARACTERS:
        if one_per_line:
            piece = file.readline()
        else:
            # Doubling what is read keeps the work linear where one value is large.
            piece = file.read(max(READ_CHARACTERS, len(unread)))
        if not piece:
            break
        values, unread = _decode(unread + piece)
        for value in values:
            chats = as_object(value).get("conversations")
            if isinstance(chats, list):
                yield from map(as_object, chats)
            else:
                yield as_object(value)
        if one_per_line and unread:
            report["skipped: a line that is not JSON"] += 1
            unread = ""
    if unread:
        report[f"skipped: the rest from {unread[:40]!r} on, which is no JSON"] += 1


def _decode(text: str) -> tuple[list[Json], str]:
    """The whole values at the beginning of a text, and the rest, which may be a part of one."""
    values: list[Json] = []
    position = 0
    while True:
        between = _BETWEEN_VALUES.match(text, position)
        if between is not None:
            position = between.end()
        if position == len(text):
            return values, ""
        try:
            value, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            return values, text[position:]
        values.append(value)
