"""What happened to items and links."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from memolith.domain.attributes import Json
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.domain.passages import Passage

Data = Mapping[str, Json]
ITEM_EVENTS = (
    "remembered",
    "revised",
    "tagged",
    "appended",
    "forgotten",
    "restored",
    "appraised",
    "erased",
)


LINK_EVENTS = ("linked", "relinked", "unlinked")


# These tell of records that are no items; the log keeps who and when, and no row follows from them.
RECORD_EVENTS = (
    "configured",
    "stored",
    "rotated",
    "revoked",
    "revealed",
    "paused",
    "resumed",
    "copied",
    "injected",
    "kept",
)


class Event(NamedTuple):
    """Something that happened to an item or a link."""

    tenant: str
    seq: int
    stream: str
    version: int
    type: str
    data: Data
    actor: str
    at: str
    key: str | None = None


class EventHead(NamedTuple):
    """An event without what it says: what happened, to what, by whom, and when."""

    seq: int
    stream: str
    version: int
    type: str
    actor: str
    at: str
    is_undo: bool = False
    """Whether it takes an earlier event back."""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """What a list of events is limited to; empty means no limit."""

    after: int = 0
    """Only events with a higher sequence number."""
    before: int | None = None
    """Only events with a lower sequence number."""
    actor: str | None = None
    types: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """Only events of items of these kinds, and none of links."""


class Changes(NamedTuple):
    """The row changes of one event: the item or link before and after, and its passages."""

    before: Item | None = None
    item: Item | None = None
    keep: int | None = None
    passages: tuple[Passage, ...] = ()
    link: Link | None = None
    gone: str | None = None

    @property
    def embeds(self) -> bool:
        """Whether there is text that has no vector yet."""
        renamed = self.item and self.before and self.before.title != self.item.title
        return self.item is not None and bool(self.passages or renamed)
