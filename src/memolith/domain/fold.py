"""How events become the rows of items, passages and links."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Self, cast

from memolith.domain.attributes import Attributes
from memolith.domain.callers import Audience
from memolith.domain.chunking import chunk
from memolith.domain.events import ITEM_EVENTS, LINK_EVENTS, RECORD_EVENTS, Changes, Data, Event
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.domain.passages import Block, Passage
from memolith.errors import StoreCorrupt


def fold(before: Item | Link | None, event: Event) -> Changes:
    try:
        if event.type in ("erased", "unlinked"):
            return Changes(
                before=before if isinstance(before, Item) else None, keep=0, gone=event.stream
            )
        if event.type in LINK_EVENTS:
            return Changes(link=_linked(before, event))
        return Changes() if event.type in RECORD_EVENTS else _changed(before, event)
    except (KeyError, ValueError, TypeError) as error:
        raise StoreCorrupt(
            f"Event {event.seq} ({event.type[:40]}) of {event.stream} does not make sense."
        ) from error


def _linked(before: Item | Link | None, event: Event) -> Link:
    data = event.data
    if event.type == "linked":
        before = Link(
            event.stream,
            cast(str, data["source"]),
            cast(str, data["target"]),
            cast(str, data["type"]),
            cast(float, data["strength"]),
            {},
            event.version,
            cast(int, data.get("first", event.seq)),
            cast(str, data.get("created_at", event.at)),
            event.at,
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
    """What an event of an item means; to be remembered is to be changed from nothing."""
    data, item = event.data, _blank(event) if event.type == "remembered" else before
    if event.type not in ITEM_EVENTS or not isinstance(item, Item):
        raise ValueError("an event of an item that was never remembered")
    texts = {
        name: data.get(name, getattr(item, name))
        for name in ("title", "status", "project", "namespace")
    }
    dropped = _texts(data, "dropped")
    kept = {name: value for name, value in item.attributes.items() if name not in dropped}
    after = item._replace(
        **texts,
        version=event.version,
        tags=tuple(sorted(set(_texts(data, "tags", item.tags)))),
        audience=Audience(cast(str, data.get("audience", item.audience))),
        attributes=kept | dict(cast(Attributes, data.get("attributes") or {})),
        updated_at=item.updated_at if event.type == "appraised" else event.at,
        forgotten=event.type == "forgotten" or (item.forgotten and event.type != "restored"),
    )
    known = None if event.type == "remembered" else item
    return (
        _filled(known, after, event)
        if "blocks" in data or known is None
        else Changes(before=item, item=after)
    )


def _blank(event: Event) -> Item:
    data = event.data
    kind, title, status, owner, audience = (
        cast(str, data[name]) for name in ("kind", "title", "status", "owner", "audience")
    )
    return Item(
        event.tenant,
        event.stream,
        kind,
        title,
        status,
        owner,
        Audience(audience),
        None,
        None,
        (),
        {},
        event.version,
        event.seq,
        event.at,
        event.at,
        blocks=0,
        passages=0,
    )


def _filled(before: Item | None, item: Item, event: Event) -> Changes:
    raw = cast("list[dict[str, str]]", event.data.get("blocks") or [])
    at, blocks, keep, new = item.created_at, 0, 0, [Block(**block) for block in raw]  # type: ignore[arg-type]
    if event.type == "appended":
        at, blocks, keep = event.at, item.blocks, item.passages if item.blocks else 0
    pieces = [(blocks + n, one, text) for n, one in enumerate(new) for text in chunk(one.text)]
    passages = tuple(
        Passage(
            item.id, keep + n, block, text, one.at or at, one.speaker, one.locator, one.attributes
        )
        for n, (block, one, text) in enumerate(pieces)
    )
    if not blocks + len(new):
        # Without text it is still found by its title.
        passages = (Passage(item.id, 0, -1, "", item.created_at),)
    after = item._replace(blocks=blocks + len(new), passages=keep + len(passages))
    return Changes(before=before, item=after, keep=keep, passages=passages)


def _texts(data: Data, name: str, otherwise: Iterable[str] = ()) -> Iterable[str]:
    if not isinstance(value := data.get(name), list | None):
        raise ValueError("tags are a list")
    return otherwise if value is None else cast("list[str]", value)


@dataclass(slots=True)
class Replay:
    """The state of one stream in memory, as far as its events were applied."""

    row: Item | Link | None = None
    passages: list[Passage] = field(default_factory=list)

    def apply(self, event: Event) -> Changes:
        changes = fold(self.row, event)
        if changes.keep is not None:
            self.passages = [*self.passages[: changes.keep], *changes.passages]
        self.row = changes.item or changes.link
        return changes

    @classmethod
    def of(cls, events: Iterable[Event], until: str | None = None) -> Self:
        """The state that the events up to a time have left; nothing is left of an erased stream."""
        listed, state = list(events), cls()
        if listed and listed[-1].type == "erased":
            return state
        for event in takewhile(lambda event: until is None or event.at <= until, listed):
            state.apply(event)
        return state
