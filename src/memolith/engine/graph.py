"""Walking along links: level by level, one statement per level, only over what the caller sees; and drawing them."""

import time
from collections.abc import Collection
from typing import NamedTuple

from memolith.engine.model import Caller, Direction, Filter, Item, Link
from memolith.engine.ports import Reader, Store
from memolith.engine.verbs import visible

DEEPEST = 6
MOST = 500
MOST_VISITED, LONGEST_S = 200_000, 2.0
Way = tuple[tuple[str, str], ...]
# The head, an item, a link, the end, and what begins the code of a character that is neither letter nor digit.
FORMATS = {
    "mermaid": ("graph LR", '  n{n}["{name}"]', "  n{a} -->|{type}| n{b}", "", "#"),
    "dot": ("digraph memory {{", '  n{n} [label="{name}"];', '  n{a} -> n{b} [label="{type}"];', "}}", "&#"),
    "svg": ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="-{r} -20 {w} {h}" font-family="sans-serif">',
            '<text x="8" y="{n}4">{name}</text>', '<path d="M0 {a}0A1 1 0 0 {turn} 0 {b}0" fill="none" stroke="#888">'
            "<title>{type}</title></path>", "</svg>", "&#")}


class Neighbourhood(NamedTuple):
    """The items around one, nearest first, how far each is, and the links between them."""

    items: tuple[Item, ...]
    links: tuple[Link, ...]
    distance: dict[str, int]
    cut: bool = False


def walk(rows: Reader, caller: Caller, id: str, depth: int, types: Collection[str], toward: Direction,
         chosen: Filter, most: int) -> tuple[dict[str, int], dict[str, str], bool]:
    """How far each item is and its title, along what passes the filter, nearest first; and whether there is more."""
    titles, distance, frontier = {id: visible(rows, caller, id).title}, {id: 0}, [id]
    started = time.monotonic()
    for step in range(1, depth + 1):
        if not frontier or _enough(len(distance), most, started):
            break
        reached = {there: title for _, there, _, title in rows.steps(caller, chosen, frontier, toward, types)
                   if there not in distance}
        frontier = list(reached)[:most - len(distance)]
        distance, titles = distance | dict.fromkeys(frontier, step), titles | reached
    return distance, titles, _enough(len(distance), most, started)


def path(store: Store, caller: Caller, start: str, end: str, longest: int,
         chosen: Filter) -> list[tuple[str, str, str]]:
    """The shortest way along links in either direction: id, title, and the type of the link to the next."""
    # The way back from each place: the next place and the type of the link to it, and so on to the end.
    back: tuple[dict[str, Way], dict[str, Way]] = ({start: ()}, {end: ()})
    frontiers, met, started = [[start], [end]], {start} & {end}, time.monotonic()
    with store.reading(caller.tenant) as rows:
        titles = {id: visible(rows, caller, id).title for id in (start, end)}
        for _ in range(longest):
            # Whole levels, always of the smaller side: so the first place where both meet is on a shortest way.
            side = int(len(frontiers[1]) < len(frontiers[0]))
            if met or not frontiers[side] or _enough(len(titles), MOST_VISITED, started):
                break
            reached: dict[str, Way] = {}
            for here, there, type, title in rows.steps(caller, chosen, frontiers[side], "both"):
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


def _enough(visited: int, most: int, started: float) -> bool:
    return visited >= most or time.monotonic() - started > LONGEST_S


def draw(around: Neighbourhood, format: str) -> str:
    """The items and links as text in one of the formats."""
    head, node, edge, end, mark = FORMATS[format]
    numbers = {item.id: n * (2 if format == "svg" else 1) for n, item in enumerate(around.items)}
    names = {item.id: "".join(c if c.isalnum() or c == " " else f"{mark}{ord(c)};" for c in item.title or item.id)
             for item in around.items}
    lines = [head.format(r=10 * len(names) + 10, w=10 * len(names) + 700, h=20 * len(names) + 40)]
    lines += [node.format(n=numbers[id], name=name) for id, name in names.items()]
    ends = [(numbers[link.source], numbers[link.target], link.type) for link in around.links]
    lines += [edge.format(a=a, b=b, type=type, turn=int(a > b)) for a, b, type in ends]
    return "\n".join([*lines, end.format()]).rstrip() + "\n"
