"""Topics over REST, flat and as a tree, and the memories under them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from memolith.domain.items import Item
from memolith.domain.queries import Filter
from memolith.tools.arguments import Limit
from memolith.tools.call import Call
from memolith.tools.lanonasis.rest.api import BASE, lanonasis_api
from memolith.tools.lanonasis.rest.arguments import Offset, OrganizationId, check_organization
from memolith.tools.lanonasis.rest.models import (
    RestTopic,
    TopicDeleted,
    TopicList,
    TopicMemories,
    TopicNode,
)
from memolith.tools.lanonasis.topics import own_topics, topic_body
from memolith.tools.lanonasis.views import memory_bodies
from memolith.tools.lookup import find_item
from memolith.tools.manage.topics import (
    TOP_LEVEL,
    Color,
    Icon,
    TopicDescription,
    TopicName,
    create_topic,
    delete_topic,
    update_topic,
)

TOPICS = BASE + "/topics"
ONE_TOPIC = TOPICS + "/{topic_id}"
PARENT = "parent_topic_id"
MEMORIES = Filter(kinds=("memory",))
TopicIdInPath = Annotated[str, Field(description="The id of the topic.")]


@lanonasis_api.route("POST", TOPICS, status=201)
def post_topic(
    call: Call,
    *,
    name: TopicName,
    description: TopicDescription = None,
    color: Color = None,
    icon: Icon = None,
    parent_topic_id: str | None = None,
    organization_id: OrganizationId = None,
) -> RestTopic:
    """Make a topic, perhaps below another."""
    check_organization(call, organization_id)
    made = create_topic(
        call,
        name=name,
        description=description,
        color=color,
        icon=icon,
        parent_topic_id=parent_topic_id,
    )
    return _shown(call, made["id"])


@lanonasis_api.route("GET", TOPICS, read_only=True, body_field="topics")
def get_topics(call: Call, *, include_hierarchy: bool = False) -> TopicList:
    """The topics of the user, as a list or as a tree."""
    items = own_topics(call, call.caller)
    if include_hierarchy:
        return {"topics": list(_tree(items, _counts(call)))}
    return {"topics": [_rest_topic(item) for item in items]}


@lanonasis_api.route("GET", ONE_TOPIC, read_only=True)
def get_topic(call: Call, *, topic_id: TopicIdInPath) -> RestTopic:
    """One topic."""
    return _shown(call, topic_id)


@lanonasis_api.route("PUT", ONE_TOPIC, idempotent=True, needs_read=True)
def put_topic(
    call: Call,
    *,
    topic_id: TopicIdInPath,
    name: TopicName | None = None,
    description: TopicDescription = None,
    color: Color = None,
    icon: Icon = None,
    parent_topic_id: Annotated[
        str | None, Field(description=f"`{TOP_LEVEL}` moves it out of every other one.")
    ] = None,
) -> RestTopic:
    """Rename, describe, colour or move a topic."""
    update_topic(
        call,
        topic_id=topic_id,
        name=name,
        description=description,
        color=color,
        icon=icon,
        parent_topic_id=parent_topic_id,
    )
    return _shown(call, topic_id)


@lanonasis_api.route("DELETE", ONE_TOPIC, destructive=True)
def delete_one_topic(call: Call, *, topic_id: TopicIdInPath) -> TopicDeleted:
    """Delete a topic that has none below it; its memories stay."""
    deleted = delete_topic(call, topic_id=topic_id)
    return {"success": True, "deleted_id": deleted["id"]}


@lanonasis_api.route("GET", ONE_TOPIC + "/memories", read_only=True)
def get_topic_memories(
    call: Call, *, topic_id: TopicIdInPath, limit: Limit = 20, offset: Offset = 0
) -> TopicMemories:
    """A topic with a page of its memories, the newest first, and the topics below it."""
    topic = find_item(call, "topic", topic_id, "topic_id")
    page = call.engine.reading.list_items(
        call.caller, replace(MEMORIES, topics=(topic.id,)), limit=limit, offset=offset
    )
    counts = _counts(call)
    below = [item for item in own_topics(call, call.caller) if _parent(item) == topic.id]
    return {
        "topic": _rest_topic(topic),
        "memories": memory_bodies(call, [item.id for item in page.items]),
        "total_memories": page.total,
        "subtopics": [
            {"id": item.id, "name": item.title, "memory_count": counts.get(item.id, 0)}
            for item in below
        ],
    }


def _shown(call: Call, topic_id: str) -> RestTopic:
    return _rest_topic(find_item(call, "topic", topic_id, "topic_id"))


def _rest_topic(item: Item) -> RestTopic:
    return {**topic_body(item), "user_id": item.owner, "is_system": False, "metadata": {}}


def _parent(item: Item) -> str | None:
    parent = item.attributes.get(PARENT)
    return parent if isinstance(parent, str) else None


def _counts(call: Call) -> Mapping[str, int]:
    """How many memories that the caller sees lie under each topic."""
    items = call.engine.reading.list_all(call.caller, MEMORIES)
    return Counter(str(item.attributes.get("topic_id")) for item in items)


def _tree(items: Sequence[Item], counts: Mapping[str, int]) -> list[TopicNode]:
    """The topics with those below them; one whose parent is not there stands at the top."""
    nodes: dict[str, TopicNode] = {
        item.id: {**_rest_topic(item), "children": [], "memory_count": counts.get(item.id, 0)}
        for item in items
    }
    top: list[TopicNode] = []
    for item in items:
        parent = nodes.get(_parent(item) or "")
        if parent is None:
            top.append(nodes[item.id])
        else:
            parent["children"].append(nodes[item.id])
    return top
