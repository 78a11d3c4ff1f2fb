"""Memories as resources with addresses: one by one, by namespace, topic or search, and what can be asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.parse import unquote

from memolith.engine.model import Filter
from memolith.errors import NotFound
from memolith.registry import Body, Call, Content, Resource, Resources
from memolith.surfaces.subcog import captures
from memolith.surfaces.subcog.captures import ADDRESS, NAMESPACES, wanted
from memolith.surfaces.subcog.family import here, subcog

MOST, JSON = 1000, "application/json"
PLACES = {"help": "What can be asked for, and how.", "namespaces": "The sorts of memories.", "_": "Every memory.",
          "topics": "The tags in use.", "_prompts": "The saved prompts."}
PATTERNS = {"memory/{id}": "One memory.", "{domain}/{namespace}/{id}": "One memory by its URN.",
            "_/{namespace}": "The memories of a namespace.", "topics/{topic}": "The memories with a tag.",
            "search/{query}": "The memories that a search finds."}


def read_resource(call: Call, uri: str) -> Content | None:
    """What stands at an address, as JSON; the help as text."""
    if not uri.startswith(ADDRESS):
        return None
    body = _body(call, uri, [unquote(part) for part in uri.removeprefix(ADDRESS).split("/")])
    return Content(uri, body if isinstance(body, str) else json.dumps(body, ensure_ascii=False), "text/markdown" if
                   isinstance(body, str) else JSON)


def _body(call: Call, uri: str, parts: Sequence[str]) -> Body | str:
    match parts:
        case ["help"]:
            keys = "\n".join(f"- `{tool.name}`: {tool.description}" for tool in subcog.tools)
            return f"# Tools\n\n{keys}\n\n# Addresses\n\n" + "\n".join(
                f"- `{ADDRESS}{path}`: {about}" for path, about in (PLACES | PATTERNS).items())
        case ["namespaces"]:
            return captures.subcog_namespaces(call)
        case ["topics"]:
            return {"topics": call.engine.counts(here(call).caller, "tag", wanted(call))}
        case ["_prompts"]:
            page = call.engine.listing(here(call).caller, Filter(kinds=("prompt",)), "title", False, MOST)
            return {"prompts": [{"name": item.title, "domain": item.scope.audience.value, "tags": list(item.tags),
                                 "description": item.attributes.get("description")} for item in page.items]}
        case ["_"] | ["search", "" | "*"]:
            return _listed(call)
        case ["_", space] if space in NAMESPACES:
            return _listed(call, filter=f"ns:{space}")
        case ["topics", topic] if topic:
            return _listed(call, filter=f"tag:{json.dumps(topic, ensure_ascii=False)}")
        case ["search", query]:
            return _listed(call, query=query, limit=50)
        case ["memory", _] | [_, _, _]:
            return captures.rows(call, [captures.memory(call, uri)], "everything")[0]
    raise NotFound(f"There is nothing at {uri[:200]!r}; {ADDRESS}help tells what there is.", id=uri)


def _listed(call: Call, query: str = "", filter: str = "", limit: int = MOST) -> Body:
    found = captures.subcog_recall(call, query=query, filter=filter, limit=limit, detail="light")
    return {"count": found["total"], "memories": found["results"]}


def complete(call: Call, pattern: str, argument: str, beginning: str) -> list[str]:
    """Namespaces, domains and tags that begin so."""
    known = {"namespace": [*NAMESPACES], "domain": ["project", "user", "org"], "topic": [*call.engine.counts(
        here(call).caller, "tag", wanted(call))] if argument == "topic" else []}
    return [value for value in known.get(argument, ()) if pattern.startswith(ADDRESS) and value.startswith(beginning)]


subcog.resources = Resources(
    read_resource, lambda call: [Resource(ADDRESS + path, path, about, JSON) for path, about in PLACES.items()],
    tuple(Resource(ADDRESS + path, path, about, JSON) for path, about in PATTERNS.items()), complete)
