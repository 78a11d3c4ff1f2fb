"""The graph: a picture to walk through, and the same as lists."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from memolith.doors.http.auth.access import PAGE_PATH
from memolith.doors.page.site import PAGE_HEADERS, PART_HEADER, Site, whole_number
from memolith.errors import NotFound

GRAPH_PATH = PAGE_PATH + "/graph"
DRAWN_NODES = (100, 500, 1000, 2500, 5000)
DEFAULT_DRAWN_NODES = 500
LISTED_NODES = 50
MAX_LISTED_LINKS = 200
DEPTHS = (1, 2, 3, 4)
DEFAULT_PATH_LENGTH = 6
MAX_PATH_LENGTH = 10


class GraphPages:
    """The page of the graph, and what its script asks for."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[Route]:
        guarded = self.site.guarded
        return [
            Route(GRAPH_PATH, guarded(self.show)),
            Route(GRAPH_PATH + "/data", guarded(self.data)),
        ]

    async def show(self, request: Request) -> Response:
        """The lists, the best-connected items first; the script draws the picture."""
        chosen = chosen_view(request)
        offset = whole_number(request.query_params.get("offset", "")) or 0
        values: dict[str, Any] = {
            "chosen": chosen,
            "offset": offset,
            "page_size": LISTED_NODES,
            "max_links": MAX_LISTED_LINKS,
            "drawn_choices": DRAWN_NODES,
            "depths": DEPTHS,
            "max_length": MAX_PATH_LENGTH,
            "path_result": await self._path(request, chosen),
            "ends": await self._ends(request, chosen),
        }
        if request.headers.get(PART_HEADER) != "path":
            values["shown"] = await self._graph(request, chosen, LISTED_NODES, offset)
        return await self.site.show(request, "graph.html", values)

    async def data(self, request: Request) -> Response:
        """What is drawn, as JSON."""
        chosen = chosen_view(request)
        graph = await self._graph(request, chosen, chosen["limit"], 0)
        return JSONResponse(graph, headers=PAGE_HEADERS)

    async def _graph(
        self, request: Request, chosen: dict[str, Any], limit: int, offset: int
    ) -> dict[str, Any]:
        return await self.site.run(
            request,
            "show_graph",
            around=chosen["around"] or None,
            depth=chosen["depth"],
            kinds=chosen["kinds"] or None,
            types=chosen["types"] or None,
            query=chosen["query"] or None,
            limit=limit,
            offset=offset,
        )

    async def _path(self, request: Request, chosen: dict[str, Any]) -> dict[str, Any] | None:
        """The path between the two chosen items."""
        if not chosen["start"] or not chosen["end"]:
            return None
        return await self.site.run(
            request,
            "shortest_path",
            start=chosen["start"],
            end=chosen["end"],
            max_length=chosen["length"],
        )

    async def _ends(self, request: Request, chosen: dict[str, Any]) -> dict[str, str]:
        """What the items are called between which a path is looked for."""
        names = {}
        for end in ("start", "end"):
            id = chosen[end]
            names[end] = ""
            if not id:
                continue
            try:
                found = await self.site.run(request, "show_graph", around=id, limit=1)
            except NotFound:
                continue
            names[end] = found["nodes"][0]["name"]
        return names


def chosen_view(request: Request) -> dict[str, Any]:
    """What the form on the page limits the graph to."""
    given = request.query_params
    depth = whole_number(given.get("depth", ""))
    limit = whole_number(given.get("limit", ""))
    length = whole_number(given.get("length", ""))
    return {
        "query": given.get("q", "").strip(),
        "around": given.get("around", "").strip(),
        "depth": depth if depth in DEPTHS else DEPTHS[0],
        "kinds": [kind for kind in given.getlist("kind") if kind],
        "types": [type for type in given.getlist("type") if type],
        "limit": limit if limit in DRAWN_NODES else DEFAULT_DRAWN_NODES,
        "start": given.get("from", "").strip(),
        "end": given.get("to", "").strip(),
        "length": length if length and length <= MAX_PATH_LENGTH else DEFAULT_PATH_LENGTH,
    }
