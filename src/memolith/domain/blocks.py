"""Blocks as events keep them, and as passages give them back."""

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from memolith.domain.attributes import Json
from memolith.domain.passages import Block, Passage


def block_data(block: Block) -> dict[str, Json]:
    """The block as an event keeps it, without what is empty."""
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
    blocks = [list(group) for block, group in groupby(passages, attrgetter("block")) if block >= 0]
    return [
        Block(
            "".join(passage.text for passage in block),
            block[0].speaker,
            block[0].at,
            block[0].locator,
            block[0].attributes,
        )
        for block in blocks
    ]


def text_of(passages: Iterable[Passage]) -> str:
    """The whole text of an item, its blocks line by line."""
    return "\n".join(block.text for block in join_blocks(passages))
