"""Items, links and events as the core family shows them."""

from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.engine.history import Step
from memolith.tools.core.models import EventBody, FieldChange, ItemBody, LinkBody


def item_body(item: Item) -> ItemBody:
    """An item without its text."""
    body: ItemBody = {
        "id": item.id,
        "kind": item.kind,
        "title": item.title,
        "status": item.status,
        "tags": list(item.tags),
        "project": item.project,
        "version": item.version,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }
    if item.attributes:
        body["metadata"] = dict(item.attributes)
    return body


def link_body(link: Link) -> LinkBody:
    """A link between two items."""
    return {
        "id": link.id,
        "source": link.source,
        "target": link.target,
        "type": link.type,
        "strength": link.strength,
    }


def event_body(step: Step) -> EventBody:
    """One event and what it changed."""
    event, changes = step
    field_changes: list[FieldChange] = [
        {"field": name, "old": old, "new": new} for name, (old, new) in changes.items()
    ]
    return {
        "event": event.seq,
        "version": event.version,
        "type": event.type,
        "at": event.at,
        "by": event.actor,
        "undoes": event.data.get("undoes"),
        "changes": field_changes,
    }
