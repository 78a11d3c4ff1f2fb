"""Events and their fold: what happened, what that means for the rows of every store, and how a text is cut."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from operator import attrgetter
from typing import NamedTuple, Self, cast

from memolith.engine.model import Attributes, Audience, Block, Item, Json, Link, Passage
from memolith.errors import StoreCorrupt

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
# Passages have about so many model tokens; the version changes with the way they are cut.
CHUNKER, TARGET = 1, 200
_SENTENCE = re.compile(
    r"[^.!?。！？\n]*(?:[.!?。！？]+[\"')\]”’]*(?:\s+|(?<=[。！？])|$)|[.!?]+|\n+|$)"
)
_TOKEN = re.compile(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]|\s+")
_PIECE = re.compile(r"[A-Za-z0-9]{1,6}|[^\sA-Za-z0-9]")


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


def block_data(block: Block) -> dict[str, Json]:
    """The block as an event keeps it, without what is empty."""
    data: dict[str, Json] = {
        "text": block.text,
        "speaker": block.speaker,
        "at": block.at,
        "locator": block.locator,
        "attributes": dict(block.attributes) or None,
    }
    return {name: value for name, value in data.items() if value is not None}


def join_blocks(passages: Iterable[Passage]) -> list[Block]:
    """The blocks again, from their passages in order."""
    blocks = [list(group) for block, group in groupby(passages, attrgetter("block")) if block >= 0]
    return [
        Block(
            "".join(passage.text for passage in block),
            block[0].speaker,
            block[0].at,
            block[0].locator,
            block[0].attributes,
        )
        for block in blocks
    ]


def text_of(passages: Iterable[Passage]) -> str:
    """The whole text of an item, its blocks line by line."""
    return "\n".join(block.text for block in join_blocks(passages))


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


def weigh(text: str) -> int:
    """About how many tokens the model will see; counted rather too high than too low."""
    return len(_PIECE.findall(text))


def embedded(title: str, speaker: str | None, text: str, before: str = "") -> str:
    """What the model gets to see of a passage: title or speaker, the end of the passage before it, and its text."""
    tail = before[-120:].split(" ", 1)[-1].strip() if before else ""
    body = f"{tail} {text}".strip()
    if speaker:
        return f"{speaker}: {body}"
    return f"{title}. {body}" if title and not body.startswith(title) else body or title


def chunk(text: str) -> list[str]:
    """The pieces of the text, which joined are the text, cut at sentence ends where there are any."""
    if len(text) <= TARGET or weigh(text) <= TARGET:
        return [text]
    pieces, current, weight = list[str](), "", 0
    for sentence in (
        piece
        for whole in _SENTENCE.findall(text)
        for piece in (_cut(whole) if len(whole) > TARGET and weigh(whole) > TARGET else (whole,))
    ):
        size = weigh(sentence)
        if weight and weight + size > TARGET:
            pieces.append(current)
            current, weight = "", 0
        current, weight = current + sentence, weight + size
    return [*pieces, current] if current else pieces


def _cut(sentence: str) -> Iterator[str]:
    """Pieces of a sentence that is too long by itself, cut between words, or inside one that never ends."""
    start, weight, limit = 0, 0, 6 * TARGET
    for match in _TOKEN.finditer(sentence):
        weight += weigh(match.group())
        if weight > TARGET and match.start() > start:
            yield sentence[start : match.start()]
            start, weight = match.start(), weigh(match.group())
        while match.end() - start > limit:
            yield sentence[start : start + limit]
            start, weight = start + limit, 1 + (match.end() - start - limit) // 6
    if start < len(sentence):
        yield sentence[start:]
