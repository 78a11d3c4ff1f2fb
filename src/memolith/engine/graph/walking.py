"""Walking along links: what lies around an item, shortest paths, and the whole graph."""

import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from memolith.domain.callers import Caller
from memolith.domain.fold import Replay
from memolith.domain.items import Item
from memolith.domain.links import Direction, Link
from memolith.domain.queries import Filter
from memolith.engine.history import items_as_of
from memolith.engine.matching import item_matches
from memolith.engine.visibility import visible
from memolith.errors import InvalidInput
from memolith.ports.items import MOST_LISTED
from memolith.ports.links import Step
from memolith.ports.store import Reader, Store

MAX_DEPTH = 6
DEFAULT_MAX_ITEMS = 500
MAX_VISITED = 200_000
MAX_DURATION_S = 2.0
FOREVER = "9999"
"""Sorts after every time."""
WITH_FORGOTTEN = Filter(forgotten=None)


class Moment(NamedTuple):
    """The time for which links are read.

    `as_of` reads them as the log knew them then; `valid_at` keeps those that held then.
    """

    as_of: str | None = None
    valid_at: str | None = None


NOW = Moment()


@dataclass(frozen=True)
class Traversal:
    """How far to walk, along which links, and through which items."""

    depth: int = 1
    types: Collection[str] = ()
    toward: Direction = "both"
    chosen: Filter = Filter()
    max_items: int = DEFAULT_MAX_ITEMS
    moment: Moment = NOW


class Neighbourhood(NamedTuple):
    """The items around one, nearest first, how far away each is, and the links between them."""

    items: tuple[Item, ...]
    links: tuple[Link, ...]
    distance: dict[str, int]
    cut: bool = False
    """Whether there is more than is given here."""


class Walk(NamedTuple):
    """How far away each item is, nearest first, and its title."""

    distance: dict[str, int]
    titles: dict[str, str]
    cut: bool
    """Whether there is more than is given here."""


class Stop(NamedTuple):
    """An item on a path, and the type of the link to the next one; empty at the end."""

    id: str
    title: str
    next_link_type: str = ""


@dataclass(frozen=True)
class Graph:
    """Walks along the links that a caller may see."""

    store: Store

    def explore(self, caller: Caller, id: str, traversal: Traversal = Traversal()) -> Neighbourhood:
        """The items around one, with the links that lead to them."""
        if not 0 <= traversal.depth <= MAX_DEPTH:
            raise InvalidInput(
                f"The depth must lie between 0 and {MAX_DEPTH}.",
                field="depth",
                value=traversal.depth,
            )
        with self.store.reading(caller.tenant) as rows:
            walk = walk_around(rows, caller, id, traversal)
            distance = walk.distance
            found = visible_items(rows, caller, distance, WITH_FORGOTTEN, traversal.moment)
            inner = [near for near in distance if distance[near] < traversal.depth]
            links = _links(rows, caller.tenant, inner, traversal)
        return Neighbourhood(
            items=tuple(found[near] for near in distance if near in found),
            links=tuple(
                link for link in links if link.source in distance and link.target in distance
            ),
            distance=distance,
            cut=walk.cut,
        )

    def walk(self, caller: Caller, id: str, traversal: Traversal) -> Walk:
        """How far away each item is, without reading the items themselves."""
        with self.store.reading(caller.tenant) as rows:
            return walk_around(rows, caller, id, traversal)

    def shortest_path(
        self,
        caller: Caller,
        start: str,
        end: str,
        max_links: int,
        chosen: Filter,
        moment: Moment = NOW,
    ) -> list[Stop]:
        """The shortest path along links in either direction; empty if there is none."""
        traversal = Traversal(chosen=chosen, moment=moment)
        with self.store.reading(caller.tenant) as rows:
            return _PathSearch(rows, caller, traversal, start, end).run(max_links)

    def along(self, caller: Caller, path: Sequence[str], moment: Moment = NOW) -> Neighbourhood:
        """The items on a path and the links between them, in order."""
        with self.store.reading(caller.tenant) as rows:
            items = visible_items(rows, caller, path, WITH_FORGOTTEN, moment)
            links = _links(rows, caller.tenant, path, Traversal(moment=moment))
        by_ends = {frozenset((link.source, link.target)): link for link in links}
        return Neighbourhood(
            items=tuple(items[id] for id in path),
            links=tuple(by_ends[frozenset(ends)] for ends in pairwise(path)),
            distance={id: number for number, id in enumerate(path)},
        )

    def survey(
        self, caller: Caller, chosen: Filter, reach: Filter, traversal: Traversal
    ) -> Neighbourhood:
        """Items that pass `chosen`, most linked first, and their links to what passes `reach`."""
        moment = traversal.moment
        listed_filter = chosen
        if moment.as_of is not None:
            listed_filter = replace(chosen, forgotten=None)
        with self.store.reading(caller.tenant) as rows:
            listed = rows.list_items(
                caller, listed_filter, "created_at", False, MOST_LISTED, counted=False
            ).items
            items = visible_items(rows, caller, [item.id for item in listed], chosen, moment)
            links = _links(rows, caller.tenant, items, replace(traversal, toward="outgoing"))
            ends = visible_items(rows, caller, {link.target for link in links}, reach, moment)
        links = [link for link in links if link.target in ends]
        degree = Counter(link.source for link in links)
        degree.update(link.target for link in links)
        by_degree = sorted(items, key=lambda id: (-degree[id], items[id].seq))
        shown = dict.fromkeys(by_degree[: traversal.max_items], 0)
        return Neighbourhood(
            items=tuple(items[id] for id in shown),
            links=tuple(
                link
                for link in links
                if link.source in shown and (link.target in shown or link.target not in items)
            ),
            distance=shown,
            cut=len(items) > traversal.max_items or len(listed) == MOST_LISTED,
        )


def visible_items(
    rows: Reader, caller: Caller, ids: Collection[str], chosen: Filter, moment: Moment = NOW
) -> dict[str, Item]:
    """The items that the caller may see and that passed the filter at the moment, as they were."""
    if moment.as_of is None:
        found = rows.items(caller.tenant, ids)
    else:
        past = items_as_of(rows, caller, ids, moment.as_of)
        found = {id: item for id, (item, _) in past.items()}
    return {
        id: item for id, item in found.items() if item.admits(caller) and item_matches(item, chosen)
    }


def walk_around(rows: Reader, caller: Caller, id: str, traversal: Traversal) -> Walk:
    """How far away each item is that can be reached from one."""
    start = visible(rows, caller, id, forgotten=traversal.moment.as_of is not None)
    deadline = time.monotonic() + MAX_DURATION_S
    titles = {id: start.title}
    distance = {id: 0}
    frontier = [id]
    for depth in range(1, traversal.depth + 1):
        if not frontier or _is_cut(len(distance), traversal.max_items, deadline):
            break
        reached: dict[str, str] = {}
        for step in _steps(rows, caller, frontier, traversal):
            if step.end not in distance:
                reached[step.end] = step.end_title
        frontier = list(reached)[: traversal.max_items - len(distance)]
        distance.update(dict.fromkeys(frontier, depth))
        titles.update(reached)
    return Walk(distance, titles, _is_cut(len(distance), traversal.max_items, deadline))


def _is_cut(visited: int, limit: int, deadline: float) -> bool:
    return visited >= limit or time.monotonic() > deadline


def _steps(
    rows: Reader, caller: Caller, frontier: Collection[str], traversal: Traversal
) -> Iterable[Step]:
    """Every step from the frontier to an item that passes the filter."""
    if traversal.moment == NOW:
        return rows.steps(caller, traversal.chosen, frontier, traversal.toward, traversal.types)
    steps = []
    for link in _links(rows, caller.tenant, frontier, traversal):
        steps += _directed(link, frontier, traversal.toward)
    ends = {step.end for step in steps}
    items = visible_items(rows, caller, ends, traversal.chosen, traversal.moment)
    return [step._replace(end_title=items[step.end].title) for step in steps if step.end in items]


def _directed(link: Link, frontier: Collection[str], toward: Direction) -> list[Step]:
    """The steps that a link allows from the frontier in that direction."""
    steps = []
    if toward != "incoming" and link.source in frontier:
        steps.append(Step(link.source, link.target, link.type, ""))
    if toward != "outgoing" and link.target in frontier:
        steps.append(Step(link.target, link.source, link.type, ""))
    return steps


def _links(
    rows: Reader, tenant: str, frontier: Collection[str], traversal: Traversal
) -> list[Link]:
    """Every link that leaves the frontier in the direction, at the moment."""
    as_of, valid_at = traversal.moment
    if as_of is None:
        links = rows.neighbours(tenant, frontier, traversal.toward, traversal.types)
    else:
        links = _links_as_of(rows, tenant, frontier, traversal, as_of)
    if valid_at is None:
        return links
    return [link for link in links if _held(link, valid_at)]


def _links_as_of(
    rows: Reader, tenant: str, frontier: Collection[str], traversal: Traversal, as_of: str
) -> list[Link]:
    streams = {stream for id in frontier for stream in rows.link_streams(tenant, id)}
    links = []
    for stream in sorted(streams):
        link = Replay.of(rows.events(tenant, stream), as_of).row
        if not isinstance(link, Link):
            continue
        if traversal.types and link.type not in traversal.types:
            continue
        if _directed(link, frontier, traversal.toward):
            links.append(link)
    return links


def _held(link: Link, at: str) -> bool:
    """Whether a link held at that time, as far as its attributes say."""
    valid_from = str(link.attributes.get("valid_from") or "")
    valid_to = str(link.attributes.get("valid_to") or FOREVER)
    return valid_from <= at < valid_to


class _PathSearch:
    """A search from both ends that meets in the middle."""

    def __init__(
        self, rows: Reader, caller: Caller, traversal: Traversal, start: str, end: str
    ) -> None:
        self._rows = rows
        self._caller = caller
        self._traversal = traversal
        self._deadline = time.monotonic() + MAX_DURATION_S
        self._from_start: dict[str, tuple[Stop, ...]] = {start: (self._stop(start),)}
        """The path from the start to each item that was reached."""
        self._to_end: dict[str, tuple[Stop, ...]] = {end: (self._stop(end),)}
        """The path from each item that was reached to the end."""
        self._start_frontier = [start]
        self._end_frontier = [end]

    def _stop(self, id: str) -> Stop:
        past = self._traversal.moment.as_of is not None
        item = visible(self._rows, self._caller, id, forgotten=past)
        return Stop(id, item.title)

    def run(self, max_links: int) -> list[Stop]:
        for _ in range(max_links):
            if self._meeting() or self._is_exhausted():
                break
            # Whole levels, always of the smaller side: so the first meeting is on a shortest path.
            if len(self._end_frontier) < len(self._start_frontier):
                self._extend_end()
            else:
                self._extend_start()
        meeting = self._meeting()
        if not meeting:
            return []
        middle = min(meeting)
        return [*self._from_start[middle][:-1], *self._to_end[middle]]

    def _meeting(self) -> set[str]:
        return self._from_start.keys() & self._to_end.keys()

    def _is_exhausted(self) -> bool:
        if not self._start_frontier or not self._end_frontier:
            return True
        visited = len(self._from_start) + len(self._to_end)
        return _is_cut(visited, MAX_VISITED, self._deadline)

    def _extend_start(self) -> None:
        reached: dict[str, tuple[Stop, ...]] = {}
        for step in self._next_steps(self._start_frontier):
            if step.end not in self._from_start and step.end not in reached:
                path = self._from_start[step.start]
                last = path[-1]._replace(next_link_type=step.link_type)
                reached[step.end] = (*path[:-1], last, Stop(step.end, step.end_title))
        self._from_start |= reached
        self._start_frontier = list(reached)

    def _extend_end(self) -> None:
        reached: dict[str, tuple[Stop, ...]] = {}
        for step in self._next_steps(self._end_frontier):
            if step.end not in self._to_end and step.end not in reached:
                stop = Stop(step.end, step.end_title, step.link_type)
                reached[step.end] = (stop, *self._to_end[step.start])
        self._to_end |= reached
        self._end_frontier = list(reached)

    def _next_steps(self, frontier: Collection[str]) -> Iterable[Step]:
        return _steps(self._rows, self._caller, frontier, self._traversal)
