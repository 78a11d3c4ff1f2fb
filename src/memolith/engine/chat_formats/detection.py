"""Which format a file of chats has.

A new format gets a file in this folder, and two lines in `_read_value`.
"""

from collections.abc import Iterator
from typing import TextIO

from memolith.engine.chat_formats.chatgpt import is_chatgpt_chat, read_chatgpt_chat
from memolith.engine.chat_formats.claude import is_claude_chat, read_claude_chat
from memolith.engine.chat_formats.gemini import (
    is_gemini_activity,
    is_gemini_session,
    read_gemini_activity,
    read_gemini_session,
)
from memolith.engine.chat_formats.json_values import MAX_VALUE_CHARACTERS, read_json_values
from memolith.engine.chat_formats.markdown import is_markdown_file, read_markdown
from memolith.engine.chat_formats.memolith_export import is_memolith_chat, read_memolith_chat
from memolith.engine.chat_formats.transcripts import read_transcript_line
from memolith.engine.chat_formats.turns import JsonObject, Report, Turn


def read_turns(file: TextIO, name: str, report: Report) -> Iterator[Turn]:
    """Every message of a file, in order; what is skipped goes into the report."""
    if is_markdown_file(name):
        yield from read_markdown(file.read(MAX_VALUE_CHARACTERS), name)
        return
    one_per_line = name.lower().endswith(".jsonl")
    for number, value in enumerate(read_json_values(file, one_per_line, report), start=1):
        yield from _read_value(value, number, name, report)


def _read_value(value: JsonObject, number: int, file_name: str, report: Report) -> list[Turn]:
    if is_chatgpt_chat(value):
        return read_chatgpt_chat(value, number, report)
    if is_claude_chat(value):
        return read_claude_chat(value, number)
    if is_gemini_activity(value):
        return read_gemini_activity(value, report)
    if is_gemini_session(value):
        return read_gemini_session(value, number, report)
    if is_memolith_chat(value):
        return read_memolith_chat(value, number)
    return read_transcript_line(value, file_name, report)
