"""Letta: an agent file (`.af`), or a list of archival passages as its server answers."""

from pathlib import Path

from memolith.domain.attributes import Json
from memolith.domain.passages import Block
from memolith.engine.foreign_data import ForeignData, ForeignRecord
from memolith.interchange.importers.files import (
    JsonObject,
    first,
    json_object_of,
    objects,
    read_json,
    text,
    texts,
)

SPOKEN_ROLES = ("user", "assistant")
SENT_BY_TOOL = "send_message"
"""The tool with which older agents talk."""


def is_letta(value: Json) -> bool:
    if isinstance(value, list):
        entries = objects(value)
        return bool(entries) and "text" in entries[0] and "archive_id" in entries[0]
    if not isinstance(value, dict):
        return False
    return {"agents", "blocks"} <= value.keys() or {"core_memory", "messages"} <= value.keys()


def read_letta(path: Path) -> ForeignData:
    value = read_json(path)
    data = ForeignData("letta")
    if isinstance(value, list):
        _add_passages(data, objects(value))
        return data
    file = json_object_of(value)
    # An older file is one agent; a newer one holds several, and their blocks apart.
    agents = objects(file.get("agents")) or [file]
    for block in (*objects(file.get("blocks")), *objects(file.get("core_memory"))):
        _add_block(data, block, agents)
    for agent in agents:
        _add_messages(data, agent)
    _add_passages(data, objects(file.get("passages")))
    for name in ("files", "sources", "tools"):
        for entry in objects(file.get(name)):
            data.left_out.add(f"one of the {name}, which are no memory", text(entry.get("name")))
    return data


def _add_block(data: ForeignData, block: JsonObject, agents: list[JsonObject]) -> None:
    label = text(block.get("label"))
    value = text(block.get("value"))
    owners = [
        text(agent.get("name"))
        for agent in agents
        if block.get("id") in texts(agent.get("block_ids"))
    ]
    owner = (owners or [text(agents[0].get("name"))])[0]
    id = text(block.get("id")) or f"{owner}/{label}"
    if not value.strip():
        data.left_out.add("a memory block without text", label or id)
        return
    data.records.append(
        ForeignRecord(
            source_id=id,
            title=label,
            blocks=(Block(value),),
            tags=("memory block", *([label] if label else [])),
            created_at=block.get("created_at"),
            updated_at=block.get("updated_at"),
            author=owner,
            attributes={
                **json_object_of(block.get("metadata")),
                "description": block.get("description"),
            },
        )
    )


def _add_passages(data: ForeignData, passages: list[JsonObject]) -> None:
    for passage in passages:
        content = text(passage.get("text"))
        if not content.strip():
            data.left_out.add("a passage without text", text(passage.get("id")))
            continue
        data.records.append(
            ForeignRecord(
                source_id=text(passage.get("id")) or content,
                blocks=(Block(content),),
                tags=tuple(texts(passage.get("tags"))),
                created_at=passage.get("created_at"),
                updated_at=passage.get("updated_at"),
                attributes={
                    **json_object_of(first(passage, "metadata", "metadata_")),
                    "file_name": passage.get("file_name"),
                },
            )
        )


def _add_messages(data: ForeignData, agent: JsonObject) -> None:
    """What a user and an agent said to each other, as one conversation."""
    name = text(agent.get("name")) or "agent"
    blocks = []
    for message in objects(agent.get("messages")):
        role = text(message.get("role"))
        said = _said(message)
        if role not in SPOKEN_ROLES:
            data.left_out.add(f"a message of the role {role or 'none'}", text(message.get("id")))
        elif not said.strip():
            data.left_out.add("a message without text", text(message.get("id")))
        else:
            at = message.get("created_at")
            blocks.append(Block(said, role, None if at is None else str(at)))
    if not blocks:
        return
    data.records.append(
        ForeignRecord(
            source_id=f"{text(agent.get('id')) or name}/messages",
            kind="conversation",
            title=name,
            blocks=tuple(blocks),
            created_at=blocks[0].at,
            updated_at=blocks[-1].at,
            attributes={"agent": name},
        )
    )


def _said(message: JsonObject) -> str:
    content = first(message, "content", "text")
    parts = (
        [text(part.get("text")) for part in objects(content)] if isinstance(content, list) else []
    )
    said = "\n\n".join(parts) or text(content)
    # Older files wrap what a user says in JSON, and let the agent talk through a tool.
    wrapped = json_object_of(said)
    if "type" in wrapped and "message" in wrapped:
        return text(wrapped["message"]) if wrapped["type"] == "user_message" else ""
    for call in objects(message.get("tool_calls")):
        function = json_object_of(call.get("function"))
        if function.get("name") == SENT_BY_TOOL:
            said = text(json_object_of(function.get("arguments")).get("message")) or said
    return said
