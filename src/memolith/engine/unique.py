"""Names that may stand only once, checked inside the write that would make a second one."""

from __future__ import annotations

from memolith.engine.events import Changes
from memolith.engine.model import Audience, Item
from memolith.engine.ports import Reader
from memolith.errors import AlreadyExists

# The kinds whose title is a name, and the attributes that go with it.
UNIQUE: dict[str, tuple[str, ...]] = {"concept": ("area", "topic"), "project": ()}


def refuse_namesakes(rows: Reader, changes: Changes) -> None:
    """Refuse a change that leaves two live items of the same kind, audience and name."""
    item, before = changes.item, changes.before
    if item is None or item.kind not in UNIQUE or item.forgotten or not item.title:
        return
    if before is None or before.forgotten or _name(before) != _name(item):
        for other in rows.namesakes(item.scope.tenant, item.kind, item.title):
            if other.id != item.id and _name(other) == _name(item):
                raise AlreadyExists(f"There is a {item.kind} {item.title!r} here already.", field="title", id=other.id)


def _name(item: Item) -> tuple[object, ...]:
    scope = item.scope
    among = {Audience.USER: scope.owner, Audience.PROJECT: scope.project, Audience.ORG: None}[scope.audience]
    return (item.title, scope.audience, among, *(item.attributes.get(name) for name in UNIQUE[item.kind]))
