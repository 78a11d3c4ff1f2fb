"""The engine's values as plain JSON objects, for the command line and the management tools."""

from __future__ import annotations

from memolith.engine.context import cite
from memolith.engine.model import Hit, Item, Json
from memolith.engine.past import Step


def item_fields(item: Item) -> dict[str, Json]:
    """An item without its text."""
    scope = item.scope
    return {"id": item.id, "kind": item.kind, "title": item.title, "status": item.status, "tags": list(item.tags),
            "metadata": dict(item.attributes), "owner": scope.owner, "audience": scope.audience.value,
            "project": scope.project, "namespace": scope.namespace, "version": item.version,
            "created_at": item.created_at, "updated_at": item.updated_at, "forgotten": item.forgotten}


def hit_fields(hit: Hit) -> dict[str, Json]:
    """A hit with its reasons and where it stands."""
    return {"id": hit.item.id, "kind": hit.item.kind, "title": hit.item.title, "text": hit.passage.text,
            "score": hit.score, "strength": hit.strength, "reasons": dict(hit.reasons), "cite": cite(hit),
            "speaker": hit.passage.speaker, "at": hit.passage.at}


def step_fields(step: Step) -> dict[str, Json]:
    """An event with what it changed."""
    event = step.event
    return {"event": event.seq, "version": event.version, "type": event.type, "at": event.at, "by": event.actor,
            "stream": event.stream, "undoes": event.data.get("undoes"),
            "changes": [{"field": change.field, "old": change.old, "new": change.new} for change in step.changes]}
