"""Results and texts that several families share."""

from collections.abc import Sequence
from typing import Annotated, NotRequired, TypedDict

from memolith.domain.attributes import Json
from memolith.domain.items import Draft, Superseded, Written
from memolith.domain.passages import Block, Passage
from memolith.tools.call import Call
from memolith.tools.result_schema import AN_OBJECT


class ChangedItem(TypedDict):
    """What a write left: the item, its version and the event to undo it by."""

    id: str
    version: int
    event: int
    redactions: NotRequired[Annotated[dict[str, int], AN_OBJECT]]


class Replaced(TypedDict):
    """By which newer item an item was replaced, and when; empty if it still holds."""

    superseded_at: NotRequired[str]
    superseded_by: NotRequired[str]


class Dated(Replaced):
    """When a hit was said, when its item was last changed, and whether it still holds."""

    at: str
    updated_at: str


class ConflictBody(TypedDict):
    """A stored item that a new one replaces."""

    id: str
    title: str
    score: float
    differs: str


def replaced(mark: Superseded | None) -> Replaced:
    """The mark of an item as fields of a result."""
    if mark is None:
        return {}
    return {"superseded_at": mark.at, "superseded_by": mark.by}


def text_or_none(value: Json) -> str | None:
    """An attribute that should be a text; another program may have put something else there."""
    return value if isinstance(value, str) else None


def conflicts_with(call: Call, draft: Draft) -> list[ConflictBody]:
    """The stored items that a draft replaces. Ask before you write it.

    A key that may not read gets none: they would tell what is stored.
    """
    if not call.may_read:
        return []
    return [
        {
            "id": conflict.id,
            "title": conflict.title,
            "score": conflict.score,
            "differs": conflict.differs,
        }
        for conflict in call.engine.conflicts(call.caller, draft)
    ]


def changed_item(written: Written) -> ChangedItem:
    """The outcome of a write as a result."""
    return {
        "id": written.item.id,
        "version": written.item.version,
        "event": written.seq,
        "redactions": dict(written.redactions),
    }


def text_with_speakers(blocks: Sequence[Block | Passage]) -> str:
    """The whole text, with the speaker before each block where one is known."""
    paragraphs = []
    for block in blocks:
        if block.speaker:
            paragraphs.append(f"{block.speaker}: {block.text}")
        else:
            paragraphs.append(block.text)
    return "\n\n".join(paragraphs)
