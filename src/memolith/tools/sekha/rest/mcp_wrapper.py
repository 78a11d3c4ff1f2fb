"""The tools as Sekha's own MCP server asks its controller for them.

It reads more fields than the documented tools have: the messages of a conversation, how many there
are, the age of a conversation and a reason. So these stand below `/sekha`, and the documented tools
stay as they are documented.
"""

from dataclasses import replace
from typing import Annotated, Any, cast

from pydantic import Field

from memolith.domain.items import Patch
from memolith.domain.queries import Query
from memolith.errors import InvalidInput
from memolith.tools.arguments import JsonObject
from memolith.tools.call import Call
from memolith.tools.lookup import find_item
from memolith.tools.sekha.arguments import ConversationId, Folder, Label
from memolith.tools.sekha.conversations import (
    DEFAULT_FOLDER,
    DEFAULT_IMPORTANCE,
    conversation_details,
    exported_message,
    read_conversation,
)
from memolith.tools.sekha.dialect import success
from memolith.tools.sekha.rest.api import sekha_api
from memolith.tools.sekha.rest.arguments import (
    RestImportance,
    RestLimit,
    RestMessage,
    Texts,
    chosen_by,
    kept_importance,
)
from memolith.tools.sekha.rest.conversations import create_conversation
from memolith.tools.sekha.rest.models import Enveloped
from memolith.tools.sekha.rest.search import Question, find_messages
from memolith.tools.sekha.rest.upkeep import prune_suggestions

TOOLS = "/mcp/tools/"
DEFAULT_IMPORTANCE_THRESHOLD = 5.0


@sekha_api.route("POST", TOOLS + "memory_store")
def memory_store(
    call: Call,
    *,
    label: Label,
    messages: Annotated[list[RestMessage], Field(min_length=1)],
    folder: Folder = DEFAULT_FOLDER,
    importance_score: RestImportance = DEFAULT_IMPORTANCE,
) -> Enveloped:
    """Keep a conversation, and tell how many messages it has."""
    created = create_conversation(
        call,
        messages=messages,
        label=label,
        folder=folder,
        importance_score=importance_score,
    )
    return enveloped(dict(created))


@sekha_api.route("POST", TOOLS + "memory_search", read_only=True)
def memory_search(
    call: Call, *, query: Question, limit: RestLimit = 10, filter_labels: Texts | None = None
) -> Enveloped:
    """Find messages, in conversations with one of these labels if some are given."""
    chosen = chosen_by(call, None)
    if filter_labels:
        chosen = replace(chosen, titles=tuple(filter_labels))
    return enveloped(dict(find_messages(call, Query(query, chosen, limit=limit))))


@sekha_api.route("POST", TOOLS + "memory_update", idempotent=True)
def memory_update(
    call: Call,
    *,
    conversation_id: ConversationId,
    label: Label | None = None,
    folder: Folder | None = None,
    importance_score: RestImportance | None = None,
) -> Enveloped:
    """Change a conversation, and name each field that was changed."""
    changes = {"label": label, "folder": folder, "importance_score": importance_score}
    updated = [name for name, value in changes.items() if value is not None]
    if not updated:
        raise InvalidInput("Say what to change: label, folder or importance_score.", field="label")
    item = find_item(call, "conversation", conversation_id, "conversation_id")
    attributes: JsonObject = {}
    if folder is not None:
        attributes["folder"] = folder or DEFAULT_FOLDER
    if importance_score is not None:
        attributes["importance_score"] = kept_importance(importance_score)
    call.engine.writing.revise(call.caller, item.id, Patch(title=label, attributes=attributes))
    return enveloped({"conversation_id": item.id, "updated_fields": updated})


@sekha_api.route("POST", TOOLS + "memory_get_context", read_only=True)
def memory_get_context(call: Call, *, conversation_id: ConversationId) -> Enveloped:
    """A conversation with all its messages; counts as reading it."""
    item, blocks = read_conversation(call, conversation_id)
    return enveloped(
        {
            "conversation_id": item.id,
            **conversation_details(call, item, blocks),
            "messages": [exported_message(block, True) for block in blocks],
        }
    )


@sekha_api.route("POST", TOOLS + "memory_prune", read_only=True)
def memory_prune(
    call: Call,
    *,
    threshold_days: Annotated[int, Field(ge=0, le=36_500)] = 30,
    importance_threshold: Annotated[float, Field(ge=0, le=10)] = DEFAULT_IMPORTANCE_THRESHOLD,
) -> Enveloped:
    """Suggest conversations to prune, each with its age and a reason."""
    suggestions = prune_suggestions(call, threshold_days, importance_threshold)
    return enveloped({"suggestions": suggestions, "total_suggestions": len(suggestions)})


def enveloped(data: dict[str, Any]) -> Enveloped:
    """The result in the envelope of the tools."""
    return cast(Enveloped, success(data))
