"""The graph: walking along links over what the caller sees, drawing it, and its entities: found, joined, linked."""

from __future__ import annotations

import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, cast, get_args

from memolith.domain.attributes import Json
from memolith.domain.callers import Caller
from memolith.domain.fold import Replay
from memolith.domain.items import Draft, Item
from memolith.domain.links import Direction, Link, RelationType
from memolith.domain.queries import Condition, Filter, Query
from memolith.engine.history import then
from memolith.engine.matching import item_matches
from memolith.engine.writing import sees_both, visible
from memolith.errors import InvalidInput, NotFound
from memolith.ports.analyst import Finding
from memolith.ports.items import MOST_LISTED
from memolith.ports.links import Step
from memolith.ports.store import Reader, Store

if TYPE_CHECKING:
    from memolith.engine.engine import Engine

DEEPEST, MOST, MOST_VISITED, LONGEST_S = 6, 500, 200_000, 2.0
MENTION, READ, TOGETHER = "MentionedIn", 50, 0.5
ENTITIES, MEMORIES = Filter(kinds=("entity",)), Filter(kinds=("memory",))
_SENTENCE = re.compile(
    r"(?<!Dr\.)(?<!Mr\.)(?<!Ms\.)(?<!Mrs\.)(?<!vs\.)(?<!e\.g\.)(?<!i\.e\.)(?<=[.!?])\s+|\s*\n\s*"
)
# Findings, who found them, and warnings.
Said = tuple[list[Finding], str, list[str]]
# The id and title of an item on a way, and the type of the link to the next.
Stop = tuple[str, str, str]
# The head, an item, a link, the end, and what begins the code of a character that is neither letter nor digit.
FORMATS = {
    "mermaid": ("graph LR", '  n{n}["{name}"]', "  n{a} -->|{type}| n{b}", "", "#"),
    "dot": (
        "digraph memory {{",
        '  n{n} [label="{name}"];',
        '  n{a} -> n{b} [label="{type}"];',
        "}}",
        "&#",
    ),
    "ascii": ("", "{name}", "{source} --{type}--> {target}", "", ""),
    "svg": (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="-{r} -20 {w} {h}" font-family="sans-serif">',
        '<text x="8" y="{n}4">{name}</text>',
        '<path d="M0 {a}0A1 1 0 0 {turn} 0 {b}0" fill="none" stroke="#888">'
        "<title>{type}</title></path>",
        "</svg>",
        "&#",
    ),
}


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


def standing(
    rows: Reader,
    tenant: str,
    frontier: Collection[str],
    toward: Direction,
    types: Collection[str],
    moment: Moment,
) -> list[Link]:
    """Every link that left the frontier in that direction at the moment."""
    as_of, valid_at = moment
    links = rows.neighbours(tenant, frontier, toward, types) if as_of is None else []
    for stream in (
        sorted({stream for id in frontier for stream in rows.link_streams(tenant, id)})
        if as_of
        else ()
    ):
        link = Replay.of(rows.events(tenant, stream), as_of).row
        if (
            isinstance(link, Link)
            and (not types or link.type in types)
            and _ways(link, frontier, toward)
        ):
            links.append(link)
    return [
        link
        for link in links
        if valid_at is None
        or (
            str(link.attributes.get("valid_from") or "")
            <= valid_at
            < str(link.attributes.get("valid_to") or "9999")
        )
    ]


def _ways(link: Link, frontier: Collection[str], toward: Direction) -> list[tuple[str, str, str]]:
    """Here, there and type of each way that the link leads from the frontier in that direction."""
    ways = [(link.source, link.target, link.type)] * (toward != "incoming")
    ways += [(link.target, link.source, link.type)] * (toward != "outgoing")
    return [way for way in ways if way[0] in frontier]


def seen(
    rows: Reader, caller: Caller, ids: Collection[str], chosen: Filter, moment: Moment = NOW
) -> dict[str, Item]:
    """Those of the items that the caller sees and that passed the filter at the moment, as they were."""
    found = (
        rows.items(caller.tenant, ids)
        if moment.as_of is None
        else {id: item for id, (item, _) in then(rows, caller, ids, moment.as_of).items()}
    )
    return {
        id: item for id, item in found.items() if item.admits(caller) and item_matches(item, chosen)
    }


def _steps(
    rows: Reader,
    caller: Caller,
    chosen: Filter,
    frontier: Collection[str],
    toward: Direction,
    types: Collection[str],
    moment: Moment,
) -> list[Step]:
    """Here, there, type and the title there, as the reader gives them, at the moment."""
    if moment == NOW:
        return rows.steps(caller, chosen, frontier, toward, types)
    links = standing(rows, caller.tenant, frontier, toward, types, moment)
    ways = [way for link in links for way in _ways(link, frontier, toward)]
    there = seen(rows, caller, {way[1] for way in ways}, chosen, moment)
    return [Step(*way, there[way[1]].title) for way in ways if way[1] in there]


def walk(
    rows: Reader,
    caller: Caller,
    id: str,
    depth: int,
    types: Collection[str],
    toward: Direction,
    chosen: Filter,
    most: int,
    moment: Moment = NOW,
) -> tuple[dict[str, int], dict[str, str], bool]:
    """How far each item is and its title, along what passes the filter, nearest first; and whether there is more."""
    titles, distance, frontier = (
        {id: visible(rows, caller, id, moment.as_of is not None).title},
        {id: 0},
        [id],
    )
    started = time.monotonic()
    for step in range(1, depth + 1):
        if not frontier or _enough(len(distance), most, started):
            break
        reached = {
            there: title
            for _, there, _, title in _steps(rows, caller, chosen, frontier, toward, types, moment)
            if there not in distance
        }
        frontier = list(reached)[: most - len(distance)]
        distance, titles = distance | dict.fromkeys(frontier, step), titles | reached
    return distance, titles, _enough(len(distance), most, started)


def path(
    store: Store,
    caller: Caller,
    start: str,
    end: str,
    longest: int,
    chosen: Filter,
    moment: Moment = NOW,
) -> Sequence[Stop]:
    """The shortest way along links in either direction."""
    frontiers, met, started = [[start], [end]], {start} & {end}, time.monotonic()
    with store.reading(caller.tenant) as rows:
        # The way from the start to each place, and from each place to the end.
        ways: list[dict[str, tuple[Stop, ...]]] = [
            {id: ((id, visible(rows, caller, id, moment.as_of is not None).title, ""),)}
            for id in (start, end)
        ]
        for _ in range(longest):
            # Whole levels, always of the smaller side: so the first place where both meet is on a shortest way.
            side = int(len(frontiers[1]) < len(frontiers[0]))
            if met or not frontiers[side] or _enough(sum(map(len, ways)), MOST_VISITED, started):
                break
            reached: dict[str, tuple[Stop, ...]] = {}
            for here, there, type, title in _steps(
                rows, caller, chosen, frontiers[side], "both", (), moment
            ):
                if there not in ways[side] and there not in reached:
                    *before, last = way = ways[side][here]
                    reached[there] = (
                        ((there, title, type), *way)
                        if side
                        else (*before, (*last[:2], type), (there, title, ""))
                    )
            ways[side] |= reached
            frontiers[side], met = list(reached), reached.keys() & ways[1 - side].keys()
    return [*ways[0][min(met)][:-1], *ways[1][min(met)]] if met else []


def survey(
    rows: Reader,
    caller: Caller,
    chosen: Filter,
    reach: Filter,
    types: Collection[str],
    most: int,
    moment: Moment = NOW,
) -> Neighbourhood:
    """The items that pass the filter, the most linked first, and their links to what passes the other one."""
    known = chosen if moment.as_of is None else replace(chosen, forgotten=None)
    listed = rows.list_items(caller, known, "created_at", False, MOST_LISTED, counted=False).items
    items = seen(rows, caller, [item.id for item in listed], chosen, moment)
    links = standing(rows, caller.tenant, items, "outgoing", types, moment)
    ends = seen(rows, caller, {link.target for link in links}, reach, moment)
    links = [link for link in links if link.target in ends]
    degree = Counter(end for link in links for end in (link.source, link.target))
    shown = dict.fromkeys(sorted(items, key=lambda id: (-degree[id], items[id].seq))[:most], 0)
    return Neighbourhood(
        tuple(items[id] for id in shown),
        tuple(
            link
            for link in links
            if link.source in shown and (link.target in shown or link.target not in items)
        ),
        shown,
        len(items) > most or len(listed) == MOST_LISTED,
    )


def _enough(visited: int, most: int, started: float) -> bool:
    return visited >= most or time.monotonic() - started > LONGEST_S


def draw(around: Neighbourhood, format: str) -> str:
    head, node, edge, end, mark = FORMATS[format]
    numbers = {item.id: n * (2 if format == "svg" else 1) for n, item in enumerate(around.items)}
    # A name in plain text stands in quotes, so that none can pass for a link. Graphviz reads escapes also in codes.
    twice = "\\" if format == "dot" else ""
    names = {
        item.id: "".join(
            c if c.isalnum() or c == " " else f"{mark}{ord(c)};" * (2 if c == twice else 1)
            for c in item.title or item.id
        )
        if mark
        else json.dumps(item.title, ensure_ascii=False)
        for item in around.items
    }
    nodes = [node.format(n=numbers[id], name=name) for id, name in names.items()]
    edges = [
        edge.format(
            a=(a := numbers[link.source]),
            b=(b := numbers[link.target]),
            type=link.type,
            turn=int(a > b),
            source=names[link.source],
            target=names[link.target],
        )
        for link in around.links
    ]
    sizes = {"r": 10 * len(names) + 10, "w": 10 * len(names) + 700, "h": 20 * len(names) + 40}
    return "\n".join([head.format(**sizes), *nodes, *edges, end.format()]).strip() + "\n"


class _Preview(Exception):
    """Takes everything back that was done to see what would be."""


def find(engine: Engine, caller: Caller, name: str, field: str, chosen: Filter = ENTITIES) -> Item:
    """The entity with that id, or the only one with that name or alias."""
    # The documented ids look like `entity_alice`.
    spelled = (name, name.removeprefix("entity_").replace("_", " "))
    ways = [
        way
        for one in spelled
        for way in (
            replace(chosen, title=one),
            replace(chosen, where=(Condition("aliases", "has", one),)),
        )
    ]
    with engine.store.reading(caller.tenant) as rows:
        found = seen(rows, caller, [name], chosen) or {
            item.id: item
            for way in ways
            for item in rows.list_items(caller, way, limit=MOST_LISTED).items
            if _names(item) & {one.casefold() for one in spelled}
        }
    if len(found) > 1:
        told = ", ".join(f"{item.id} ({item.namespace})" for item in found.values())
        raise InvalidInput(
            f"Several entities are called {name[:100]!r}; use the id: {told[:400]}.", field=field
        )
    if not found:
        raise NotFound(f"There is no entity {name[:100]!r}.", field=field, id=name)
    return found.popitem()[1]


def relationship(engine: Engine, caller: Caller, id: str) -> Link:
    with engine.store.reading(caller.tenant) as rows:
        link = rows.link_by_id(caller.tenant, id)
        if (
            link is None
            or link.type not in get_args(RelationType)
            or not sees_both(rows, caller, link, False)
        ):
            raise NotFound(
                f"There is no relationship {id[:100]!r}.", field="relationship_id", id=id
            )
    return link


def forget(engine: Engine, caller: Caller, id: str) -> int:
    """Take an entity out of every read path and cut its links, which are counted."""
    with engine.store.writing(caller.tenant) as rows:
        for link in (links := rows.neighbours(caller.tenant, [id], "both")):
            engine.tell(rows, caller, link.id, "unlinked", {}, link)
        engine.tell(rows, caller, id, "forgotten", {}, visible(rows, caller, id))
    return len(links)


def merge(
    engine: Engine, caller: Caller, items: Sequence[Item], name: str, dry_run: bool
) -> tuple[Item, list[Link]]:
    """The one that has the name, else the first, takes over names, properties and links; and the links it got."""
    kept = next((item for item in items if item.title == name), items[0])
    lost, moved = {item.id: item for item in items if item.id != kept.id}, list[Link]()
    title = engine.intake().title(name) or kept.title
    aliases = dict.fromkeys(
        one for item in (kept, *lost.values()) for one in _spelled(item) if one != title
    )
    properties = (
        cast("dict[str, Json]", item.attributes.get("properties", {}))
        for item in (*lost.values(), kept)
    )
    with suppress(_Preview), engine.store.writing(caller.tenant) as rows:
        links = rows.neighbours(caller.tenant, lost, "both")
        for link in [one for one in links if sees_both(rows, caller, one, False)]:
            engine.tell(rows, caller, link.id, "unlinked", {}, link)
            source, target = (kept.id if end in lost else end for end in (link.source, link.target))
            present = rows.link_between(caller.tenant, source, target, link.type)
            if source != target and not (present and present.strength >= link.strength):
                moved.append(
                    engine.link(
                        caller,
                        source,
                        target,
                        link.type,
                        link.strength,
                        link.attributes,
                        again=True,
                        within=rows,
                    )
                )
        for id in lost:
            engine.tell(rows, caller, id, "forgotten", {}, visible(rows, caller, id))
        engine.tell(
            rows,
            caller,
            kept.id,
            "revised",
            {
                "title": title,
                "attributes": {
                    "aliases": list(aliases),
                    "properties": {key: one[key] for one in properties for key in one},
                },
            },
            visible(rows, caller, kept.id),
        )
        merged = visible(rows, caller, kept.id)
        if dry_run:
            raise _Preview
    return merged, moved


def extract(engine: Engine, caller: Caller, text: str, least: float) -> Said:
    with engine.store.reading(caller.tenant) as rows:
        known = {
            name: str(item.namespace) for item in _known(rows, caller) for name in _spelled(item)
        }
    found, method, warnings = engine.insights.ask(lambda analyst: analyst.entities(text, known))
    entities = [one for one in found if not one.support and one.confidence >= least]
    names = {one.text for one in entities}
    stated = _sure([one for one in found if one.support and names.issuperset(one.support)], least)
    return entities + stated, method, warnings


def keep(
    engine: Engine, caller: Caller, place: Draft, found: Sequence[Finding], memory: str | None
) -> dict[str, str]:
    """Store what was found as far as it is new, mentioned in the memory; ids by name."""
    intake, ids = engine.intake(), dict[str, str]()
    with engine.store.writing(caller.tenant) as rows:
        known = {
            (name, item.namespace): item.id
            for item in _known(rows, caller)
            for name in _names(item)
        }
        for one in found:
            if not one.support:
                draft = replace(
                    place,
                    title=one.text,
                    namespace=one.label,
                    attributes={"confidence": one.confidence},
                )
                ids[one.text] = (
                    known.get((one.text.casefold(), one.label))
                    or engine.remember_in(rows, caller, draft, intake).item.id
                )
            type, said = (
                (one.label, one.support) if one.support else (MENTION, (one.text, memory or ""))
            )
            source, target, held = (
                ids.get(said[0], said[0]),
                ids.get(said[1], said[1]),
                "".join(said[2:]) or memory,
            )
            if target not in ("", source) and not rows.link_between(
                caller.tenant, source, target, type
            ):
                # The text of a memory is kept in no other place, so that it can be erased.
                engine.link(
                    caller,
                    source,
                    target,
                    type,
                    one.confidence,
                    {"memory_id": held} if held else {"evidence": one.text},
                    within=rows,
                )
    return ids


def infer(engine: Engine, caller: Caller, items: Sequence[Item], least: float) -> Said:
    """What memories say of pairs of these entities; pairs that they only name together relate to each other."""
    names, near = (
        {name: item.id for item in items for name in _names(item)},
        defaultdict[str, set[str]](set),
    )
    with engine.store.reading(caller.tenant) as rows:
        for link in rows.neighbours(
            caller.tenant, [item.id for item in items], "outgoing", [MENTION]
        ):
            near[link.target].add(link.source)
        found = set(seen(rows, caller, near, MEMORIES))
    for item in items:
        query = Query(f'"{item.title}"', MEMORIES, mode="text", limit=READ, per_item=True)
        found |= {hit.item.id for hit in engine.recall(caller, query).hits}
    texts, known = (
        engine.insights.texts(caller, sorted(found)),
        {one.title: str(one.namespace) for one in items},
    )
    stated, method, warnings = engine.insights.ask(
        lambda one: one.entities("\n".join(texts.values()), known)
    )
    ends = [tuple(names.get(name.casefold(), "") for name in one.support) for one in stated]
    said = [
        one._replace(
            support=(*two, next((id for id, text in texts.items() if one.text in text), ""))
        )
        for one, two in zip(stated, ends, strict=True)
        if len({*two} - {""}) == 2
    ]
    clear = {frozenset(one.support[:2]) for one in said}
    for id, text in texts.items():
        told = [
            (one, {names[name] for name in names if name in one.casefold()})
            for one in sentences(text)
        ]
        here = near[id].union(*(named for _, named in told))
        for pair in combinations([item.id for item in items if item.id in here], 2):
            if frozenset(pair) not in clear:
                sentence = next((one for one, named in told if named.issuperset(pair)), told[0][0])
                said.append(Finding("RelatesTo", sentence, TOGETHER, (*pair, id)))
    return sorted(_sure(said, least), key=lambda one: -one.confidence), method, warnings


def sentences(text: str) -> list[str]:
    return [one for one in _SENTENCE.split(text) if one.strip()]


def _sure(found: Sequence[Finding], least: float) -> list[Finding]:
    """Each further sentence takes a part of the doubt away; the first stays as evidence."""
    said: dict[tuple[str, ...], Finding] = {}
    for one in found:
        before = said.get(key := (*one.support[:2], one.label), one._replace(confidence=0.0))
        said[key] = before._replace(
            confidence=round(1 - (1 - before.confidence) * (1 - one.confidence), 3)
        )
    return [one for one in said.values() if one.confidence >= least]


def _known(rows: Reader, caller: Caller) -> tuple[Item, ...]:
    return rows.list_items(caller, ENTITIES, "created_at", False, MOST_LISTED, counted=False).items


def _spelled(item: Item) -> list[str]:
    return [item.title, *cast("list[str]", item.attributes.get("aliases", []))]


def _names(item: Item) -> set[str]:
    return {name.casefold() for name in _spelled(item)}
