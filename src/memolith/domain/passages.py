"""Blocks, as texts come in, and passages, as they are searched."""

from dataclasses import dataclass, field
from typing import NamedTuple

from memolith.domain.attributes import NO_ATTRIBUTES, Attributes

ORDINAL_BITS = 20


"""Stores know a passage by one number: the row of its item, and in the last so many bits its own number there."""


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of an item as it came in: a whole text, one message, one part of a page or sheet."""

    text: str
    speaker: str | None = None
    at: str | None = None
    locator: str | None = None
    attributes: Attributes = field(default_factory=dict)


class Passage(NamedTuple):
    """A searchable piece of a block; the passages of a block, joined, are its text."""

    item: str
    ordinal: int
    block: int
    text: str
    at: str
    speaker: str | None = None
    locator: str | None = None
    attributes: Attributes = NO_ATTRIBUTES
