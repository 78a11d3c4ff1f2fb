"""Walking along links: level by level, one statement per level, only over what the caller sees."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace

from memolith.engine.matching import item_matches
from memolith.engine.model import Caller, Direction, Filter, Item, Link
from memolith.engine.ports import Reader, Store
from memolith.engine.verbs import visible
from memolith.errors import InvalidInput

DEEPEST = 6
MOST = 500
MOST_VISITED, LONGEST_S = 200_000, 2.0
Way = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The items around one, nearest first, how far each is, and the links between them."""

    items: tuple[Item, ...]
    links: tuple[Link, ...]
    distance: dict[str, int]
    cut: bool = False


def explore(rows: Reader, caller: Caller, id: str, depth: int = 1, types: Collection[str] = (),
            toward: Direction = Direction.BOTH, chosen: Filter = Filter(), most: int = MOST) -> Neighbourhood:
    """Everything within so many links of an item, itself first."""
    if not 0 <= depth <= DEEPEST:
        raise InvalidInput(f"The depth must lie between 0 and {DEEPEST}.", field="depth", value=depth)
    around = walk(rows, caller, id, depth, types, toward, chosen, most)
    found = [item.id for item in around.items]
    links = rows.neighbours(caller.tenant, [one for one in found if around.distance[one] < depth], toward, types)
    return replace(around, links=tuple(link for link in links if {link.source, link.target} <= set(found)))


def walk(rows: Reader, caller: Caller, id: str, depth: int, types: Collection[str], toward: Direction,
         chosen: Filter, most: int) -> Neighbourhood:
    """The same without the links, and only along what passes the filter."""
    visible(rows, caller, id)
    distance, frontier, started = {id: 0}, [id], time.monotonic()
    for step in range(1, depth + 1):
        if not frontier or _enough(len(distance), most, started):
            break
        steps = rows.steps(caller, chosen, frontier, toward, types)
        frontier = list(dict.fromkeys(there for _, there, _ in steps if there not in distance))
        distance |= dict.fromkeys(frontier, step)
    near = list(distance)[:most]
    found = _passing(rows, caller, chosen, near)
    return Neighbourhood(tuple(found[id] for id in near if id in found), (), distance,
                         _enough(len(distance), most, started))


def path(store: Store, caller: Caller, start: str, end: str, longest: int,
         chosen: Filter) -> list[tuple[Item, str]]:
    """The shortest way along links in either direction: each item with the type of the link to the next."""
    # The way back from each place: the next place and the type of the link to it, and so on to the end.
    back: tuple[dict[str, Way], dict[str, Way]] = ({start: ()}, {end: ()})
    frontiers, met, started = [[start], [end]], {start} & {end}, time.monotonic()
    with store.reading() as rows:
        for id in (start, end):
            visible(rows, caller, id)
        for _ in range(longest):
            # Whole levels, always of the smaller side: so the first place where both meet is on a shortest way.
            side = int(len(frontiers[1]) < len(frontiers[0]))
            if met or not frontiers[side] or _enough(len(back[0]) + len(back[1]), MOST_VISITED, started):
                break
            reached: dict[str, Way] = {}
            for here, there, type in rows.steps(caller, chosen, frontiers[side], Direction.BOTH):
                if there not in back[side]:
                    reached.setdefault(there, ((here, type), *back[side][here]))
            back[side].update(reached)
            frontiers[side] = list(reached)
            met = set(_passing(rows, caller, chosen, reached.keys() & back[1 - side].keys()))
        if not met:
            return []
        ids, types = zip(*reversed(back[0][min(met)]), (min(met), ""), *back[1][min(met)], strict=True)
        items = rows.items(caller.tenant, ids)
    return list(zip((items[id] for id in ids), (*filter(None, types), ""), strict=True))


def _passing(rows: Reader, caller: Caller, chosen: Filter, ids: Collection[str]) -> dict[str, Item]:
    return {id: item for id, item in rows.items(caller.tenant, ids).items()
            if item.scope.admits(caller) and item_matches(item, chosen)} if ids else {}


def _enough(visited: int, most: int, started: float) -> bool:
    return visited >= most or time.monotonic() - started > LONGEST_S
