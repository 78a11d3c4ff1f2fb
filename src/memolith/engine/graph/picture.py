"""The graph as a picture shows it: the best-connected items, and the links between them."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from memolith.domain.callers import Caller
from memolith.domain.items import Item
from memolith.domain.queries import Filter
from memolith.engine.graph.walking import Traversal, visible_items, walk_around
from memolith.engine.matching import check_kinds
from memolith.errors import InvalidInput
from memolith.ports.links import NodeItem
from memolith.ports.store import Reader, Store

MAX_NODES = 5_000
MAX_EDGES = 20_000
MAX_REACHED = 20_000
"""How many items around one are looked at."""
NAME_LENGTH = 80
"""How much of its text names an item that has no title."""


@dataclass(frozen=True, slots=True)
class PictureChoice:
    """What a picture shows."""

    around: str | None = None
    """The item in the middle; None for the whole graph."""
    depth: int = 1
    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    query: str = ""
    """A part of the name of the items that are shown."""
    limit: int = 500
    offset: int = 0


class Node(NamedTuple):
    """An item in a picture."""

    id: str
    kind: str
    name: str
    namespace: str | None
    links: int
    """How many links it has, also to items that are not shown."""
    distance: int | None
    """How many steps it is away from the item in the middle."""


class Edge(NamedTuple):
    """A link in a picture."""

    source: str
    target: str
    type: str


class Picture(NamedTuple):
    """The items that are shown, the best connected first, and the links between them."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    total: int
    """How many items there are in all."""
    total_edges: int
    """How many links there are between the items that are shown."""
    kinds: dict[str, int]
    """How many items of each kind were looked at."""
    types: dict[str, int]
    """How many links of each type were looked at."""
    cut: bool
    """Whether there are more items around than were looked at."""


class _Region(NamedTuple):
    """The part of the graph that a picture is taken of."""

    items: dict[str, NodeItem]
    degree: Counter[str]
    types: Counter[str]
    distance: Mapping[str, int] = MappingProxyType({})
    cut: bool = False


@dataclass(frozen=True)
class Pictures:
    """Takes pictures of what a caller may see of the graph."""

    store: Store

    def take(self, caller: Caller, choice: PictureChoice) -> Picture:
        """The nodes and edges that are to be drawn."""
        if not 1 <= choice.limit <= MAX_NODES:
            raise InvalidInput(f"The limit must lie between 1 and {MAX_NODES:,}.", field="limit")
        check_kinds(choice.kinds)
        with self.store.reading(caller.tenant) as rows:
            if choice.around is None:
                region = _whole(rows, caller, choice)
            else:
                region = _around(rows, caller, choice.around, choice)
            chosen = _ordered(region, choice)
            shown = chosen[choice.offset : choice.offset + choice.limit]
            names = _names(rows, caller.tenant, shown)
            edges = _edges_between(rows, caller.tenant, {item.id for item in shown}, choice.types)
        return Picture(
            nodes=tuple(_node(item, names[item.id], region) for item in shown),
            edges=tuple(edges[:MAX_EDGES]),
            total=len(chosen),
            total_edges=len(edges),
            kinds=dict(Counter(item.kind for item in region.items.values()).most_common()),
            types=dict(region.types.most_common()),
            cut=region.cut,
        )

    def name(self, caller: Caller, items: Iterable[Item]) -> dict[str, str]:
        """What items are called: their title, or else how their text begins."""
        linked = [_node_item(item) for item in items]
        with self.store.reading(caller.tenant) as rows:
            return _names(rows, caller.tenant, linked)


def _whole(rows: Reader, caller: Caller, choice: PictureChoice) -> _Region:
    """Everything that is linked. A link counts only if the caller sees both of its ends.

    The database counts; only the links of what is hidden are read and taken off again.
    """
    tenant = caller.tenant
    items = {item.id: item for item in rows.nodes(caller, Filter())}
    degree = Counter(rows.count_links(tenant, choice.types))
    types = Counter(rows.count_link_types(tenant))
    hidden = degree.keys() - items.keys()
    if choice.types:
        hidden = rows.count_links(tenant).keys() - items.keys()
    for source, target, type in rows.link_ends(tenant, hidden, "both"):
        types[type] -= 1
        if not choice.types or type in choice.types:
            degree[source] -= 1
            degree[target] -= 1
    linked = {id: items[id] for id, links in degree.items() if links > 0 and id in items}
    return _Region(linked, degree, +types)


def _around(rows: Reader, caller: Caller, center: str, choice: PictureChoice) -> _Region:
    """What can be reached from one item along links and through items of the chosen types."""
    traversal = Traversal(
        depth=choice.depth,
        types=choice.types,
        chosen=Filter(kinds=choice.kinds),
        max_items=MAX_REACHED,
    )
    walk = walk_around(rows, caller, center, traversal)
    found = visible_items(rows, caller, walk.distance, Filter())
    items = {id: _node_item(item) for id, item in found.items()}
    degree: Counter[str] = Counter()
    types: Counter[str] = Counter()
    for step in rows.steps(caller, Filter(), list(items), "outgoing", choice.types):
        degree[step.start] += 1
        if step.end in items:
            types[step.link_type] += 1
    for step in rows.steps(caller, Filter(), list(items), "incoming", choice.types):
        degree[step.start] += 1
    return _Region(items, degree, types, walk.distance, walk.cut)


def _node_item(item: Item) -> NodeItem:
    return NodeItem(item.id, item.kind, item.title, item.namespace, item.seq)


def _ordered(region: _Region, choice: PictureChoice) -> list[NodeItem]:
    """The items that are chosen: the nearest first, then the best connected, then the oldest."""
    chosen = [item for item in region.items.values() if _is_chosen(item, choice)]
    distance = region.distance
    degree = region.degree
    return sorted(
        chosen, key=lambda item: (distance.get(item.id, 0), -degree[item.id], item.seq, item.id)
    )


def _is_chosen(item: NodeItem, choice: PictureChoice) -> bool:
    if choice.kinds and item.kind not in choice.kinds and item.id != choice.around:
        return False
    return not choice.query or choice.query.casefold() in item.title.casefold()


def _edges_between(
    rows: Reader, tenant: str, shown: Collection[str], types: Collection[str]
) -> list[Edge]:
    """The links between these items, in an order that stays the same."""
    edges = []
    for source, target, type in rows.link_ends(tenant, shown, "outgoing"):
        if target in shown and (not types or type in types):
            edges.append(Edge(source, target, type))
    return sorted(edges)


def _names(rows: Reader, tenant: str, items: Collection[NodeItem]) -> dict[str, str]:
    """The title of each item, or else how its text begins."""
    untitled = [item.id for item in items if not item.title]
    beginnings = rows.beginnings(tenant, untitled, NAME_LENGTH) if untitled else {}
    names = {}
    for item in items:
        text = item.title or beginnings.get(item.id) or item.id
        names[item.id] = " ".join(text.split())
    return names


def _node(item: NodeItem, name: str, region: _Region) -> Node:
    return Node(
        id=item.id,
        kind=item.kind,
        name=name,
        namespace=item.namespace,
        links=region.degree[item.id],
        distance=region.distance.get(item.id),
    )
