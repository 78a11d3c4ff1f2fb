"""Events and their fold: what happened, and what that means for the rows of every store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import cast

from memolith.engine.chunks import chunk
from memolith.engine.model import NO_ATTRIBUTES, Attributes, Audience, Block, Item, Json, Link, Passage, Scope
from memolith.errors import StoreCorrupt

Data = Mapping[str, Json]
ITEM_EVENTS = ("remembered", "revised", "tagged", "appended", "trimmed", "forgotten", "restored", "appraised",
               "erased")
LINK_EVENTS = ("linked", "relinked", "unlinked")
# These tell of records that are no items; the log keeps who and when, and no row follows from them.
RECORD_EVENTS = ("configured", "stored", "rotated", "revoked", "revealed")


@dataclass(frozen=True, slots=True)
class Event:
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


@dataclass(frozen=True, slots=True)
class Changes:
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
        if self.item is None:
            return False
        return bool(self.passages) or (self.before is not None and self.before.title != self.item.title)


def fold(before: Item | Link | None, event: Event) -> Changes:
    """The row changes that the event means, given the row as it was."""
    try:
        return _FOLDS[event.type](before, event)
    except (KeyError, ValueError, TypeError) as error:
        raise StoreCorrupt(f"Event {event.seq} ({event.type[:40]}) of {event.stream} does not make sense.") from error


def block_data(block: Block) -> dict[str, Json]:
    """The block as an event keeps it, without what is empty."""
    data: dict[str, Json] = {"text": block.text}
    for name in ("speaker", "at", "locator"):
        if (value := getattr(block, name)) is not None:
            data[name] = value
    if block.attributes:
        data["attributes"] = dict(block.attributes)
    return data


def blocks_of(data: Data) -> list[Block]:
    """The blocks that an event carries."""
    raw = cast(list[dict[str, Json]], data.get("blocks") or [])
    return [Block(text=cast(str, b["text"]), speaker=cast("str | None", b.get("speaker")),
                  at=cast("str | None", b.get("at")), locator=cast("str | None", b.get("locator")),
                  attributes=cast(Attributes, b.get("attributes") or NO_ATTRIBUTES)) for b in raw]


def passages_of(item: str, blocks: Iterable[Block], at: str, block: int = 0, ordinal: int = 0) -> tuple[Passage, ...]:
    """The passages of blocks that follow what the item has already."""
    made: list[Passage] = []
    for offset, source in enumerate(blocks):
        for text in chunk(source.text):
            made.append(Passage(item=item, ordinal=ordinal + len(made), block=block + offset, text=text,
                                at=source.at or at, speaker=source.speaker, locator=source.locator,
                                attributes=source.attributes))
    return tuple(made)


def join_blocks(passages: Iterable[Passage]) -> list[Block]:
    """The blocks again, from their passages in order."""
    texts: dict[int, list[str]] = {}
    firsts: dict[int, Passage] = {}
    for passage in passages:
        texts.setdefault(passage.block, []).append(passage.text)
        firsts.setdefault(passage.block, passage)
    return [Block(text="".join(texts[n]), speaker=p.speaker, at=p.at, locator=p.locator, attributes=p.attributes)
            for n, p in firsts.items() if n >= 0]


def _remembered(before: Item | Link | None, event: Event) -> Changes:
    data = event.data
    scope = Scope(tenant=event.tenant, owner=cast(str, data["owner"]), audience=Audience(cast(str, data["audience"])),
                  project=cast("str | None", data.get("project")),
                  namespace=cast("str | None", data.get("namespace")))
    blocks = blocks_of(data)
    passages = passages_of(event.stream, blocks, event.at) or (_bare(event.stream, event.at),)
    item = Item(id=event.stream, kind=cast(str, data["kind"]), title=cast(str, data["title"]), scope=scope,
                status=cast(str, data["status"]), tags=_texts(data.get("tags")),
                attributes=cast(Attributes, data.get("attributes") or {}), version=event.version, seq=event.seq,
                created_at=event.at, updated_at=event.at, blocks=len(blocks), passages=len(passages))
    return Changes(item=item, keep=0, passages=passages)


def _bare(item: str, at: str) -> Passage:
    """An empty passage, so that an item without text is found by its title."""
    return Passage(item=item, ordinal=0, block=-1, text="", at=at)


def _revised(before: Item | Link | None, event: Event) -> Changes:
    item, data = _the_item(before), event.data
    scope = item.scope
    if "audience" in data:
        scope = replace(scope, audience=Audience(cast(str, data["audience"])))
    if "project" in data:
        scope = replace(scope, project=cast("str | None", data["project"]))
    if "namespace" in data:
        scope = replace(scope, namespace=cast("str | None", data["namespace"]))
    after = replace(item, scope=scope, version=event.version, updated_at=event.at,
                    title=cast(str, data.get("title", item.title)), status=cast(str, data.get("status", item.status)),
                    tags=_texts(data["tags"]) if "tags" in data else item.tags, attributes=_patched(item, data))
    if "blocks" not in data:
        return Changes(before=item, item=after)
    blocks = blocks_of(data)
    passages = passages_of(item.id, blocks, item.created_at) or (_bare(item.id, item.created_at),)
    return Changes(before=item, item=replace(after, blocks=len(blocks), passages=len(passages)), keep=0,
                   passages=passages)


def _patched(item: Item, data: Data) -> Attributes:
    dropped = _texts(data.get("dropped"))
    kept = {name: value for name, value in item.attributes.items() if name not in dropped}
    return kept | dict(cast(Attributes, data.get("attributes") or {}))


def _tagged(before: Item | Link | None, event: Event) -> Changes:
    item = _the_item(before)
    tags = (set(item.tags) | set(_texts(event.data.get("added")))) - set(_texts(event.data.get("removed")))
    return Changes(before=item, item=replace(item, tags=tuple(sorted(tags)), version=event.version,
                                             updated_at=event.at))


def _appended(before: Item | Link | None, event: Event) -> Changes:
    item = _the_item(before)
    blocks = blocks_of(event.data)
    keep = 0 if item.blocks == 0 else item.passages
    passages = passages_of(item.id, blocks, event.at, block=item.blocks, ordinal=keep)
    after = replace(item, version=event.version, updated_at=event.at, blocks=item.blocks + len(blocks),
                    passages=keep + len(passages))
    return Changes(before=item, item=after, keep=keep, passages=passages)


def _trimmed(before: Item | Link | None, event: Event) -> Changes:
    item = _the_item(before)
    blocks, keep = cast(int, event.data["blocks"]), cast(int, event.data["passages"])
    bare = () if blocks else (_bare(item.id, item.created_at),)
    after = replace(item, version=event.version, updated_at=event.at, blocks=blocks, passages=keep + len(bare))
    return Changes(before=item, item=after, keep=keep, passages=bare)


def _forgotten(before: Item | Link | None, event: Event) -> Changes:
    item = _the_item(before)
    return Changes(before=item, item=replace(item, forgotten=True, version=event.version, updated_at=event.at))


def _restored(before: Item | Link | None, event: Event) -> Changes:
    item = _the_item(before)
    return Changes(before=item, item=replace(item, forgotten=False, version=event.version, updated_at=event.at,
                                             attributes=_patched(item, event.data)))


def _appraised(before: Item | Link | None, event: Event) -> Changes:
    item = _the_item(before)
    return Changes(before=item, item=replace(item, version=event.version, attributes=_patched(item, event.data)))


def _told(before: Item | Link | None, event: Event) -> Changes:
    return Changes()


def _erased(before: Item | Link | None, event: Event) -> Changes:
    return Changes(before=before if isinstance(before, Item) else None, gone=event.stream)


def _linked(before: Item | Link | None, event: Event) -> Changes:
    data = event.data
    link = Link(id=event.stream, source=cast(str, data["source"]), target=cast(str, data["target"]),
                type=cast(str, data["type"]), strength=cast(float, data["strength"]),
                attributes=cast(Attributes, data.get("attributes") or {}), version=event.version,
                seq=cast(int, data.get("first", event.seq)), created_at=cast(str, data.get("created_at", event.at)),
                updated_at=event.at)
    return Changes(link=link)


def _relinked(before: Item | Link | None, event: Event) -> Changes:
    if not isinstance(before, Link):
        raise ValueError(f"{event.type} without a link before it")
    link = replace(before, version=event.version, updated_at=event.at,
                   strength=cast(float, event.data.get("strength", before.strength)),
                   attributes=cast(Attributes, event.data.get("attributes", before.attributes)))
    return Changes(link=link)


def _unlinked(before: Item | Link | None, event: Event) -> Changes:
    return Changes(gone=event.stream)


def _the_item(before: Item | Link | None) -> Item:
    if not isinstance(before, Item):
        raise ValueError("an event of an item that was never remembered")
    return before


def _texts(value: Json | None) -> tuple[str, ...]:
    if value is not None and not isinstance(value, list):
        raise ValueError("tags are a list")
    return tuple(cast(list[str], value or []))


_FOLDS: dict[str, Callable[[Item | Link | None, Event], Changes]] = {
    "remembered": _remembered, "revised": _revised, "tagged": _tagged, "appended": _appended, "trimmed": _trimmed,
    "forgotten": _forgotten, "restored": _restored, "appraised": _appraised, "erased": _erased,
    "linked": _linked, "relinked": _relinked, "unlinked": _unlinked, **dict.fromkeys(RECORD_EVENTS, _told),
}


@dataclass(slots=True)
class Replay:
    """The state of one stream in memory, as far as its events were applied."""

    row: Item | Link | None = None
    passages: list[Passage] = field(default_factory=list)

    def apply(self, event: Event) -> Changes:
        """Fold one more event into the state."""
        changes = fold(self.row, event)
        if changes.keep is not None:
            self.passages = [*self.passages[:changes.keep], *changes.passages]
        if changes.gone is not None:
            self.row, self.passages = None, []
        else:
            self.row = changes.item or changes.link
        return changes

    @classmethod
    def until(cls, events: Iterable[Event], at: str) -> Replay:
        """The state that the events up to a time have left."""
        return cls.of(takewhile(lambda event: event.at <= at, events))

    @classmethod
    def of(cls, events: Iterable[Event]) -> Replay:
        """The state after these events; nothing is left of an erased stream."""
        listed = list(events)
        state = cls()
        if listed and listed[-1].type == "erased":
            return state
        for event in listed:
            state.apply(event)
        return state
