"""Walking along links: level by level, one statement per level, only over what the caller sees; and drawing them."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from memolith.engine.events import Replay
from memolith.engine.matching import item_matches
from memolith.engine.model import Caller, Direction, Filter, Item, Link
from memolith.engine.ports import MOST_LISTED, Reader, Store
from memolith.engine.verbs import visible

DEEPEST = 6
MOST = 500
MOST_VISITED, LONGEST_S = 200_000, 2.0
Way = tuple[tuple[str, str], ...]
# The head, an item, a link, the end, and what begins the code of a character that is neither letter nor digit.
FORMATS = {
    "mermaid": ("graph LR", '  n{n}["{name}"]', "  n{a} -->|{type}| n{b}", "", "#"),
    "dot": ("digraph memory {{", '  n{n} [label="{name}"];', '  n{a} -> n{b} [label="{type}"];', "}}", "&#"),
    "ascii": ("", "{name}", "{source} --{type}--> {target}", "", ""),
    "svg": ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="-{r} -20 {w} {h}" font-family="sans-serif">',
            '<text x="8" y="{n}4">{name}</text>', '<path d="M0 {a}0A1 1 0 0 {turn} 0 {b}0" fill="none" stroke="#888">'
            "<title>{type}</title></path>", "</svg>", "&#")}


class Neighbourhood(NamedTuple):
    """The items around one, nearest first, how far each is, and the links between them."""

    items: tuple[Item, ...]
    links: tuple[Link, ...]
    distance: dict[str, int]
    cut: bool = False


class Moment(NamedTuple):
    """When links are looked at: as the log knew them then, and as far as they held then; None is now, and ever."""

    as_of: str | None = None
    valid_at: str | None = None


NOW = Moment()


def standing(rows: Reader, tenant: str, frontier: Collection[str], toward: Direction, types: Collection[str],
             moment: Moment) -> list[Link]:
    """Every link that left the frontier in that direction at the moment."""
    as_of, valid_at = moment
    links = rows.neighbours(tenant, frontier, toward, types) if as_of is None else []
    for stream in sorted({stream for id in frontier for stream in rows.link_streams(tenant, id)}) if as_of else ():
        link = Replay.of(rows.events(tenant, stream), as_of).row
        if isinstance(link, Link) and (not types or link.type in types) and _ways(link, frontier, toward):
            links.append(link)
    return [link for link in links if valid_at is None or (
        str(link.attributes.get("valid_from") or "") <= valid_at < str(link.attributes.get("valid_to") or "9999"))]


def _ways(link: Link, frontier: Collection[str], toward: Direction) -> list[tuple[str, str, str]]:
    """Here, there and type of each way that the link leads from the frontier in that direction."""
    ways = [(link.source, link.target, link.type)] * (toward is not Direction.IN)
    ways += [(link.target, link.source, link.type)] * (toward is not Direction.OUT)
    return [way for way in ways if way[0] in frontier]


def seen(rows: Reader, caller: Caller, ids: Collection[str], chosen: Filter, moment: Moment = NOW) -> dict[str, Item]:
    """Those of the items that the caller sees and that passed the filter at the moment, as they were."""
    found = {id: item for id, item in rows.items(caller.tenant, ids).items() if item.scope.admits(caller)}
    if moment.as_of is not None:
        states = {id: Replay.of(rows.events(caller.tenant, id), moment.as_of).row for id in found}
        found = {id: item for id, item in states.items() if isinstance(item, Item) and item.scope.admits(caller)}
    return {id: item for id, item in found.items() if item_matches(item, chosen)}


def _steps(rows: Reader, caller: Caller, chosen: Filter, frontier: Collection[str], toward: Direction,
           types: Collection[str], moment: Moment) -> list[tuple[str, str, str, str]]:
    """Here, there, type and the title there, as the reader gives them, at the moment."""
    if moment == NOW:
        return rows.steps(caller, chosen, frontier, toward, types)
    links = standing(rows, caller.tenant, frontier, toward, types, moment)
    ways = [way for link in links for way in _ways(link, frontier, toward)]
    there = seen(rows, caller, {way[1] for way in ways}, chosen, moment)
    return [(*way, there[way[1]].title) for way in ways if way[1] in there]


def walk(rows: Reader, caller: Caller, id: str, depth: int, types: Collection[str], toward: Direction,
         chosen: Filter, most: int, moment: Moment = NOW) -> tuple[dict[str, int], dict[str, str], bool]:
    """How far each item is and its title, along what passes the filter, nearest first; and whether there is more."""
    titles, distance, frontier = {id: visible(rows, caller, id, moment.as_of is not None).title}, {id: 0}, [id]
    started = time.monotonic()
    for step in range(1, depth + 1):
        if not frontier or _enough(len(distance), most, started):
            break
        reached = {there: title for _, there, _, title in _steps(rows, caller, chosen, frontier, toward, types, moment)
                   if there not in distance}
        frontier = list(reached)[:most - len(distance)]
        distance, titles = distance | dict.fromkeys(frontier, step), titles | reached
    return distance, titles, _enough(len(distance), most, started)


def path(store: Store, caller: Caller, start: str, end: str, longest: int,
         chosen: Filter, moment: Moment = NOW) -> list[tuple[str, str, str]]:
    """The shortest way along links in either direction: id, title, and the type of the link to the next."""
    # The way back from each place: the next place and the type of the link to it, and so on to the end.
    back: tuple[dict[str, Way], dict[str, Way]] = ({start: ()}, {end: ()})
    frontiers, met, started = [[start], [end]], {start} & {end}, time.monotonic()
    with store.reading(caller.tenant) as rows:
        titles = {id: visible(rows, caller, id, moment.as_of is not None).title for id in (start, end)}
        for _ in range(longest):
            # Whole levels, always of the smaller side: so the first place where both meet is on a shortest way.
            side = int(len(frontiers[1]) < len(frontiers[0]))
            if met or not frontiers[side] or _enough(len(titles), MOST_VISITED, started):
                break
            reached: dict[str, Way] = {}
            for here, there, type, title in _steps(rows, caller, chosen, frontiers[side], Direction.BOTH, (), moment):
                if there not in back[side]:
                    reached.setdefault(there, ((here, type), *back[side][here]))
                    titles[there] = title
            back[side].update(reached)
            frontiers[side] = list(reached)
            met = reached.keys() & back[1 - side].keys()
    if not met:
        return []
    ids, types = zip(*reversed(back[0][min(met)]), (min(met), ""), *back[1][min(met)], strict=True)
    return [(id, titles[id], type) for id, type in zip(ids, (*filter(None, types), ""), strict=True)]


def survey(rows: Reader, caller: Caller, chosen: Filter, reach: Filter, types: Collection[str], most: int,
           moment: Moment = NOW) -> Neighbourhood:
    """The items that pass the filter, the most linked first, and their links to what passes the other one."""
    known = chosen if moment.as_of is None else replace(chosen, forgotten=None)
    listed = rows.listing(caller, known, "created_at", False, MOST_LISTED, counted=False).items
    items = seen(rows, caller, [item.id for item in listed], chosen, moment)
    links = standing(rows, caller.tenant, items, Direction.OUT, types, moment)
    ends = seen(rows, caller, {link.target for link in links}, reach, moment)
    links = [link for link in links if link.target in ends]
    degree = Counter(end for link in links for end in (link.source, link.target))
    shown = dict.fromkeys(sorted(items, key=lambda id: (-degree[id], items[id].seq))[:most], 0)
    return Neighbourhood(tuple(items[id] for id in shown), tuple(
        link for link in links if link.source in shown and (link.target in shown or link.target not in items)), shown,
        len(items) > most or len(listed) == MOST_LISTED)


def _enough(visited: int, most: int, started: float) -> bool:
    return visited >= most or time.monotonic() - started > LONGEST_S


def draw(around: Neighbourhood, format: str) -> str:
    """The items and links as text in one of the formats."""
    head, node, edge, end, mark = FORMATS[format]
    numbers = {item.id: n * (2 if format == "svg" else 1) for n, item in enumerate(around.items)}
    # A name in plain text stands in quotes, so that none can pass for a link.
    names = {item.id: "".join(c if c.isalnum() or c == " " else f"{mark}{ord(c)};" for c in item.title or item.id)
             if mark else json.dumps(item.title, ensure_ascii=False) for item in around.items}
    if format == "dot":
        # Graphviz reads escapes also in what was coded.
        names = {id: name.replace("&#92;", "&#92;&#92;") for id, name in names.items()}
    lines = [head.format(r=10 * len(names) + 10, w=10 * len(names) + 700, h=20 * len(names) + 40)]
    lines += [node.format(n=numbers[id], name=name) for id, name in names.items()]
    ends = [(numbers[link.source], numbers[link.target], link) for link in around.links]
    lines += [edge.format(a=a, b=b, type=link.type, turn=int(a > b), source=names[link.source],
                          target=names[link.target]) for a, b, link in ends]
    return "\n".join([*lines, end.format()]).strip() + "\n"
