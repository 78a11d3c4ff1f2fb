"""Chats of a ChatGPT export: a tree of messages, of which one branch is what the user sees."""

from memolith.domain.attributes import Json
from memolith.engine.chat_formats.turns import (
    JsonObject,
    Report,
    Turn,
    as_object,
    chat_turns,
    first_text,
)


def is_chatgpt_chat(value: JsonObject) -> bool:
    return "mapping" in value


def read_chatgpt_chat(chat: JsonObject, number: int, report: Report) -> list[Turn]:
    """The messages up to the current one; answers that were thrown away lie on other branches."""
    nodes = as_object(chat["mapping"])
    node_id = first_text(chat, "current_node")
    if node_id not in nodes:
        node_id = next(reversed(nodes), "")
    branch: dict[str, Json] = {}
    while node_id in nodes and node_id not in branch:
        node = as_object(nodes[node_id])
        branch[node_id] = node.get("message")
        node_id = first_text(node, "parent")
    for other_id in nodes.keys() - branch.keys():
        if as_object(nodes[other_id]).get("message"):
            report["skipped: a message of another branch"] += 1
    messages = list(branch.values())
    messages.reverse()
    return chat_turns("chatgpt", number, chat, messages)
