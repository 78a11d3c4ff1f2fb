"""What the documented tools leave out: for REST, the command line and the web, not listed over MCP."""

from __future__ import annotations

from io import StringIO
from typing import Annotated, cast

from pydantic import Field, WithJsonSchema

from memolith.engine.chats import NOTHING, Report, take
from memolith.engine.model import Condition, Draft, Filter, Patch
from memolith.errors import Conflict, InvalidInput
from memolith.registry import Call, Family, Result
from memolith.surfaces.core import Changed
from memolith.surfaces.lanonasis.shapes import Body, schema, the
from memolith.surfaces.names import bare_id
from memolith.surfaces.sekha import Below, Filters, Folder, Message, Status

manage = Family("manage", listed_over_mcp=False)
Id = Annotated[str, Field(description="The id of the item.")]
TopicName = Annotated[str, Field(min_length=1, max_length=100)]
TopicText = Annotated[str | None, Field(max_length=500)]
Color = Annotated[str | None, Field(pattern="^#[0-9A-Fa-f]{6}$")]
Icon = Annotated[str | None, Field(max_length=50)]

Conversations = Annotated[Body, WithJsonSchema(schema(conversations=[dict], total=int))]
Imported = Annotated[Body, WithJsonSchema(schema(taken=int, extended=int, known=int, messages=int))]


class Erased(Result):
    """What is left of an item: its id."""

    erased: str
    clean: Annotated[bool, Field(description="False while another program still reads old pages.")]


class Undone(Result):
    """An event that was taken back."""

    undone: int
    event: int
    type: str
    id: str


class Checked(Result):
    """Whether tables and indexes equal a replay of the log."""

    equal: bool
    problems: list[str]


@manage.tool()
def restore_item(call: Call, *, id: Id) -> Changed:
    """Bring a forgotten item back as it was."""
    return Changed.by(call.engine.restore(call.caller, bare_id(id), call.idempotency_key))


@manage.tool(destructive=True)
def erase_item(call: Call, *, id: Id) -> Erased:
    """Remove every byte of an item for good; this cannot be undone."""
    wanted = bare_id(id)
    return Erased(erased=wanted, clean=call.engine.erase(call.caller, wanted))


@manage.tool()
def undo_event(call: Call, *, event: Annotated[int, Field(ge=1, description="The number of the event.")]) -> Undone:
    """Take one event back by a new one."""
    made = call.engine.past.undo(call.caller, event)
    return Undone(undone=event, event=made.seq, type=made.type, id=made.stream)


@manage.tool()
def append_messages(call: Call, *, conversation_id: Id,
                    messages: Annotated[list[Message], Field(min_length=1, max_length=1000)]) -> Changed:
    """Add messages at the end of a conversation, as one more session."""
    blocks = [message.block() for message in messages]
    id = the(call, "conversation", conversation_id, "conversation_id").id
    return Changed.by(call.engine.append(call.caller, id, blocks, call.idempotency_key))


@manage.tool(read_only=True)
def list_conversations(call: Call, *, folder: Below = None, status: Status | None = None, limit: Annotated[
        int, Field(ge=1, le=100)] = 20, offset: Annotated[int, Field(ge=0, le=10**9)] = 0) -> Conversations:
    """A page of conversations, the one that changed last first."""
    page = call.engine.listing(call.caller, Filters(folder=folder, status=status).chosen(), "updated_at", True, limit,
                               offset)
    return {"total": page.total, "conversations": [
        {"conversation_id": item.id, "label": item.title, "status": item.status, "message_count": item.blocks,
         **item.attributes, "created_at": item.created_at, "updated_at": item.updated_at} for item in page.items]}


@manage.tool(destructive=True)
def delete_conversation(call: Call, *, conversation_id: Id) -> Changed:
    """Take a conversation out of every list and search; `restore_item` brings it back."""
    id = the(call, "conversation", conversation_id, "conversation_id").id
    return Changed.by(call.engine.forget(call.caller, id, key=call.idempotency_key))


@manage.tool(idempotent=True)
def import_conversations(call: Call, *, content: Annotated[str, Field(min_length=1, description="The whole file.")],
                         name: Annotated[str, Field(description="Its name, whose end tells what it is.")]
                         = "conversations.json", folder: Folder = "") -> Imported:
    """Keep the chats of a ChatGPT or Claude export, of a Claude Code or Codex transcript or of a Markdown file."""
    take(call.engine, call.caller, StringIO(content), name, folder, report := Report(NOTHING))
    if not report["taken"] + report["extended"] + report["known"]:
        raise InvalidInput(f"There is no chat in this: {', '.join(+report) or 'nothing was said'}.", field="content")
    return dict(report)


@manage.tool()
def review_concept(call: Call, *, concept_id: Id) -> Changed:
    """Say that a concept was looked at and still holds, so that its computed certainty starts to fade anew."""
    if call.engine.get(call.caller, bare_id(concept_id)).kind != "concept":
        raise InvalidInput("Only a concept can be reviewed.", field="concept_id")
    patch = Patch(attributes={"reviewed_at": call.engine.clock.now()})
    return Changed.by(call.engine.revise(call.caller, bare_id(concept_id), patch, key=call.idempotency_key))


@manage.tool()
def create_topic(call: Call, *, name: TopicName, description: TopicText = None, color: Color = None, icon: Icon = None,
                 parent_topic_id: str | None = None) -> Changed:
    """Make a topic to keep memories under, perhaps below another."""
    about = {"description": description, "color": color, "icon": icon,
             "parent_topic_id": parent_topic_id and the(call, "topic", parent_topic_id, "parent_topic_id").id}
    draft = Draft("topic", name, attributes={field: value for field, value in about.items() if value})
    return Changed.by(call.engine.remember(call.caller, draft, call.idempotency_key))


@manage.tool(idempotent=True)
def update_topic(call: Call, *, topic_id: Id, name: TopicName | None = None, description: TopicText = None,
                 color: Color = None, icon: Icon = None, parent_topic_id: Annotated[
                     str | None, Field(description="The topic to move it below; `top` for none.")] = None) -> Changed:
    """Rename, describe, colour or move a topic."""
    topic = the(call, "topic", topic_id, "topic_id")
    above = parent_topic_id if parent_topic_id != "top" else None
    while above:
        if (parent := the(call, "topic", above, "parent_topic_id")).id == topic.id:
            raise InvalidInput("A topic cannot be below itself.", field="parent_topic_id")
        above = cast("str | None", parent.attributes.get("parent_topic_id"))
    about = {"description": description, "color": color, "icon": icon, "parent_topic_id": parent_topic_id}
    if name is None and not any(about.values()):
        raise InvalidInput("Say what to change.", field="name")
    patch = Patch(title=name, attributes={field: value for field, value in about.items() if value not in (None, "top")},
                  dropped=("parent_topic_id",) if parent_topic_id == "top" else ())
    return Changed.by(call.engine.revise(call.caller, topic.id, patch, key=call.idempotency_key))


@manage.tool(destructive=True)
def delete_topic(call: Call, *, topic_id: Id) -> Changed:
    """Delete a topic that has none below it; its memories stay."""
    topic = the(call, "topic", topic_id, "topic_id")
    below = Filter(kinds=("topic",), where=(Condition("parent_topic_id", "eq", topic.id),))
    if call.engine.listing(call.caller, below, limit=1).total:
        raise Conflict("There are topics below this one; move or delete them first.", field="topic_id")
    return Changed.by(call.engine.forget(call.caller, topic.id, key=call.idempotency_key))


@manage.tool(idempotent=True)
def assign_topic(call: Call, *, topic_id: Id, memory_id: Id) -> Changed:
    """Put a memory under a topic."""
    patch = Patch(attributes={"topic_id": the(call, "topic", topic_id, "topic_id").id})
    return Changed.by(call.engine.revise(call.caller, the(call, "memory", memory_id, "memory_id").id, patch))


@manage.tool(read_only=True, scope="admin")
def verify_store(call: Call) -> Checked:
    """Prove that tables and indexes equal a replay of the log."""
    problems = call.engine.upkeep.verify()
    return Checked(equal=not problems, problems=problems)
