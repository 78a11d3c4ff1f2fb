"""Everything that is known about one item: its text, its links, what is like it."""

from dataclasses import dataclass
from typing import NamedTuple

from memolith.domain.blocks import join_blocks, text_of
from memolith.domain.callers import Caller
from memolith.domain.items import Item, Superseded
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.engine.activity import titles_of
from memolith.engine.reading import Reading
from memolith.engine.recall import Alike, Recall
from memolith.engine.statements import contradicts
from memolith.engine.visibility import is_gone, visible
from memolith.errors import EmbedderDown
from memolith.ports.store import Reader, Store

MAX_SHOWN_LINKS = 100
MIN_SIMILARITY = 0.82
"""Similarities from here on are worth a look; from 0.9 on two items say nearly the same."""
COMPARED_CHARACTERS = 4000
"""Items with a longer text are compared by how they begin."""


class Reads(NamedTuple):
    """How often an item was read, and when last."""

    times: int
    last: str | None


class ShownLink(NamedTuple):
    """A link of an item, seen from it."""

    id: str
    type: str
    strength: float
    outgoing: bool
    other: Item
    other_title: str


class Related(NamedTuple):
    """Another item on the same matter."""

    item: Item
    title: str
    similarity: float | None
    """None where only a mark tells that one replaced the other."""


class Relations(NamedTuple):
    """Items on the same matter: those that say the same, and those that say something else."""

    similar: list[Related]
    conflicting: list[Related]


class ShownItem(NamedTuple):
    """An item with what stands around it."""

    item: Item
    blocks: list[Block]
    """A stretch of its text."""
    links: list[ShownLink]
    total_links: int
    reads: Reads
    superseded: Superseded | None
    """By which newer item it was replaced."""
    superseding: list[Related]
    """Which older items it replaced."""


@dataclass(frozen=True)
class ItemView:
    """Shows one item."""

    store: Store
    reading: Reading
    recall: Recall

    def show(self, caller: Caller, id: str, limit: int, offset: int) -> ShownItem:
        """The item, also a forgotten one, with so many blocks of its text."""
        reads = self.reading.accesses(caller, [id])
        with self.store.reading(caller.tenant) as rows:
            item = visible(rows, caller, id, forgotten=True)
            blocks = join_blocks(rows.passages(caller.tenant, id))
            links, total_links = _links(rows, caller, id)
            superseding = _visible_items(rows, caller, rows.superseding(caller.tenant, id))
            count, last = reads.get(id, (0, None))
            return ShownItem(
                item=item,
                blocks=blocks[offset : offset + limit],
                links=links,
                total_links=total_links,
                reads=Reads(count, last),
                superseded=rows.superseded(caller.tenant, [id]).get(id),
                superseding=_related(rows, caller, superseding),
            )

    def relations(self, caller: Caller, id: str, limit: int) -> Relations:
        """The items that are like this one; without a model only near copies are found."""
        with self.store.reading(caller.tenant) as rows:
            item = visible(rows, caller, id, forgotten=True)
            text = text_of(rows.passages(caller.tenant, id))[:COMPARED_CHARACTERS]
        if not text.strip():
            return Relations([], [])
        found = [other for other in self._alike(caller, item, text, limit) if other.item.id != id]
        with self.store.reading(caller.tenant) as rows:
            titles = titles_of(rows, caller.tenant, {other.item.id: other.item for other in found})
        similar = []
        conflicting = []
        for other in found:
            related = Related(other.item, titles[other.item.id], round(other.similarity, 4))
            if other.contradicts:
                conflicting.append(related)
            else:
                similar.append(related)
        return Relations(similar[:limit], conflicting[:limit])

    def _alike(self, caller: Caller, item: Item, text: str, limit: int) -> list[Alike]:
        chosen = Filter(kinds=(item.kind,))
        if self.recall.state().state == "healthy":
            try:
                # One more than asked for, because the item is like itself.
                return self.recall.alike(caller, text, MIN_SIMILARITY, chosen, limit + 1)
            except EmbedderDown:
                pass
        copies = {copy.id: copy for copy in self.reading.near_copies(caller, item.kind, text)}
        alike = []
        for other, blocks in self.reading.read_many(caller, list(copies)):
            copy = copies[other.id]
            other_text = "\n".join(block.text for block in blocks)
            alike.append(Alike(other, copy.similarity, copy.exact, contradicts(text, other_text)))
        return alike


def _links(rows: Reader, caller: Caller, id: str) -> tuple[list[ShownLink], int]:
    """The newest links of an item to items that the caller sees, and how many there are."""
    links = rows.neighbours(caller.tenant, [id], "both")[::-1]
    ends = {link.target if link.source == id else link.source for link in links}
    others = {item.id: item for item in _visible_items(rows, caller, list(ends))}
    seen = []
    for link in links:
        other = others.get(link.target if link.source == id else link.source)
        if other is not None:
            seen.append((link, other))
    shown = seen[:MAX_SHOWN_LINKS]
    titles = titles_of(rows, caller.tenant, {other.id: other for _, other in shown})
    return [
        ShownLink(link.id, link.type, link.strength, link.source == id, other, titles[other.id])
        for link, other in shown
    ], len(seen)


def _visible_items(rows: Reader, caller: Caller, ids: list[str]) -> list[Item]:
    """Those of the items that the caller sees and that are not gone, in the order given."""
    items = rows.items(caller.tenant, ids)
    found = [items[id] for id in ids if id in items]
    return [item for item in found if item.admits(caller) and not is_gone(item)]


def _related(rows: Reader, caller: Caller, items: list[Item]) -> list[Related]:
    titles = titles_of(rows, caller.tenant, {item.id: item for item in items})
    return [Related(item, titles[item.id], None) for item in items]
