"""Knowledge: concepts by area and topic, and how sure each one is and why."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memolith.doors.http.auth.access import PAGE_PATH
from memolith.doors.page.site import Site, done

KNOWLEDGE_PATH = PAGE_PATH + "/knowledge"
CONCEPT_PATH = KNOWLEDGE_PATH + "/concept/{id}"
LISTED_CONCEPTS = 100
LEAST_CERTAIN = 10
MAX_TOPIC_DEPTH = 20
PLACES = ("area", "topic", "subtopic")


class KnowledgePages:
    """The tree of knowledge, and the page of a concept."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[Route]:
        guarded = self.site.guarded
        return [
            Route(KNOWLEDGE_PATH, guarded(self.show)),
            Route(CONCEPT_PATH, guarded(self.concept)),
            Route(CONCEPT_PATH + "/review", guarded(self.review), methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        """The tree, and the concepts of the place that is chosen."""
        chosen = {place: request.query_params.get(place, "") for place in PLACES}
        name = request.query_params.get("q", "").strip()
        values: dict[str, Any] = {
            "hierarchy": await self.site.run(request, "list_hierarchy"),
            "chosen": chosen,
            "name": name,
            "page_size": LISTED_CONCEPTS,
            "topics": await self._topics(request),
        }
        if name or any(chosen.values()):
            values["concepts"] = await self.site.run(
                request,
                "search_concepts_exact",
                name=name,
                limit=LISTED_CONCEPTS,
                **{place: value or None for place, value in chosen.items()},
            )
        else:
            values["concepts"] = await self.site.run(
                request, "get_concepts_by_certainty", limit=LEAST_CERTAIN
            )
        return await self.site.show(request, "knowledge.html", values)

    async def concept(self, request: Request) -> Response:
        """What a concept says, how sure it is, and what it is related to."""
        id = request.path_params["id"]
        found = await self.site.run(request, "get_concept", concept_id=id, include_history=True)
        values = {
            "concept": found["concept"],
            "certainty": await self.site.run(request, "explain_certainty", concept_id=id),
            "related": await self.site.run(
                request, "get_related_concepts", concept_id=id, limit=50
            ),
            "may_review": self.site.offers(request, "review_concept"),
        }
        return await self.site.show(request, "concept.html", values)

    async def review(self, request: Request) -> Response:
        await self.site.form(request)
        id = request.path_params["id"]
        changed = await self.site.run(request, "review_concept", concept_id=id)
        path = f"{KNOWLEDGE_PATH}/concept/{quote(id, safe='')}"
        return done(path, "reviewed", int(changed["event"]))

    async def _topics(self, request: Request) -> list[dict[str, Any]]:
        found = await self.site.run(request, "list_topics")
        return topic_tree(found["topics"])


def topic_tree(topics: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The topics of memories as a tree: each with those below it.

    What would be too deep to show stands beside the deepest that is shown.
    """
    nodes: dict[str, dict[str, Any]] = {topic["id"]: {**topic, "below": []} for topic in topics}
    children: dict[str, list[dict[str, Any]]] = {}
    for node in nodes.values():
        parent_id = str(node.get("parent_topic_id") or "")
        children.setdefault(parent_id if parent_id in nodes else "", []).append(node)
    top: list[dict[str, Any]] = []
    waiting = [(node, top, 1) for node in reversed(children.get("", []))]
    while waiting:
        node, siblings, depth = waiting.pop()
        siblings.append(node)
        if depth < MAX_TOPIC_DEPTH:
            siblings = node["below"]
            depth += 1
        waiting += [(child, siblings, depth) for child in reversed(children.get(node["id"], []))]
    return top
