"""The fold: what each event changes in the rows of items, passages and links.

It depends on nothing but the row before and the event, so a replay of the log gives the same rows.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self, cast

from memolith.domain.attributes import Attributes
from memolith.domain.callers import Audience
from memolith.domain.chunking import FIRST_CHUNKER, chunk
from memolith.domain.events import ITEM_EVENTS, LINK_EVENTS, RECORD_EVENTS, Changes, Data, Event
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.domain.passages import Block, Passage
from memolith.errors import StoreCorrupt


def fold(before: Item | Link | None, event: Event) -> Changes:
    """What an event changes; `before` is the row as the events before it have left it."""
    try:
        if event.type in ("erased", "unlinked"):
            item = before if isinstance(before, Item) else None
            return Changes(before=item, keep=0, gone=event.stream)
        if event.type in LINK_EVENTS:
            return Changes(link=_linked(before, event))
        if event.type in RECORD_EVENTS:
            return Changes()
        return _changed(before, event)
    except (KeyError, ValueError, TypeError) as error:
        raise StoreCorrupt(
            f"Event {event.seq} ({event.type[:40]}) of {event.stream} does not make sense."
        ) from error


def _linked(before: Item | Link | None, event: Event) -> Link:
    """The link after an event."""
    data = event.data
    if event.type == "linked":
        before = Link(
            id=event.stream,
            source=cast(str, data["source"]),
            target=cast(str, data["target"]),
            type=cast(str, data["type"]),
            strength=cast(float, data["strength"]),
            attributes={},
            version=event.version,
            # A link that undo brings back keeps its place and its age.
            seq=cast(int, data.get("first", event.seq)),
            created_at=cast(str, data.get("created_at", event.at)),
            updated_at=event.at,
        )
    if not isinstance(before, Link):
        raise ValueError("an event of a link that was never made")
    return before._replace(
        version=event.version,
        updated_at=event.at,
        strength=cast(float, data.get("strength", before.strength)),
        attributes=cast(Attributes, data.get("attributes", before.attributes)),
    )


def _changed(before: Item | Link | None, event: Event) -> Changes:
    """What an event of an item changes; a new item is one changed from nothing."""
    is_new = event.type == "remembered"
    item = _blank(event) if is_new else before
    if event.type not in ITEM_EVENTS or not isinstance(item, Item):
        raise ValueError("an event of an item that was never remembered")
    data = event.data
    after = item._replace(
        title=cast(str, data.get("title", item.title)),
        status=cast(str, data.get("status", item.status)),
        project=cast("str | None", data.get("project", item.project)),
        namespace=cast("str | None", data.get("namespace", item.namespace)),
        version=event.version,
        tags=tuple(sorted(set(_texts(data, "tags", item.tags)))),
        audience=Audience(cast(str, data.get("audience", item.audience))),
        attributes=_merged_attributes(item.attributes, data),
        updated_at=_updated_at(item, event),
        forgotten=event.type == "forgotten" or (item.forgotten and event.type != "restored"),
    )
    if is_new:
        return _with_text(None, after, event)
    if "blocks" in data:
        return _with_text(item, after, event)
    return Changes(before=item, item=after)


def _updated_at(item: Item, event: Event) -> str:
    if event.type == "appraised":
        # What memolith computes by itself does not make an item look newer.
        return item.updated_at
    return cast(str, event.data.get("updated_at", event.at))


def _merged_attributes(attributes: Attributes, data: Data) -> Attributes:
    dropped = _texts(data, "dropped")
    kept = {name: value for name, value in attributes.items() if name not in dropped}
    return kept | dict(cast(Attributes, data.get("attributes") or {}))


def _blank(event: Event) -> Item:
    """A new item without a text."""
    data = event.data
    return Item(
        tenant=event.tenant,
        id=event.stream,
        kind=cast(str, data["kind"]),
        title=cast(str, data["title"]),
        status=cast(str, data["status"]),
        owner=cast(str, data["owner"]),
        audience=Audience(cast(str, data["audience"])),
        project=None,
        namespace=None,
        tags=(),
        attributes={},
        version=event.version,
        seq=event.seq,
        # What was imported keeps the age that it had elsewhere.
        created_at=cast(str, data.get("created_at", event.at)),
        updated_at=event.at,
        blocks=0,
        passages=0,
    )


def _with_text(before: Item | None, item: Item, event: Event) -> Changes:
    """The item with the blocks of the event: appended, or instead of those it has."""
    raw_blocks = cast("list[dict[str, str]]", event.data.get("blocks") or [])
    new_blocks = [Block(**raw) for raw in raw_blocks]  # type: ignore[arg-type]
    if event.type == "appended":
        default_at = event.at
        block_number = item.blocks
        # An item without text has one empty passage, which the first text replaces.
        keep = item.passages if item.blocks else 0
    else:
        default_at = item.created_at
        block_number = 0
        keep = 0
    chunker = cast(int, event.data.get("chunker", FIRST_CHUNKER))
    passages: list[Passage] = []
    for block in new_blocks:
        for text in chunk(block.text, chunker):
            passages.append(
                Passage(
                    item.id,
                    keep + len(passages),
                    block_number,
                    text,
                    block.at or default_at,
                    block.speaker,
                    block.locator,
                    block.attributes,
                )
            )
        block_number += 1
    if not block_number:
        # Without text, the item is still found by its title.
        passages = [Passage(item.id, 0, -1, "", item.created_at)]
    after = item._replace(blocks=block_number, passages=keep + len(passages))
    return Changes(before=before, item=after, keep=keep, passages=tuple(passages))


def _texts(data: Data, name: str, default: Iterable[str] = ()) -> Iterable[str]:
    value = data.get(name)
    if value is None:
        return default
    if not isinstance(value, list):
        raise ValueError(f"{name} are a list")
    return cast("list[str]", value)


@dataclass(slots=True)
class Replay:
    """The state of one stream in memory, as far as its events were applied."""

    row: Item | Link | None = None
    passages: list[Passage] = field(default_factory=list)

    def apply(self, event: Event) -> Changes:
        """Take the next event into account."""
        changes = fold(self.row, event)
        if changes.keep is not None:
            self.passages = [*self.passages[: changes.keep], *changes.passages]
        self.row = changes.item or changes.link
        return changes

    @classmethod
    def of(cls, events: Iterable[Event], until: str | None = None) -> Self:
        """The state that the events up to a time have left; an erased stream has left nothing."""
        listed = list(events)
        state = cls()
        if listed and listed[-1].type == "erased":
            return state
        for event in listed:
            if until is not None and event.at > until:
                break
            state.apply(event)
        return state
