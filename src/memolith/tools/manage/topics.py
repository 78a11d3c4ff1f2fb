"""Create, change and delete topics, and put memories under them."""

from typing import Annotated

from pydantic import Field

from memolith.domain.items import Draft, Item, Patch
from memolith.domain.queries import Condition, Filter
from memolith.errors import Conflict, InvalidInput
from memolith.tools.arguments import ItemId, without_empty
from memolith.tools.call import Call
from memolith.tools.lookup import find_item
from memolith.tools.manage.dialect import manage
from memolith.tools.results import ChangedItem, changed_item

TOP_LEVEL = "top"
"""The value of `parent_topic_id` that moves a topic out of every other one."""
TopicName = Annotated[str, Field(min_length=1, max_length=100)]
TopicDescription = Annotated[str | None, Field(max_length=500)]
Color = Annotated[str | None, Field(pattern="^#[0-9A-Fa-f]{6}$")]
Icon = Annotated[str | None, Field(max_length=50)]


@manage.tool(example={"name": "Stripes"})
def create_topic(
    call: Call,
    *,
    name: TopicName,
    description: TopicDescription = None,
    color: Color = None,
    icon: Icon = None,
    parent_topic_id: str | None = None,
) -> ChangedItem:
    """Make a topic to keep memories under, perhaps below another."""
    parent_id = None
    if parent_topic_id:
        parent_id = find_item(call, "topic", parent_topic_id, "parent_topic_id").id
    draft = Draft(
        kind="topic",
        title=name,
        attributes=without_empty(
            description=description, color=color, icon=icon, parent_topic_id=parent_id
        ),
    )
    return changed_item(call.engine.writing.remember(call.caller, draft))


@manage.tool(idempotent=True, example={"topic_id": "topic", "name": "Hooves"})
def update_topic(
    call: Call,
    *,
    topic_id: ItemId,
    name: TopicName | None = None,
    description: TopicDescription = None,
    color: Color = None,
    icon: Icon = None,
    parent_topic_id: Annotated[
        str | None, Field(description="The topic to move it below; `top` for none.")
    ] = None,
) -> ChangedItem:
    """Rename, describe, colour or move a topic."""
    topic = find_item(call, "topic", topic_id, "topic_id")
    to_top = parent_topic_id == TOP_LEVEL
    new_parent = None if to_top else parent_topic_id
    patch = Patch(
        title=name,
        attributes=without_empty(
            description=description, color=color, icon=icon, parent_topic_id=new_parent
        ),
        dropped=("parent_topic_id",) if to_top else (),
    )
    if patch == Patch(attributes={}):
        raise InvalidInput("Say what to change.", field="name")
    _refuse_unknown_parent(call, topic, new_parent)
    written = call.engine.writing.revise(call.caller, topic.id, patch)
    return changed_item(written)


@manage.tool(destructive=True, example={"topic_id": "topic"})
def delete_topic(call: Call, *, topic_id: ItemId) -> ChangedItem:
    """Delete a topic that has none below it; its memories stay."""
    topic = find_item(call, "topic", topic_id, "topic_id")
    below = Filter(kinds=("topic",), where=(Condition("parent_topic_id", "eq", topic.id),))
    if call.engine.reading.list_items(call.caller, below, limit=1).total:
        raise Conflict(
            "There are topics below this one; move or delete them first.", field="topic_id"
        )
    written = call.engine.writing.forget(call.caller, topic.id)
    return changed_item(written)


@manage.tool(idempotent=True, example={"topic_id": "topic", "memory_id": "one"})
def assign_topic(call: Call, *, topic_id: ItemId, memory_id: ItemId) -> ChangedItem:
    """Put a memory under a topic."""
    topic = find_item(call, "topic", topic_id, "topic_id")
    memory = find_item(call, "memory", memory_id, "memory_id")
    patch = Patch(attributes={"topic_id": topic.id})
    return changed_item(call.engine.writing.revise(call.caller, memory.id, patch))


def _refuse_unknown_parent(call: Call, topic: Item, parent_id: str | None) -> None:
    """Refuse a parent that the caller does not see; the engine refuses longer cycles."""
    if parent_id:
        parent = find_item(call, "topic", parent_id, "parent_topic_id")
        if parent.id == topic.id:
            raise InvalidInput("A topic cannot be below itself.", field="parent_topic_id")
