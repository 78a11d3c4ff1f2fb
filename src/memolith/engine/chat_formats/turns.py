"""What every chat format is read into: one turn for each message."""

from collections import Counter
from typing import NamedTuple

from memolith.domain.attributes import Json

JsonObject = dict[str, Json]
Report = Counter[str]
"""How many chats were taken, extended and known, how many messages, and what was skipped or
redacted and why."""


class ChatKey(NamedTuple):
    """Which chat a turn belongs to."""

    id: str
    number: int
    """Where the chat stands in its file; 0 where its messages stand there one by one."""


class Turn(NamedTuple):
    """One message of a chat, as a program wrote it."""

    source: str
    """The program: chatgpt, claude, claude-code, codex, gemini, markdown or memolith."""
    chat: ChatKey
    title: str
    """The title of the chat; empty if it has none."""
    role: str
    time: Json
    """When it was said: a text, seconds since 1970, or nothing."""
    content: Json
    """What was said: a text, or parts of which some are texts."""
    metadata: JsonObject


def empty_report() -> Report:
    """A report of an import that has not begun."""
    return Report({"taken": 0, "extended": 0, "known": 0, "messages": 0})


def message_turn(source: str, chat: ChatKey, title: str, message: JsonObject) -> Turn:
    """The turn of a message, whose fields have other names in each program."""
    author = as_object(message.get("author"))
    return Turn(
        source=source,
        chat=chat,
        title=title,
        role=first_text(author, "role") or first_text(message, "sender", "role"),
        time=message.get("create_time") or message.get("created_at") or message.get("timestamp"),
        content=message.get("content") or message.get("text"),
        metadata=as_object(message.get("metadata")),
    )


def chat_turns(source: str, number: int, chat: JsonObject, messages: Json) -> list[Turn]:
    """The turns of a chat that stands in one JSON object."""
    about = chat | as_object(chat.get("conversation"))
    title = first_text(about, "title", "name", "label")
    id = first_text(about, "conversation_id", "uuid", "id")
    if not id:
        # Without an id, the beginning tells one chat from another.
        id = f"{title}: {str(messages)[:150]}"
    listed = messages if isinstance(messages, list) else []
    key = ChatKey(id, number)
    return [message_turn(source, key, title, as_object(message)) for message in listed]


def as_object(value: Json) -> JsonObject:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def first_text(value: JsonObject, *names: str) -> str:
    """The first of the named fields that is a text and not empty."""
    for name in names:
        text = value.get(name)
        if isinstance(text, str) and text:
            return text
    return ""
