"""Blocks, as texts come in, and passages, as they are searched."""

import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple, NewType

from memolith.domain.attributes import NO_ATTRIBUTES, Attributes

PassageRef = NewType("PassageRef", int)
"""Names a passage of a tenant by one number: the row of its item and its ordinal within the item.

A search handles thousands of them, so a reference is a plain integer at run time. The passages of
an item have consecutive references, in the order of the text.
"""

ORDINAL_BITS = 20
"""How many bits of a reference hold the ordinal; the bits above them hold the row of the item."""


def passage_ref(item_row: int, ordinal: int) -> PassageRef:
    """The reference of a passage, from the row of its item and its ordinal there."""
    return PassageRef(item_row << ORDINAL_BITS | ordinal)


def item_row_of(ref: PassageRef) -> int:
    """The row of the item that a passage belongs to."""
    return ref >> ORDINAL_BITS


def ordinal_of(ref: PassageRef) -> int:
    """The number of a passage within its item, from 0."""
    return ref & (1 << ORDINAL_BITS) - 1


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of an item as it came in: a whole text, one message, one part of a page or sheet."""

    text: str
    speaker: str | None = None
    at: str | None = None
    locator: str | None = None
    attributes: Attributes = field(default_factory=dict)


class Passage(NamedTuple):
    """A searchable piece of a block. Joined in order, the passages of a block give its text."""

    item: str
    ordinal: int
    block: int
    text: str
    at: str
    speaker: str | None = None
    locator: str | None = None
    attributes: Attributes = NO_ATTRIBUTES


def text_digest(text: str) -> bytes:
    """What tells whether a vector was made from a text."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
