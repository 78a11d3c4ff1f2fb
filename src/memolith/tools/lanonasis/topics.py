"""Topics under which memories are kept. The manage family creates and changes them."""

from memolith.domain.callers import Caller
from memolith.domain.items import Item
from memolith.domain.queries import Filter
from memolith.tools.call import Call
from memolith.tools.lanonasis.arguments import UserId, acting_for
from memolith.tools.lanonasis.dialect import lanonasis
from memolith.tools.lanonasis.models import Topic, Topics

MAX_LISTED_TOPICS = 1000


@lanonasis.tool(read_only=True, inert=("user_id",))
def list_topics(call: Call, *, user_id: UserId | None = None) -> Topics:
    """The topics under which a user keeps memories."""
    caller = acting_for(call, user_id).caller
    return {"topics": [topic_body(item) for item in own_topics(call, caller)]}


def own_topics(call: Call, caller: Caller) -> tuple[Item, ...]:
    """The topics of a user, the oldest first."""
    page = call.engine.reading.list_items(
        caller,
        Filter(kinds=("topic",), owner=caller.user),
        descending=False,
        limit=MAX_LISTED_TOPICS,
    )
    return page.items


def topic_body(item: Item) -> Topic:
    """A topic as LanOnasis shows it."""
    topic: Topic = {
        "id": item.id,
        "name": item.title,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }
    attributes = item.attributes
    if "description" in attributes:
        topic["description"] = attributes["description"]
    if "color" in attributes:
        topic["color"] = attributes["color"]
    if "icon" in attributes:
        topic["icon"] = attributes["icon"]
    if "parent_topic_id" in attributes:
        topic["parent_topic_id"] = attributes["parent_topic_id"]
    return topic
