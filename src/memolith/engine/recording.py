"""Recording events: the one place where the log grows and the rows follow it."""

from typing import NamedTuple

from memolith.domain.attributes import Json
from memolith.domain.callers import Audience, Caller
from memolith.domain.events import Changes, Event
from memolith.domain.fold import fold
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.domain.queries import Condition, Filter
from memolith.engine.certainty import affected_by, compute_again, with_certainty
from memolith.engine.visibility import check_project, keeps_members
from memolith.errors import AlreadyExists, Conflict, Denied, InvalidInput
from memolith.ports.clock import Clock
from memolith.ports.store import Reader, Writer

UNIQUE_TITLE_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "concept": ("area", "topic"),
    "project": (),
    "prompt": (),
    "template": (),
    "entity": (),
}
"""The kinds whose title must be unique, and the attributes that are part of the name."""


NAMED_KINDS = (*UNIQUE_TITLE_ATTRIBUTES, "topic")
"""The kinds that the tools of a family find by their title."""


class NewEvent(NamedTuple):
    """An event that is about to be recorded, and the row that it changes."""

    stream: str
    type: str
    data: dict[str, Json]
    before: Item | Link | None = None


class Recorded(NamedTuple):
    """An event as it stands in the log, and what it changed."""

    event: Event
    changes: Changes


class Recorder:
    """Appends events to the log and applies them to the rows, in the caller's transaction."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def record(self, rows: Writer, caller: Caller, new: NewEvent) -> Recorded:
        """Record the next event of an item or a link; its version follows that of the row."""
        version = new.before.version if new.before else 0
        return self._record(rows, caller, new, version)

    def tell(
        self,
        rows: Writer,
        caller: Caller,
        stream: str,
        type: str,
        data: dict[str, Json],
        before: Item | Link | None = None,
    ) -> Event:
        """Record the next event of a stream that may have no row: a cut link, a setting, a key."""
        version = len(rows.events(rows.tenant, stream))
        return self._record(rows, caller, NewEvent(stream, type, data, before), version).event

    def _record(self, rows: Writer, caller: Caller, new: NewEvent, version: int) -> Recorded:
        now = self.clock.now()
        event = rows.next_event(new.stream, version + 1, new.type, new.data, caller.user, now)
        event = with_certainty(rows, new.before, event)
        changes = fold(new.before, event)
        refuse_unsound(rows, changes)
        # Not where a log is imported: it may hold what was possible once.
        if changes.item is not None and changes.item.kind == "topic":
            _refuse_loose_topic(rows, changes.before, changes.item)
        refuse_closed_project(rows, caller, changes)
        affected = affected_by(rows, new.before)
        rows.append(event, changes)
        affected |= affected_by(rows, changes.item or changes.link)
        compute_again(rows, affected, caller.user, now)
        return Recorded(event, changes)


def refuse_unsound(rows: Reader, changes: Changes) -> None:
    """Refuse an item without title and text, without its project, or with a taken name."""
    item = changes.item
    if item is None:
        return
    _refuse_empty(rows, changes, item)
    if item.audience is Audience.PROJECT and not item.project:
        raise InvalidInput("An item for a project needs to name the project.", field="project")
    _refuse_taken_name(rows, changes.before, item)


def refuse_closed_project(rows: Reader, caller: Caller, changes: Changes) -> None:
    """Refuse a write into a project that does not let the caller in.

    Members are changed by an admin alone, or by the admin who made the list. To take something of
    one's own away is always allowed.
    """
    before = changes.before
    item = changes.item
    if any(row is not None and keeps_members(row) for row in (before, item)):
        is_own = before is not None and before.owner == caller.user
        if not caller.admin and not is_own:
            raise Denied("Only an admin can change the members of a project.", field="project")
        return
    if item is None or item.project is None or item.forgotten:
        return
    is_moved = before is None or before.project != item.project
    if is_moved or item.audience is Audience.PROJECT:
        check_project(rows, caller, item.project)


def _refuse_empty(rows: Reader, changes: Changes, item: Item) -> None:
    if item.title:
        return
    before = changes.before
    if before is not None and not before.title and not changes.passages:
        # It had no title before and its text stays, so it cannot have become empty.
        return
    passages = changes.passages or rows.passages(item.tenant, item.id)
    if not any(passage.text.strip() for passage in passages):
        raise InvalidInput("An item without text needs a title.", field="title")


def _refuse_loose_topic(rows: Reader, before: Item | None, topic: Item) -> None:
    """Refuse a topic below itself or below none, and to take one away that others are below."""
    if topic.forgotten:
        if before is not None and not before.forgotten:
            _refuse_topics_below(rows, topic)
        return
    parent_id = topic.attributes.get("parent_topic_id")
    if before is not None and before.attributes.get("parent_topic_id") == parent_id:
        return
    # The set ends the walk also where a cycle was stored before it was refused.
    visited: set[object] = set()
    while parent_id and parent_id not in visited:
        visited.add(parent_id)
        if parent_id == topic.id:
            raise InvalidInput(
                f"The topic {topic.title!r} would be below itself.", field="parent_topic_id"
            )
        parent = rows.item(topic.tenant, str(parent_id))
        if parent is None or parent.forgotten or parent.kind != "topic":
            raise InvalidInput(
                f"There is no topic {str(parent_id)[:100]!r} to be below.", field="parent_topic_id"
            )
        parent_id = parent.attributes.get("parent_topic_id")


def _refuse_topics_below(rows: Reader, topic: Item) -> None:
    everybody = Caller(topic.tenant, admin=True)
    below = Filter(kinds=("topic",), where=(Condition("parent_topic_id", "eq", topic.id),))
    page = rows.list_items(everybody, below, limit=1, counted=False)
    if page.items:
        raise Conflict(
            "There are topics below this one; move or delete them first.", field="topic_id"
        )


def _refuse_taken_name(rows: Reader, before: Item | None, item: Item) -> None:
    if item.kind not in UNIQUE_TITLE_ATTRIBUTES or not item.title or item.forgotten:
        return
    name = _unique_name(item)
    if before is not None and not before.forgotten and _unique_name(before) == name:
        return
    for other in rows.items_titled(item.tenant, item.kind, item.title):
        if other.id != item.id and _unique_name(other) == name:
            raise AlreadyExists(
                f"Another {item.kind} here is called {item.title!r}.", field="title", id=other.id
            )


def _unique_name(item: Item) -> tuple[object, ...]:
    """What two items of a kind may not have in common."""
    group = None
    if item.audience is Audience.USER:
        group = item.owner
    elif item.audience is Audience.PROJECT:
        group = item.project
    entity_type = item.namespace if item.kind == "entity" else None
    attributes = [item.attributes.get(name) for name in UNIQUE_TITLE_ATTRIBUTES[item.kind]]
    return (item.title, item.audience, group, entity_type, *attributes)
