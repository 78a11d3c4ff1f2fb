"""The values of the engine, frozen and comparable; ids that sort by time, and the clock."""

import json
import os
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, NamedTuple

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
Attributes = Mapping[str, Json]
Direction = Literal["incoming", "outgoing", "both"]
NO_ATTRIBUTES: Attributes = MappingProxyType({})

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
DAY_S = 86_400
ORDINAL_BITS = 20
"""Stores know a passage by one number: the row of its item, and in the last so many bits its own number there."""
_lock, _last = threading.Lock(), 0


def exact(value: object) -> str:
    """JSON text that is equal for equal values only: 1 and true differ here."""
    return json.dumps(
        value,
        sort_keys=True,
        default=lambda one: (
            dict(one)
            if isinstance(one, Mapping)
            else {name: getattr(one, name) for name in getattr(one, "__dataclass_fields__", {})}
        ),
    )


def new_id() -> str:
    """A UUIDv7; ids made one after the other in a process are in order."""
    global _last
    with _lock:
        _last = max(_last + 1, time.time_ns() * 4096 // 1_000_000)
        stamp = _last
    high = (stamp >> 12 << 16) | 0x7000 | (stamp & 0xFFF)
    low = (int.from_bytes(os.urandom(8), "big") & (1 << 62) - 1) | 1 << 63
    return str(uuid.UUID(int=high << 64 | low))


class SystemClock:
    """The time of this machine, never standing still or going back within a process."""

    _last = 0

    def now(self) -> str:
        with _lock:
            self._last = max(self._last + 1, time.time_ns() // 1000)
            return iso(self._last)


def iso(microseconds: int) -> str:
    """Microseconds since 1970 as text."""
    return (datetime(1970, 1, 1) + timedelta(microseconds=microseconds)).strftime(
        "%Y-%m-%dT%H:%M:%S.%fZ"
    )


def shifted(at: str, seconds: float) -> str:
    return (
        (datetime.fromisoformat(at) + timedelta(seconds=seconds))
        .strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        .rjust(27, "0")
    )


class Audience(StrEnum):
    """Who sees an item beside its owner."""

    USER = "user"
    PROJECT = "project"
    ORG = "org"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who acts: a user of a tenant, and the project he works in."""

    tenant: str = "local"
    user: str = "local"
    project: str | None = None
    admin: bool = False


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


class Item(NamedTuple):
    """Anything remembered, without its text, which lies in its passages; the fields are the columns of its row."""

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
        return caller.tenant == self.tenant and (
            caller.admin
            or caller.user == self.owner
            or self.audience is Audience.ORG
            or (
                self.audience is Audience.PROJECT
                and self.project is not None
                and caller.project == self.project
            )
        )


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


class Condition(NamedTuple):
    """One test on an attribute of the item, or on `scope.tags`: `name op value`."""

    name: str
    op: str
    value: Json


@dataclass(frozen=True, slots=True)
class Filter:
    """What a listing or a search is limited to; empty means no limit."""

    kinds: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    tags_none: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    forgotten: bool | None = False
    since: str | None = None
    until: str | None = None
    projects: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    owner: str | None = None
    speakers: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    title: str = ""
    titles: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for, among what, and how much of it to return."""

    text: str
    filter: Filter = Filter()
    mode: str = "hybrid"
    limit: int = 10
    offset: int = 0
    threshold: float = 0.0
    by_similarity: bool = False
    per_item: bool = False
    per_block: bool = False
    reach: int = 0
    as_of: str | None = None
    verbatim: bool = False
    meant: str = ""
    """What the model is asked instead of the text."""
    boosted: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


class Page(NamedTuple):
    """A stretch of a sorted listing, and how many there are in all."""

    items: tuple[Item, ...]
    total: int


class Similar(NamedTuple):
    """A stored item whose text is the same or nearly the same as a new one."""

    id: str
    title: str
    similarity: float
    exact: bool


class Written(NamedTuple):
    """The outcome of a write."""

    item: Item
    seq: int
    redactions: Mapping[str, int] = MappingProxyType({})
    similar: tuple[Similar, ...] = ()
    repeated: bool = False


class Hit(NamedTuple):
    """A passage found, with its item, a calibrated score and the reasons."""

    item: Item
    passage: Passage
    score: float
    rank_score: float
    strength: str
    reasons: Mapping[str, float]
    around: tuple[Passage, ...] = ()


class Found(NamedTuple):
    """The hits of one page, how many passed in all, and what the caller should know."""

    hits: tuple[Hit, ...]
    total: int
    warnings: tuple[str, ...] = ()
