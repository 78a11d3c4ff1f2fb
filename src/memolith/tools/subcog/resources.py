"""Addresses that a client can read: memories, namespaces, topics, searches, prompts."""

import json
from collections.abc import Sequence
from urllib.parse import unquote

from memolith.domain.queries import Filter
from memolith.engine.namespaces import NAMESPACES
from memolith.errors import NotFound
from memolith.tools.call import Call
from memolith.tools.resources import Resource, Resources
from memolith.tools.schema import Body
from memolith.tools.subcog.captures import subcog_namespaces, subcog_recall
from memolith.tools.subcog.dialect import in_project, subcog
from memolith.tools.subcog.views import (
    ADDRESS,
    MAX_SHOWN_URN_LENGTH,
    find_memory,
    memory_filter,
    whole_memories,
)

MAX_LISTED = 1000


def _resource(path: str, description: str) -> Resource:
    return Resource(ADDRESS + path, path, description, "application/json")


FIXED_RESOURCES = (
    _resource("help", "What can be asked for."),
    _resource("namespaces", "The sorts of memories."),
    _resource("_", "Every memory."),
    _resource("topics", "The tags in use."),
    _resource("_prompts", "The saved prompts."),
)
RESOURCE_TEMPLATES = (
    _resource("memory/{id}", "One memory."),
    _resource("{domain}/{namespace}/{id}", "One memory by its URN."),
    _resource("_/{namespace}", "The memories of a namespace."),
    _resource("topics/{topic}", "The memories with a tag."),
    _resource("search/{query}", "The memories that a search finds."),
)


def read_resource(call: Call, uri: str) -> Body:
    """What is at an address."""
    call = in_project(call)
    path = [unquote(part) for part in uri.removeprefix(ADDRESS).split("/")]
    match path:
        case ["help"]:
            return _help()
        case ["namespaces"]:
            return dict(subcog_namespaces(call))
        case ["topics"]:
            counts = call.engine.reading.count_by(call.caller, "tag", memory_filter(call))
            return {"topics": counts}
        case ["_prompts"]:
            return _prompts(call)
        case ["_"]:
            return _memories(call, filter="")
        case ["_", namespace] if namespace in NAMESPACES:
            return _memories(call, filter=f"ns:{namespace}")
        case ["topics", topic] if topic:
            return _memories(call, filter=f"tag:{json.dumps(topic, ensure_ascii=False)}")
        case ["search", query]:
            return _memories(call, query=query)
        case ["memory", _] | [_, _, _]:
            memory = find_memory(call, uri)
            return dict(whole_memories(call, [memory.id])[0])
    raise NotFound(
        f"There is nothing at {uri[:MAX_SHOWN_URN_LENGTH]!r}; {ADDRESS}help tells what there is.",
        id=uri,
    )


def list_resources(call: Call) -> Sequence[Resource]:
    """The resources whose address is fixed."""
    return FIXED_RESOURCES


def _help() -> Body:
    offers = (*FIXED_RESOURCES, *RESOURCE_TEMPLATES)
    return {
        "tools": {tool.name: tool.description for tool in subcog.tools},
        "resources": {offer.uri: offer.description for offer in offers},
    }


def _prompts(call: Call) -> Body:
    page = call.engine.reading.list_items(
        call.caller, Filter(kinds=("prompt",)), sort="title", descending=False, limit=MAX_LISTED
    )
    return {
        "prompts": [
            {
                "name": item.title,
                "domain": item.audience.value,
                "tags": list(item.tags),
                "description": item.attributes.get("description"),
            }
            for item in page.items
        ]
    }


def _memories(call: Call, query: str = "", filter: str = "") -> Body:
    found = subcog_recall(call, query=query, filter=filter, limit=MAX_LISTED, detail="light")
    return {"count": found["total"], "memories": found["results"]}


subcog.resources = Resources(ADDRESS, read_resource, list_resources, RESOURCE_TEMPLATES)
