"""Conversations as memolith itself gives them out: an object with `messages`."""

from memolith.engine.chat_formats.turns import JsonObject, Turn, chat_turns


def is_memolith_chat(value: JsonObject) -> bool:
    return "messages" in value


def read_memolith_chat(chat: JsonObject, number: int) -> list[Turn]:
    return chat_turns("memolith", number, chat, chat.get("messages"))
