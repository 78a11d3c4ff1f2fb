"""What must hold of an item whoever changes it, checked inside the write."""

from __future__ import annotations

from memolith.engine.events import Changes
from memolith.engine.model import Audience, Item
from memolith.engine.ports import Reader
from memolith.errors import AlreadyExists, InvalidInput

# The kinds whose title is a name that may stand only once, and the attributes that go with it.
UNIQUE: dict[str, tuple[str, ...]] = {"concept": ("area", "topic"), "project": ()}


def refuse_unsound(rows: Reader, changes: Changes) -> None:
    """Refuse a change that leaves an item without title and text, for no project, or with another's name."""
    item, before = changes.item, changes.before
    if item is None:
        return
    if not item.title and (before is None or before.title or changes.passages):
        passages = changes.passages or rows.passages(item.scope.tenant, item.id)
        if not any(passage.text.strip() for passage in passages):
            raise InvalidInput("An item without text needs a title.", field="title")
    if item.scope.audience is Audience.PROJECT and not item.scope.project:
        raise InvalidInput("An item for a project needs to name the project.", field="project")
    if item.kind not in UNIQUE or item.forgotten or not item.title:
        return
    if before is None or before.forgotten or _name(before) != _name(item):
        for other in rows.namesakes(item.scope.tenant, item.kind, item.title):
            if other.id != item.id and _name(other) == _name(item):
                raise AlreadyExists(f"There is a {item.kind} {item.title!r} here already.", field="title", id=other.id)


def _name(item: Item) -> tuple[object, ...]:
    scope = item.scope
    among = {Audience.USER: scope.owner, Audience.PROJECT: scope.project, Audience.ORG: None}[scope.audience]
    return (item.title, scope.audience, among, *(item.attributes.get(name) for name in UNIQUE[item.kind]))
