"""What the documented tools leave out: for REST, the command line and the web, not listed over MCP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from memolith.engine.model import Block, Patch
from memolith.errors import InvalidInput
from memolith.registry import Argument, Call, Family, Result, absent
from memolith.surfaces.core import Changed
from memolith.surfaces.names import bare_id

manage = Family("manage", listed_over_mcp=False)
Id = Annotated[str, Field(description="The id of the item.")]


class Done(Changed):
    """An item after something was done to it."""

    redactions: Mapping[str, int] = Field(default={}, exclude_if=absent)


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


class Turn(Argument):
    """One message."""

    role: Annotated[str, Field(min_length=1, description="Who speaks.")]
    content: Annotated[str, Field(min_length=1, description="What is said.")]
    timestamp: Annotated[str | None, Field(description="When, as ISO 8601.")] = None


class Checked(Result):
    """Whether tables and indexes equal a replay of the log."""

    equal: bool
    problems: list[str]


@manage.tool()
def restore_item(call: Call, *, id: Id) -> Done:
    """Bring a forgotten item back as it was."""
    return Done.by(call.engine.restore(call.caller, bare_id(id), call.idempotency_key))


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
                    messages: Annotated[list[Turn], Field(min_length=1, max_length=1000)]) -> Done:
    """Add messages at the end of a conversation."""
    if call.engine.get(call.caller, bare_id(conversation_id)).kind != "conversation":
        raise InvalidInput("Messages can be added to a conversation only.", field="conversation_id")
    blocks = [Block(turn.content, speaker=turn.role, at=turn.timestamp) for turn in messages]
    return Done.by(call.engine.append(call.caller, bare_id(conversation_id), blocks, call.idempotency_key))


@manage.tool()
def review_concept(call: Call, *, concept_id: Id) -> Done:
    """Say that a concept was looked at and still holds, so that its computed certainty starts to fade anew."""
    if call.engine.get(call.caller, bare_id(concept_id)).kind != "concept":
        raise InvalidInput("Only a concept can be reviewed.", field="concept_id")
    patch = Patch(attributes={"reviewed_at": call.engine.clock.now()})
    written = call.engine.revise(call.caller, bare_id(concept_id), patch, key=call.idempotency_key)
    return Done(id=written.item.id, version=written.item.version, event=written.seq)


@manage.tool(read_only=True, scope="admin")
def verify_store(call: Call) -> Checked:
    """Prove that tables and indexes equal a replay of the log."""
    problems = call.engine.upkeep.verify()
    return Checked(equal=not problems, problems=problems)
