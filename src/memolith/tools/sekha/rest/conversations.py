"""Keep, read, list, change and delete conversations over REST."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from memolith.domain.items import Draft, Item, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Condition, Filter
from memolith.engine.conversations import PINNED_IMPORTANCE
from memolith.tools.arguments import JsonObject
from memolith.tools.call import Call
from memolith.tools.lookup import find_item
from memolith.tools.sekha.arguments import ConversationId, Filters, Folder, Label
from memolith.tools.sekha.conversations import (
    DEFAULT_FOLDER,
    DEFAULT_IMPORTANCE,
    read_conversation,
)
from memolith.tools.sekha.rest.api import sekha_api
from memolith.tools.sekha.rest.arguments import (
    PARTS_ATTRIBUTE,
    RestImportance,
    RestLimit,
    RestMessage,
    kept_importance,
)
from memolith.tools.sekha.rest.models import (
    ConversationBody,
    ConversationChanged,
    ConversationCount,
    ConversationCreated,
    ConversationDeleted,
    RestHit,
    RestMessageBody,
    RestPage,
)

CONVERSATIONS = "/api/v1/conversations"
ONE_CONVERSATION = CONVERSATIONS + "/{conversation_id}"
MAX_PAGE = 10**6


@sekha_api.route("POST", CONVERSATIONS, status=201)
def create_conversation(
    call: Call,
    *,
    messages: Annotated[list[RestMessage], Field(min_length=1)],
    label: Label,
    folder: Folder = DEFAULT_FOLDER,
    importance_score: RestImportance | None = None,
    metadata: JsonObject | None = None,
) -> ConversationCreated:
    """Keep a conversation."""
    attributes: JsonObject = {"folder": folder or DEFAULT_FOLDER}
    if importance_score is not None:
        attributes["importance_score"] = kept_importance(importance_score)
    if metadata:
        attributes["metadata"] = metadata
    draft = Draft(
        kind="conversation",
        title=label,
        blocks=tuple(message.block() for message in messages),
        attributes=attributes,
    )
    written = call.engine.writing.remember(call.caller, draft)
    item = written.item
    return {
        "id": item.id,
        "conversation_id": item.id,
        "label": item.title,
        "folder": item.attributes["folder"],
        "status": item.status,
        "importance_score": item.attributes["importance_score"],
        "message_count": item.blocks,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "redactions": dict(written.redactions),
    }


@sekha_api.route("GET", CONVERSATIONS + "/count", read_only=True)
def count_conversations(
    call: Call, *, label: str | None = None, folder: str | None = None
) -> ConversationCount:
    """How many conversations have a label or lie in a folder."""
    chosen = Filters(label=label, folder=folder).to_filter()
    counts = call.engine.conversations.folder_counts(call.caller, chosen)
    total = sum(count.conversations for count in counts)
    return {"count": total, "label": label, "folder": folder}


@sekha_api.route("GET", CONVERSATIONS, read_only=True)
def list_conversations(
    call: Call,
    *,
    label: str | None = None,
    folder: str | None = None,
    pinned: bool | None = None,
    archived: bool | None = None,
    page: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 1,
    page_size: RestLimit = 50,
) -> RestPage:
    """One page of conversations, the last changed first."""
    status = None
    if archived is not None:
        status = "archived" if archived else "active"
    filters = Filters.model_validate({"label": label, "folder": folder, "status": status})
    chosen = filters.to_filter()
    if pinned is not None:
        chosen = _with_pinned(chosen, pinned)
    found = call.engine.reading.list_items(
        call.caller, chosen, "updated_at", True, page_size, (page - 1) * page_size
    )
    return {
        "query": "",
        "results": [_listed(item) for item in found.items],
        "total": found.total,
        "page": page,
        "page_size": page_size,
        "limit": page_size,
    }


@sekha_api.route("GET", ONE_CONVERSATION, read_only=True)
def get_conversation(call: Call, *, conversation_id: ConversationId) -> ConversationBody:
    """A conversation with its messages; counts as reading it."""
    item, blocks = read_conversation(call, conversation_id)
    importance = item.attributes.get("importance_score", DEFAULT_IMPORTANCE)
    return {
        "id": item.id,
        "conversation_id": item.id,
        "label": item.title,
        "folder": item.attributes.get("folder", DEFAULT_FOLDER),
        "status": item.status,
        "archived": item.status == "archived",
        "pinned": importance == PINNED_IMPORTANCE,
        "importance_score": importance,
        "message_count": len(blocks),
        "messages": [message_body(item, number, block) for number, block in enumerate(blocks)],
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "metadata": item.attributes.get("metadata") or {},
    }


@sekha_api.route("PUT", ONE_CONVERSATION + "/label", idempotent=True, needs_read=True)
def update_label(
    call: Call, *, conversation_id: ConversationId, label: Label, folder: Folder | None = None
) -> ConversationChanged:
    """Rename a conversation, and move it if a folder is given."""
    attributes: JsonObject = {}
    if folder is not None:
        attributes["folder"] = folder or DEFAULT_FOLDER
    return _change(call, conversation_id, Patch(title=label, attributes=attributes))


@sekha_api.route("PUT", ONE_CONVERSATION + "/folder", idempotent=True, needs_read=True)
def update_folder(
    call: Call, *, conversation_id: ConversationId, folder: Folder
) -> ConversationChanged:
    """Move a conversation to another folder."""
    return _change(call, conversation_id, Patch(attributes={"folder": folder or DEFAULT_FOLDER}))


@sekha_api.route("PUT", ONE_CONVERSATION + "/pin", idempotent=True, needs_read=True)
def pin_conversation(call: Call, *, conversation_id: ConversationId) -> ConversationChanged:
    """Make a conversation so important that it is never suggested for pruning."""
    return _change(call, conversation_id, Patch(attributes={"importance_score": PINNED_IMPORTANCE}))


@sekha_api.route("PUT", ONE_CONVERSATION + "/archive", idempotent=True, needs_read=True)
def archive_conversation(call: Call, *, conversation_id: ConversationId) -> ConversationChanged:
    """Put a conversation aside; searches still find it."""
    return _change(call, conversation_id, Patch(status="archived"))


@sekha_api.route("DELETE", ONE_CONVERSATION, destructive=True)
def delete_conversation(call: Call, *, conversation_id: ConversationId) -> ConversationDeleted:
    """Forget a conversation; `restore_item` brings it back, `erase_item` removes every byte."""
    item = find_item(call, "conversation", conversation_id, "conversation_id")
    call.engine.writing.forget(call.caller, item.id)
    return {"conversation_id": item.id, "deleted": True}


def message_body(item: Item, number: int, block: Block) -> RestMessageBody:
    """A message with the content that its client sent."""
    metadata = dict(block.attributes)
    content: object = metadata.pop(PARTS_ATTRIBUTE, block.text)
    return {
        "id": f"{item.id}#{number}",
        "role": block.speaker or "user",
        "content": content,
        "timestamp": block.at,
        "metadata": metadata,
    }


def _change(call: Call, id: str, patch: Patch) -> ConversationChanged:
    item = find_item(call, "conversation", id, "conversation_id")
    changed = call.engine.writing.revise(call.caller, item.id, patch).item
    return {
        "conversation_id": changed.id,
        "label": changed.title,
        "folder": changed.attributes.get("folder", DEFAULT_FOLDER),
        "status": changed.status,
        "importance_score": changed.attributes.get("importance_score", DEFAULT_IMPORTANCE),
    }


def _with_pinned(chosen: Filter, pinned: bool) -> Filter:
    operator = "ge" if pinned else "lt"
    condition = Condition("importance_score", operator, PINNED_IMPORTANCE)
    return replace(chosen, where=(*chosen.where, condition))


def _listed(item: Item) -> RestHit:
    folder = item.attributes.get("folder", DEFAULT_FOLDER)
    return {
        "id": item.id,
        "conversation_id": item.id,
        "message_id": None,
        "label": item.title,
        "folder": folder,
        "content": item.title,
        "score": 1.0,
        "similarity": 1.0,
        "created_at": item.created_at,
        "timestamp": item.updated_at,
        "metadata": {
            "folder": folder,
            "status": item.status,
            "importance_score": item.attributes.get("importance_score", DEFAULT_IMPORTANCE),
            "message_count": item.blocks,
        },
    }
