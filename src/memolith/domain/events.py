"""What happened to items and links."""

from collections.abc import Mapping
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
RECORD_EVENTS = ("configured", "stored", "rotated", "revoked", "revealed")


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
