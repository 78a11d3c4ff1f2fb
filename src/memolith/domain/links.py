"""Typed, directed edges between items."""

from typing import Literal, NamedTuple

from memolith.domain.attributes import Attributes

Direction = Literal["incoming", "outgoing", "both"]
EntityType = Literal["Person", "Organization", "Technology", "Concept", "File"]


RelationType = Literal[
    "WorksAt",
    "Created",
    "Uses",
    "Implements",
    "PartOf",
    "RelatesTo",
    "MentionedIn",
    "Supersedes",
    "ConflictsWith",
]


DISTINCT_FROM = "DistinctFrom"
"""The type of a link by which a person says that two items, alike as they are, are two things."""
IMPLIED = "implied"
"""The status of an entity that nobody created and only relations name."""


class Link(NamedTuple):
    """A typed, directed edge between two items."""

    id: str
    source: str
    target: str
    type: str
    strength: float
    attributes: Attributes
    version: int
    seq: int
    created_at: str
    updated_at: str
