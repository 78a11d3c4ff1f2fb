"""Results and texts that several families share."""

from collections.abc import Sequence
from typing import Annotated, NotRequired, TypedDict

from memolith.domain.items import Written
from memolith.domain.passages import Block, Passage
from memolith.tools.result_schema import AN_OBJECT


class ChangedItem(TypedDict):
    """What a write left: the item, its version and the event to undo it by."""

    id: str
    version: int
    event: int
    redactions: NotRequired[Annotated[dict[str, int], AN_OBJECT]]


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
