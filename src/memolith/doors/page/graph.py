"""The graph: a picture to walk through, and the same as lists."""

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from memolith.doors.http.auth.access import PAGE_PATH
from memolith.doors.page.rendering import shortened
from memolith.doors.page.site import PAGE_HEADERS, PART_HEADER, Site, whole_number
from memolith.errors import InvalidInput, NotFound

GRAPH_PATH = PAGE_PATH + "/graph"
DRAWN_NODES = (100, 500, 1000, 2500, 5000)
DEFAULT_DRAWN_NODES = 500
LISTED_NODES = 50
MAX_LISTED_LINKS = 200
DEPTHS = (1, 2, 3, 4)
DEFAULT_PATH_LENGTH = 6
MAX_PATH_LENGTH = 10
MAX_NAME = 200
"""How many characters of a name the tool `show_graph` looks for."""
PROPOSED_ITEMS = 8
LIMITS = ("query", "around", "kinds", "types", "start", "end")
"""What somebody can choose; without any of it, the whole graph is shown."""
NAMED_ID = re.compile(r"\(([^()\s]+)\)$")
"""The id at the end of a proposal such as `Kelp (3f2a)`."""


class GraphPages:
    """The page of the graph, and what its script asks for."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[Route]:
        guarded = self.site.guarded
        return [
            Route(GRAPH_PATH, guarded(self.show)),
            Route(GRAPH_PATH + "/data", guarded(self.data)),
            Route(GRAPH_PATH + "/items", guarded(self.items)),
        ]

    async def show(self, request: Request) -> Response:
        """The lists, the best-connected items first; the script draws the picture."""
        chosen, names = await self._chosen(request)
        offset = whole_number(request.query_params.get("offset", "")) or 0
        is_path_alone = request.headers.get(PART_HEADER) == "path"
        values: dict[str, Any] = {
            "chosen": chosen,
            "offset": offset,
            "page_size": LISTED_NODES,
            "max_links": MAX_LISTED_LINKS,
            "drawn_choices": DRAWN_NODES,
            "depths": DEPTHS,
            "max_length": MAX_PATH_LENGTH,
            "path_result": await self._path(request, chosen, names),
            "names": names,
            "lost_ends": [end for end in ("start", "end") if chosen[end] and not names[end]],
        }
        if not is_path_alone:
            shown = await self._graph(request, chosen, LISTED_NODES, offset)
            values["shown"] = shown
            values["is_empty"] = not shown["total"] and not any(chosen[name] for name in LIMITS)
        return await self.site.show(request, "graph.html", values)

    async def data(self, request: Request) -> Response:
        """What is drawn, as JSON."""
        chosen, _ = await self._chosen(request)
        graph = await self._graph(request, chosen, chosen["limit"], 0)
        return JSONResponse({**graph, "around": chosen["around"]}, headers=PAGE_HEADERS)

    async def items(self, request: Request) -> Response:
        """Items that may be meant by what was typed so far, for the script of the forms."""
        found = await self._candidates(request, request.query_params.get("q", "").strip())
        return JSONResponse({"items": found}, headers=PAGE_HEADERS)

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

    async def _path(
        self, request: Request, chosen: dict[str, Any], names: dict[str, str]
    ) -> dict[str, Any] | None:
        """The path between the two chosen items."""
        if not names["start"] or not names["end"]:
            return None
        return await self.site.run(
            request,
            "shortest_path",
            start=chosen["start"],
            end=chosen["end"],
            max_length=chosen["length"],
        )

    async def _chosen(self, request: Request) -> tuple[dict[str, Any], dict[str, str]]:
        """What the forms choose, with ids in the place of words, and what these items are called.

        An end of a path that is not found has no name.
        """
        chosen = chosen_view(request)
        names = {"around": "", "start": "", "end": ""}
        for field in names:
            text = chosen[field]
            if not text:
                continue
            item = await self._item(request, text)
            if item is not None:
                chosen[field] = item["id"]
                names[field] = item["title"]
            elif field == "around":
                raise NotFound(
                    "No item fits what is to be in the middle. Type some of its words, or its id.",
                    field="around",
                )
        return chosen, names

    async def _item(self, request: Request, text: str) -> dict[str, str] | None:
        """The item that an id names, or that fits some words best."""
        named = NAMED_ID.search(text)
        id = named.group(1) if named else text
        try:
            found = await self.site.run(request, "show_graph", around=id, limit=1)
        except (InvalidInput, NotFound):
            candidates = await self._candidates(request, text)
            return candidates[0] if candidates else None
        node = found["nodes"][0]
        return {"id": node["id"], "title": node["name"]}

    async def _candidates(self, request: Request, text: str) -> list[dict[str, str]]:
        """Linked items with this in their names, the best connected first; else what fits it."""
        if not text:
            return []
        graph = await self.site.run(
            request, "show_graph", query=text[:MAX_NAME], limit=PROPOSED_ITEMS
        )
        if graph["nodes"]:
            return [{"id": node["id"], "title": node["name"]} for node in graph["nodes"]]
        found = await self.site.run(request, "recall", query=text, limit=PROPOSED_ITEMS)
        titles = {hit["id"]: shortened(hit["title"] or hit["text"]) for hit in found["hits"]}
        return [{"id": id, "title": title} for id, title in titles.items()]


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
