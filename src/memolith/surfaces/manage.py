"""What the documented tools leave out: for REST, the command line and the web, not listed over MCP."""

from io import StringIO
from typing import Annotated, cast

from pydantic import Field

from memolith.engine.conversations import NOTHING, Report, take
from memolith.engine.documents import FILES, SPACE, described
from memolith.engine.events import block_data
from memolith.engine.model import Condition, Draft, Filter, Patch
from memolith.errors import Conflict, InvalidInput
from memolith.registry import Body, Call, Family, shape
from memolith.surfaces.items import CHANGED, bare_id, changed, given, the
from memolith.surfaces.memorylake import SAMPLE
from memolith.surfaces.sekha import Below, Filters, Folder, Message, Offset, Page, Status

manage = Family("manage", listed_over_mcp=False)
Id = Annotated[str, Field(description="The id of the item.")]
TopicName = Annotated[str, Field(min_length=1, max_length=100)]
TopicText = Annotated[str | None, Field(max_length=500)]
Color = Annotated[str | None, Field(pattern="^#[0-9A-Fa-f]{6}$")]
Icon = Annotated[str | None, Field(max_length=50)]


@manage.tool(CHANGED)
def restore_item(call: Call, *, id: Id) -> Body:
    """Bring a forgotten item back as it was."""
    return changed(call.engine.restore(call.caller, bare_id(id), call.idempotency_key))


@manage.tool(shape(erased=str, clean={"description": "False while another program still reads old pages.",
                                      "type": "boolean"}, warnings=[str]), destructive=True)
def erase_item(call: Call, *, id: Id) -> Body:
    """Remove every byte of an item for good; this cannot be undone."""
    clean = call.engine.erase(call.caller, bare_id(id))
    rest = "Others still read old pages, or only the owner can clear them: `memolith upkeep`."
    return {"erased": bare_id(id), "clean": clean, "warnings": [] if clean else [rest]}


@manage.tool(shape(undone=int, event=int, type=str, id=str))
def undo_event(call: Call, *, event: Annotated[int, Field(ge=1, description="The number of the event.")]) -> Body:
    """Take one event back by a new one."""
    made = call.engine.past.undo(call.caller, event)
    return {"undone": event, "event": made.seq, "type": made.type, "id": made.stream}


@manage.tool(CHANGED)
def append_messages(call: Call, *, conversation_id: Id,
                    messages: Annotated[list[Message], Field(min_length=1, max_length=1000)]) -> Body:
    """Add messages at the end of a conversation, as one more session."""
    talk, blocks = the(call, "conversation", conversation_id, "conversation_id"), [one.block() for one in messages]
    return changed(call.engine.append(call.caller, talk.id, blocks, call.idempotency_key))


@manage.tool(shape(conversations=[dict], total=int), read_only=True)
def list_conversations(call: Call, *, folder: Below = None, status: Status | None = None, limit: Page = 20,
                       offset: Offset = 0) -> Body:
    """A page of conversations, the one that changed last first."""
    chosen = Filters(folder=folder, status=status).chosen()
    page = call.engine.listing(call.caller, chosen, "updated_at", True, limit, offset)
    return {"total": page.total, "conversations": [
        {"conversation_id": item.id, "label": item.title, "status": item.status, "message_count": item.blocks,
         **item.attributes, "created_at": item.created_at, "updated_at": item.updated_at} for item in page.items]}


@manage.tool(CHANGED, destructive=True)
def delete_conversation(call: Call, *, conversation_id: Id) -> Body:
    """Take a conversation out of every list and search; `restore_item` brings it back."""
    talk = the(call, "conversation", conversation_id, "conversation_id", forgotten=bool(call.idempotency_key))
    return changed(call.engine.forget(call.caller, talk.id, key=call.idempotency_key))


@manage.tool(shape(taken=int, extended=int, known=int, messages=int), idempotent=True)
def import_conversations(call: Call, *, content: Annotated[str, Field(min_length=1, description="The whole file.")],
                         name: Annotated[str, Field(description="Its name, whose end tells what it is.")]
                         = "conversations.json", folder: Folder = "") -> Body:
    """Keep the chats of a ChatGPT or Claude export, of a Claude Code or Codex transcript or of a Markdown file."""
    take(call.engine, call.caller, StringIO(content), name, folder, report := Report(NOTHING))
    if not report["taken"] + report["extended"] + report["known"]:
        raise InvalidInput(f"There is no chat in this: {', '.join(+report) or 'nothing was said'}.", field="content")
    return dict(report)


@manage.tool(shape(files=[SAMPLE], total=int), read_only=True)
def list_files(call: Call, *, limit: Page = 20, offset: Offset = 0) -> Body:
    """A page of the files that were taken in, the newest first."""
    page = call.engine.listing(call.caller, FILES, limit=limit, offset=offset)
    return {"files": [described(item) for item in page.items], "total": page.total}


@manage.tool(shape(file=SAMPLE, summary=str, chunks=[dict], total=int), read_only=True)
def show_file(call: Call, *, memory_id: Id, limit: Page = 20, offset: Offset = 0) -> Body:
    """What was read in a file, piece by piece, each with its place."""
    item, blocks = call.engine.read(call.caller, the(call, "document", memory_id, "memory_id", namespace=SPACE).id)
    return {"file": described(item), "summary": item.attributes["summary"], "total": len(blocks),
            "chunks": [block_data(block) for block in blocks[offset:offset + limit]]}


@manage.tool(CHANGED, destructive=True)
def delete_file(call: Call, *, memory_id: Id) -> Body:
    """Take a file out of every list and search; `restore_item` brings it back, `erase_item` removes its bytes."""
    again = bool(call.idempotency_key)
    file = the(call, "document", memory_id, "memory_id", forgotten=again, namespace=SPACE)
    return changed(call.engine.forget(call.caller, file.id, key=call.idempotency_key))


@manage.tool(CHANGED, idempotent=True)
def reread_file(call: Call, *, memory_id: Id) -> Body:
    """Read a stored file again, which pays after an update of the readers."""
    return changed(call.engine.documents.reread(call.caller, the(call, "document", memory_id, "memory_id").id))


@manage.tool(CHANGED)
def review_concept(call: Call, *, concept_id: Id) -> Body:
    """Say that a concept was looked at and still holds, so that its computed certainty starts to fade anew."""
    concept = the(call, "concept", concept_id, "concept_id")
    patch = Patch(attributes={"reviewed_at": call.engine.clock.now()})
    return changed(call.engine.revise(call.caller, concept.id, patch, key=call.idempotency_key))


@manage.tool(CHANGED)
def create_topic(call: Call, *, name: TopicName, description: TopicText = None, color: Color = None, icon: Icon = None,
                 parent_topic_id: str | None = None) -> Body:
    """Make a topic to keep memories under, perhaps below another."""
    above = the(call, "topic", parent_topic_id, "parent_topic_id").id if parent_topic_id else None
    known = given(description=description, color=color, icon=icon, parent_topic_id=above)
    return changed(call.engine.remember(call.caller, Draft("topic", name, attributes=known), call.idempotency_key))


@manage.tool(CHANGED, idempotent=True)
def update_topic(call: Call, *, topic_id: Id, name: TopicName | None = None, description: TopicText = None,
                 color: Color = None, icon: Icon = None, parent_topic_id: Annotated[
                     str | None, Field(description="The topic to move it below; `top` for none.")] = None) -> Body:
    """Rename, describe, colour or move a topic."""
    topic = the(call, "topic", topic_id, "topic_id")
    above = parent_topic_id if parent_topic_id != "top" else None
    attributes = given(description=description, color=color, icon=icon, parent_topic_id=above)
    patch = Patch(name, attributes=attributes, dropped=("parent_topic_id",) if parent_topic_id == "top" else ())
    if patch == Patch(attributes={}):
        raise InvalidInput("Say what to change.", field="name")
    while above:
        if (parent := the(call, "topic", above, "parent_topic_id")).id == topic.id:
            raise InvalidInput("A topic cannot be below itself.", field="parent_topic_id")
        above = cast("str | None", parent.attributes.get("parent_topic_id"))
    return changed(call.engine.revise(call.caller, topic.id, patch, key=call.idempotency_key))


@manage.tool(CHANGED, destructive=True)
def delete_topic(call: Call, *, topic_id: Id) -> Body:
    """Delete a topic that has none below it; its memories stay."""
    topic = the(call, "topic", topic_id, "topic_id", forgotten=bool(call.idempotency_key))
    below = Filter(kinds=("topic",), where=(Condition("parent_topic_id", "eq", topic.id),))
    if call.engine.listing(call.caller, below, limit=1).total:
        raise Conflict("There are topics below this one; move or delete them first.", field="topic_id")
    return changed(call.engine.forget(call.caller, topic.id, key=call.idempotency_key))


@manage.tool(CHANGED, idempotent=True)
def assign_topic(call: Call, *, topic_id: Id, memory_id: Id) -> Body:
    """Put a memory under a topic."""
    patch = Patch(attributes={"topic_id": the(call, "topic", topic_id, "topic_id").id})
    return changed(call.engine.revise(call.caller, the(call, "memory", memory_id, "memory_id").id, patch))
