"""Items, drafts of new ones, and changes to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from memolith.domain.attributes import Attributes
from memolith.domain.callers import Audience, Caller
from memolith.domain.passages import Block

KINDS = (
    "memory",
    "conversation",
    "concept",
    "document",
    "entity",
    "prompt",
    "template",
    "project",
    "topic",
)


class Item(NamedTuple):
    """Anything remembered. Its text is in its passages; its fields are the columns of its row."""

    tenant: str
    id: str
    kind: str
    title: str
    status: str
    owner: str
    audience: Audience
    project: str | None
    namespace: str | None
    tags: tuple[str, ...]
    attributes: Attributes
    version: int
    seq: int
    created_at: str
    updated_at: str
    blocks: int
    passages: int
    forgotten: bool = False

    def admits(self, caller: Caller) -> bool:
        """Whether the caller may see it; the tenant is the hard wall."""
        if caller.tenant != self.tenant or not caller.may_look_into(self.project):
            return False
        return (
            caller.admin
            or caller.user == self.owner
            or self.audience is Audience.ORG
            or (
                self.audience is Audience.PROJECT
                and self.project is not None
                and caller.project == self.project
            )
        )


@dataclass(frozen=True, slots=True)
class Draft:
    """What a caller wants remembered."""

    kind: str = "memory"
    title: str = ""
    blocks: tuple[Block, ...] = ()
    tags: tuple[str, ...] = ()
    attributes: Attributes = field(default_factory=dict)
    status: str = "active"
    audience: Audience = Audience.USER
    project: str | None = None
    namespace: str | None = None
    id: str | None = None
    ttl_s: int = 0
    """How long it lives; 0 for ever."""
    created_at: str | None = None
    """When it was written elsewhere; None for now."""
    updated_at: str | None = None
    """When it was changed elsewhere; None for when it was written."""


@dataclass(frozen=True, slots=True)
class Patch:
    """What a caller wants changed; None leaves a field as it is."""

    title: str | None = None
    blocks: tuple[Block, ...] | None = None
    tags: tuple[str, ...] | None = None
    attributes: Attributes | None = None
    dropped: tuple[str, ...] = ()
    status: str | None = None
    audience: Audience | None = None
    project: str | None = None
    namespace: str | None = None
    updated_at: str | None = None
    """When it was changed; None for now."""


class Page(NamedTuple):
    """A stretch of a sorted listing, and how many there are in all."""

    items: tuple[Item, ...]
    total: int


class Superseded(NamedTuple):
    """By which newer item on the same subject an item was replaced, and when that was said."""

    by: str
    at: str


class Similar(NamedTuple):
    """A stored item whose text is the same or nearly the same as a new one."""

    id: str
    title: str
    similarity: float
    exact: bool


class Conflict(NamedTuple):
    """A stored item that a new one replaces, how near they are, and what differs in words."""

    id: str
    title: str
    score: float
    differs: str


class Written(NamedTuple):
    """The outcome of a write."""

    item: Item
    seq: int
    redactions: Mapping[str, int] = MappingProxyType({})
    similar: tuple[Similar, ...] = ()
