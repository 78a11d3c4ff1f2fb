"""What is exported: the live items of a caller, and the links between them."""

from collections.abc import Iterator
from typing import NamedTuple

from memolith.domain.callers import Caller
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.engine.engine import Engine

ITEMS_PER_READ = 500


class ItemText(NamedTuple):
    """An item and its text."""

    item: Item
    blocks: list[Block]


def live_items(engine: Engine, caller: Caller) -> Iterator[ItemText]:
    """Every item that the caller sees, the oldest first."""
    items = sorted(engine.reading.list_all(caller, Filter()), key=lambda item: item.seq)
    for start in range(0, len(items), ITEMS_PER_READ):
        ids = [item.id for item in items[start : start + ITEMS_PER_READ]]
        for item, blocks in engine.reading.read_many(caller, ids):
            yield ItemText(item, blocks)


def links_between(engine: Engine, caller: Caller, ids: set[str]) -> dict[str, list[Link]]:
    """The links of these items to each other, by the item that they start from."""
    links: dict[str, list[Link]] = {}
    with engine.reading.store.reading(caller.tenant) as rows:
        for link in rows.all_links(caller.tenant):
            if link.source in ids and link.target in ids:
                links.setdefault(link.source, []).append(link)
    return links
