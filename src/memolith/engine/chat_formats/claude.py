"""Chats of a Claude export."""

from memolith.engine.chat_formats.turns import JsonObject, Turn, chat_turns


def is_claude_chat(value: JsonObject) -> bool:
    return "chat_messages" in value


def read_claude_chat(chat: JsonObject, number: int) -> list[Turn]:
    messages = chat.get("chat_messages") or chat.get("messages")
    return chat_turns("claude", number, chat, messages)
