"""Bring items back, erase them, undo events."""

from typing import Annotated, NotRequired, TypedDict

from pydantic import Field

from memolith.tools.arguments import ItemId, bare_id
from memolith.tools.call import Call
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import Described
from memolith.tools.results import ChangedItem, changed_item

OLD_PAGES_WARNING = (
    "Others still read old pages, or only the owner can clear them: `memolith upkeep`."
)


class Erased(TypedDict):
    """The result of `erase_item`."""

    erased: str
    clean: Annotated[bool, Described("False while another program still reads old pages.")]
    warnings: NotRequired[list[str]]


class Undone(TypedDict):
    """The result of `undo_event`: the event that was undone, and the one that undid it."""

    undone: int
    event: int
    type: str
    id: str


@manage.tool(example={"id": "gone"})
def restore_item(call: Call, *, id: ItemId) -> ChangedItem:
    """Bring a forgotten item back as it was."""
    written = call.engine.writing.restore(call.caller, bare_id(id))
    return changed_item(written)


@manage.tool(destructive=True, example={"id": "two"})
def erase_item(call: Call, *, id: ItemId) -> Erased:
    """Remove every byte of an item for good; this cannot be undone."""
    result: Erased = {"erased": bare_id(id), "clean": True}

    def note(clean: bool) -> None:
        if not clean:
            result["clean"] = False
            result["warnings"] = [OLD_PAGES_WARNING]

    call.engine.writing.erase(call.caller, bare_id(id), tell=note)
    return result


@manage.tool(example={"event": 1})
def undo_event(
    call: Call, *, event: Annotated[int, Field(ge=1, description="The number of the event.")]
) -> Undone:
    """Take one event back by a new one."""
    made = call.engine.history.undo(call.caller, event)
    return {"undone": event, "event": made.seq, "type": made.type, "id": made.stream}
