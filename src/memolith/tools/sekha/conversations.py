"""Keep, change, show and export conversations."""

from typing import Annotated, Literal

from pydantic import Field

from memolith.domain.items import Draft, Item, Patch
from memolith.domain.passages import Block
from memolith.engine.conversations import word_count
from memolith.errors import InvalidInput
from memolith.tools.arguments import JsonObject
from memolith.tools.call import Call
from memolith.tools.lookup import find_item
from memolith.tools.sekha.arguments import (
    ConversationId,
    ConversationStatus,
    Folder,
    Importance,
    Label,
    Message,
)
from memolith.tools.sekha.dialect import sekha
from memolith.tools.sekha.models import (
    ConversationContext,
    ConversationDetails,
    ConversationExport,
    ConversationStored,
    ConversationUpdated,
    ExportedConversation,
    ExportedMessage,
)

DEFAULT_FOLDER = "/"
DEFAULT_IMPORTANCE = 5


@sekha.tool(
    example={
        "label": "Stripes",
        "messages": [{"role": "user", "content": "Why has a zebra stripes?"}],
    }
)
def memory_store(
    call: Call,
    *,
    label: Label,
    messages: Annotated[list[Message], Field(min_length=1)],
    folder: Folder = DEFAULT_FOLDER,
    importance_score: Importance = DEFAULT_IMPORTANCE,
) -> ConversationStored:
    """Keep a conversation, so that each of its messages can be found."""
    draft = Draft(
        kind="conversation",
        title=label,
        blocks=tuple(message.block() for message in messages),
        attributes={"folder": folder, "importance_score": importance_score},
    )
    written = call.engine.writing.remember(call.caller, draft)
    return {
        "conversation_id": written.item.id,
        "id": written.item.id,
        "label": written.item.title,
        "folder": written.item.attributes["folder"],
        "redactions": dict(written.redactions),
    }


@sekha.tool(idempotent=True, example={"conversation_id": "talk", "importance_score": 7})
def memory_update(
    call: Call,
    *,
    conversation_id: ConversationId,
    label: Label | None = None,
    folder: Folder | None = None,
    status: ConversationStatus | None = None,
    importance_score: Importance | None = None,
) -> ConversationUpdated:
    """Rename a conversation, move it to another folder, archive it or say how important it is."""
    changes = {
        "label/folder": label or folder,
        "status": status,
        "importance_score": importance_score,
    }
    updated_fields = [name for name, value in changes.items() if value is not None]
    if not updated_fields:
        raise InvalidInput(
            "Say what to change: label, folder, status or importance_score.", field="label"
        )
    item = find_item(call, "conversation", conversation_id, "conversation_id")
    attributes: JsonObject = {}
    if folder is not None:
        attributes["folder"] = folder or DEFAULT_FOLDER
    if importance_score is not None:
        attributes["importance_score"] = importance_score
    patch = Patch(title=label, status=status, attributes=attributes)
    call.engine.writing.revise(call.caller, item.id, patch)
    return {
        "conversation_id": item.id,
        "updated_fields": updated_fields,
        "message": "Conversation updated successfully",
    }


@sekha.tool(read_only=True, example={"conversation_id": "talk"})
def memory_get_context(call: Call, *, conversation_id: ConversationId) -> ConversationContext:
    """What a conversation is called, where it lies, how long it is and when it took place; counts
    as reading it.
    """
    item, blocks = read_conversation(call, conversation_id)
    return {"conversation_id": item.id, **conversation_details(call, item, blocks)}


@sekha.tool(read_only=True, example={"conversation_id": "talk", "format": "markdown"})
def memory_export(
    call: Call,
    *,
    conversation_id: ConversationId,
    format: Literal["json", "markdown"] = "json",
    include_metadata: Annotated[
        bool, Field(description="Whether to tell more than the messages.")
    ] = True,
) -> ConversationExport:
    """A whole conversation, also as a Markdown document; counts as reading it."""
    item, blocks = read_conversation(call, conversation_id)
    export: ConversationExport = {
        "messages": [exported_message(block, include_metadata) for block in blocks],
        "format": format,
        "include_metadata": include_metadata,
    }
    conversation: ExportedConversation | None = None
    if include_metadata:
        conversation = {"id": item.id, **conversation_details(call, item, blocks)}
        export = {"conversation": conversation, **export}
    if format == "markdown":
        export["markdown"] = conversation_markdown(item.title, conversation, export["messages"])
    return export


def read_conversation(call: Call, id: str) -> tuple[Item, list[Block]]:
    """A conversation and its messages; counts as reading it."""
    item = find_item(call, "conversation", id, "conversation_id")
    item, blocks = call.engine.reading.read(call.caller, item.id)
    call.note_read(item.id)
    return item, blocks


def conversation_details(call: Call, item: Item, blocks: list[Block]) -> ConversationDetails:
    return {
        "label": item.title,
        "status": item.status,
        "folder": item.attributes.get("folder", DEFAULT_FOLDER),
        "importance_score": item.attributes.get("importance_score", DEFAULT_IMPORTANCE),
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "session_count": call.engine.conversations.session_count(call.caller, item.id),
        "word_count": word_count(blocks),
    }


def exported_message(block: Block, include_metadata: bool) -> ExportedMessage:
    message: ExportedMessage = {
        "role": block.speaker or "user",
        "content": block.text,
        "timestamp": block.at,
    }
    if include_metadata and block.attributes:
        message["metadata"] = dict(block.attributes)
    return message


def conversation_markdown(
    title: str, conversation: ExportedConversation | None, messages: list[ExportedMessage]
) -> str:
    """The conversation as a document that the import of chats reads again."""
    parts = [f"# {title}\n"]
    if conversation is not None:
        lines = [f"- **{name.replace('_', ' ')}:** {value}" for name, value in conversation.items()]
        parts.append("\n".join(lines) + "\n")
    for number, message in enumerate(messages, 1):
        parts.append(
            f"### {number}. {message['role']}\n\n*{message['timestamp']}*\n\n{message['content']}\n"
        )
    return "\n".join(parts)
