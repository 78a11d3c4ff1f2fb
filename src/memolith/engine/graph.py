"""Walking along links: level by level, one statement per level, only over what the caller sees."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from memolith.engine.model import Caller, Direction, Item, Link
from memolith.engine.ports import Reader
from memolith.engine.verbs import visible
from memolith.errors import InvalidInput

DEEPEST = 6
MOST = 500


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The items around one, nearest first, how far each is, and the links between them."""

    items: tuple[Item, ...]
    links: tuple[Link, ...]
    distance: dict[str, int]
    cut: bool = False


def explore(rows: Reader, caller: Caller, id: str, depth: int = 1, types: Collection[str] = (),
            toward: Direction = Direction.BOTH) -> Neighbourhood:
    """Everything within so many links of an item, itself first."""
    if not 0 <= depth <= DEEPEST:
        raise InvalidInput(f"The depth must lie between 0 and {DEEPEST}.", field="depth", value=depth)
    start = visible(rows, caller, id)
    found: dict[str, Item] = {start.id: start}
    distance = {start.id: 0}
    links: dict[str, Link] = {}
    frontier = [start.id]
    for step in range(1, depth + 1):
        edges = rows.neighbours(caller.tenant, frontier, toward, types) if frontier else []
        ends = dict.fromkeys(end for link in edges for end in (link.source, link.target) if end not in found)
        seen = {item.id: item for item in rows.items(caller.tenant, list(ends)).values()
                if item.scope.admits(caller) and not item.forgotten}
        frontier = [end for end in ends if end in seen][:MOST - len(found)]
        for end in frontier:
            found[end], distance[end] = seen[end], step
        links |= {link.id: link for link in edges if link.source in found and link.target in found}
        if len(found) >= MOST:
            break
    return Neighbourhood(tuple(found.values()), tuple(links.values()), distance, cut=len(found) >= MOST)
