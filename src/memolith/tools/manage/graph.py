"""The graph of items and links: what to draw of it, and the way from one item to another."""

from typing import Annotated, NotRequired, TypedDict

from pydantic import Field

from memolith.domain.queries import Filter
from memolith.engine.graph.picture import MAX_NODES, Edge, Node, PictureChoice
from memolith.tools.arguments import bare_id
from memolith.tools.call import Call
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import Described
from memolith.tools.sekha.arguments import Offset
from memolith.tools.warnings import warn_if_cut


class GraphNode(TypedDict):
    """An item in the graph."""

    id: str
    kind: str
    name: Annotated[str, Described("Its title, or else how its text begins.")]
    type: NotRequired[Annotated[str, Described("What an entity is, such as Person.")]]
    links: Annotated[int, Described("How many links it has, also to items that are not shown.")]
    distance: NotRequired[Annotated[int, Described("Steps from the item in the middle.")]]


class GraphLink(TypedDict):
    """A link between two items of the result."""

    source: str
    target: str
    type: str


class ShownGraph(TypedDict):
    """The result of `show_graph`."""

    nodes: list[GraphNode]
    links: list[GraphLink]
    total: Annotated[int, Described("How many items there are in all.")]
    total_links: Annotated[int, Described("How many links there are between the items shown.")]
    kinds: Annotated[dict[str, int], Described("How many items of each kind there are.")]
    types: Annotated[dict[str, int], Described("How many links of each type there are.")]
    warnings: NotRequired[list[str]]


class PathNode(TypedDict):
    """An item on a path."""

    id: str
    kind: str
    name: str


class ShortestPath(TypedDict):
    """The result of `shortest_path`: each link joins two neighbours in the list of nodes."""

    found: bool
    length: int
    nodes: list[PathNode]
    links: list[GraphLink]


@manage.tool(read_only=True)
def show_graph(
    call: Call,
    *,
    around: Annotated[str | None, Field(description="Only what lies around this item.")] = None,
    depth: Annotated[int, Field(ge=1, le=6, description="How many steps around it.")] = 1,
    kinds: Annotated[list[str] | None, Field(description="Only items of these kinds.")] = None,
    types: Annotated[list[str] | None, Field(description="Only links of these types.")] = None,
    query: Annotated[str, Field(max_length=200, description="A part of the title.")] = "",
    limit: Annotated[int, Field(ge=1, le=MAX_NODES)] = 500,
    offset: Offset = 0,
) -> ShownGraph:
    """Items and the links between them, the best-connected first; around an item, the nearest
    first. Items without links are left out.
    """
    choice = PictureChoice(
        around=bare_id(around) if around else None,
        depth=depth,
        kinds=tuple(kinds or ()),
        types=tuple(types or ()),
        query=query.strip(),
        limit=limit,
        offset=offset,
    )
    picture = call.engine.pictures.take(call.caller, choice)
    return {
        "nodes": [_node_body(node) for node in picture.nodes],
        "links": [_link_body(edge) for edge in picture.edges],
        "total": picture.total,
        "total_links": picture.total_edges,
        "kinds": picture.kinds,
        "types": picture.types,
        "warnings": warn_if_cut(picture.cut or picture.total_edges > len(picture.edges)),
    }


@manage.tool(read_only=True, example={"start": "herd", "end": "foal"})
def shortest_path(
    call: Call,
    *,
    start: Annotated[str, Field(description="The id of the first item.")],
    end: Annotated[str, Field(description="The id of the last item.")],
    max_length: Annotated[int, Field(ge=1, le=10, description="How many links at most.")] = 6,
) -> ShortestPath:
    """The shortest way from one item to another along links in either direction, through items
    that you may see.
    """
    stops = call.engine.graph.shortest_path(
        call.caller, bare_id(start), bare_id(end), max_length, Filter()
    )
    if not stops:
        return {"found": False, "length": 0, "nodes": [], "links": []}
    path = call.engine.graph.along(call.caller, [stop.id for stop in stops])
    names = call.engine.pictures.name(call.caller, path.items)
    return {
        "found": True,
        "length": len(path.links),
        "nodes": [
            {"id": item.id, "kind": item.kind, "name": names[item.id]} for item in path.items
        ],
        "links": [_link_body(Edge(link.source, link.target, link.type)) for link in path.links],
    }


def _node_body(node: Node) -> GraphNode:
    body: GraphNode = {"id": node.id, "kind": node.kind, "name": node.name, "links": node.links}
    if node.kind == "entity" and node.namespace:
        body["type"] = node.namespace
    if node.distance is not None:
        body["distance"] = node.distance
    return body


def _link_body(edge: Edge) -> GraphLink:
    return {"source": edge.source, "target": edge.target, "type": edge.type}
