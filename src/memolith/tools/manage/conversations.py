"""List, extend, delete and import conversations."""

from io import StringIO
from typing import Annotated, TypedDict

from pydantic import Field

from memolith.engine.chat_formats.turns import empty_report
from memolith.errors import InvalidInput
from memolith.tools.arguments import ItemId, Limit
from memolith.tools.call import Call
from memolith.tools.lookup import find_item
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import OBJECTS
from memolith.tools.results import ChangedItem, changed_item
from memolith.tools.schema import Body
from memolith.tools.sekha.arguments import (
    ConversationStatus,
    Filters,
    Folder,
    FolderFilter,
    Message,
    Offset,
)


class ConversationPage(TypedDict):
    """The result of `list_conversations`."""

    conversations: Annotated[list[Body], OBJECTS]
    total: int


class ImportReport(TypedDict):
    """The result of `import_conversations`."""

    taken: int
    extended: int
    known: int
    messages: int


@manage.tool(
    example={
        "conversation_id": "talk",
        "messages": [{"role": "user", "content": "More."}],
    }
)
def append_messages(
    call: Call,
    *,
    conversation_id: ItemId,
    messages: Annotated[list[Message], Field(min_length=1, max_length=1000)],
) -> ChangedItem:
    """Add messages at the end of a conversation, as one more session."""
    conversation = find_item(call, "conversation", conversation_id, "conversation_id")
    blocks = [message.block() for message in messages]
    written = call.engine.writing.append(call.caller, conversation.id, blocks)
    return changed_item(written)


@manage.tool(read_only=True)
def list_conversations(
    call: Call,
    *,
    folder: FolderFilter = None,
    status: ConversationStatus | None = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> ConversationPage:
    """A page of conversations, the one that changed last first."""
    chosen = Filters(folder=folder, status=status).to_filter()
    page = call.engine.reading.list_items(
        call.caller, chosen, sort="updated_at", limit=limit, offset=offset
    )
    return {
        "total": page.total,
        "conversations": [
            {
                "conversation_id": item.id,
                "label": item.title,
                "status": item.status,
                "message_count": item.blocks,
                **item.attributes,
                "created_at": item.created_at,
                "updated_at": item.updated_at,
            }
            for item in page.items
        ],
    }


@manage.tool(destructive=True, example={"conversation_id": "talk"})
def delete_conversation(call: Call, *, conversation_id: ItemId) -> ChangedItem:
    """Take a conversation out of every list and search; `restore_item` brings it back."""
    conversation = find_item(call, "conversation", conversation_id, "conversation_id")
    written = call.engine.writing.forget(call.caller, conversation.id)
    return changed_item(written)


@manage.tool(
    idempotent=True,
    example={"content": '{"title": "Zoo", "messages": [{"role": "user", "content": "A zebra."}]}'},
)
def import_conversations(
    call: Call,
    *,
    content: Annotated[str, Field(min_length=1, description="The whole file.")],
    name: Annotated[
        str, Field(description="Its name, whose end tells what it is.")
    ] = "conversations.json",
    folder: Folder = "",
) -> ImportReport:
    """Keep the chats of a ChatGPT or Claude export, of a Claude Code or Codex transcript or of a
    Markdown file.
    """
    report = empty_report()
    call.engine.chat_import.import_chats(call.caller, StringIO(content), name, folder, report)
    if not report["taken"] + report["extended"] + report["known"]:
        reasons = ", ".join(+report) or "nothing was said"
        raise InvalidInput(f"There is no chat in this: {reasons}.", field="content")
    return dict(report)  # type: ignore[return-value]
