"""Blocks as events keep them, and as passages give them back."""

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from memolith.domain.attributes import Json
from memolith.domain.passages import Block, Passage


def block_data(block: Block) -> dict[str, Json]:
    """The block as an event keeps it; what it does not have is left out."""
    data: dict[str, Json] = {
        "text": block.text,
        "speaker": block.speaker,
        "at": block.at,
        "locator": block.locator,
        "attributes": dict(block.attributes) or None,
    }
    return {name: value for name, value in data.items() if value is not None}


def join_blocks(passages: Iterable[Passage]) -> list[Block]:
    """The blocks again, from their passages in order."""
    blocks = []
    for number, group in groupby(passages, attrgetter("block")):
        if number < 0:
            # The empty passage of an item without text.
            continue
        pieces = list(group)
        first = pieces[0]
        text = "".join(piece.text for piece in pieces)
        blocks.append(Block(text, first.speaker, first.at, first.locator, first.attributes))
    return blocks


def text_of(passages: Iterable[Passage]) -> str:
    """The whole text of an item, a line for each block."""
    return "\n".join(block.text for block in join_blocks(passages))
