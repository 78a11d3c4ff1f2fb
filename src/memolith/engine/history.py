"""History: what happened to an item, what it was at a time, and undo."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, cast

from memolith.domain.attributes import Json, exact
from memolith.domain.blocks import block_data, join_blocks
from memolith.domain.callers import Caller
from memolith.domain.chunking import CHUNKER
from memolith.domain.events import RECORD_EVENTS, Event
from memolith.domain.fold import Replay
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.domain.passages import Block, Passage
from memolith.engine.recording import Recorder
from memolith.engine.validation import when
from memolith.engine.visibility import sees_both_ends, visible
from memolith.errors import AlreadyExists, InvalidInput, NotFound, NotUndoable
from memolith.ports.store import Reader, Store

INVERSE_TYPES = {
    "remembered": "forgotten",
    "forgotten": "restored",
    "restored": "forgotten",
    "linked": "unlinked",
}
"""The events that another event without data takes back."""
REVISABLE_FIELDS = (
    "title",
    "status",
    "audience",
    "project",
    "namespace",
    "tags",
    "strength",
    "attributes",
)
TEXT_FIELDS = ("text", "at", "parts", "messages")
COMPUTED_ATTRIBUTES = ("certainty_score", "certainty_source")
ATTRIBUTE_PREFIX = "attributes."
MAX_OFFERED_UNDOS = 20
"""Of how many of the newest events of an item it is worked out whether they can be undone."""
FOREVER = "9999"
"""Sorts after every time."""


class Step(NamedTuple):
    """An event of an item's history, and each field that it changed, before and after it."""

    event: Event
    changes: dict[str, tuple[Json, Json]]


class _Phases(NamedTuple):
    """What an item or link was before and after an event, and what it is now."""

    before: Replay
    after: Replay
    now: Replay

    @classmethod
    def of(cls, states: Sequence[Replay], event: Event) -> Self:
        return cls(states[event.version - 1], states[event.version], states[-1])


class _Inverse(NamedTuple):
    """The event that takes another one back."""

    type: str
    data: dict[str, Json]


@dataclass(frozen=True)
class History:
    """Reads the log, and undoes events."""

    store: Store
    recorder: Recorder

    def history(self, caller: Caller, id: str, until: str | None = None) -> list[Step]:
        """Every event of the item and of its links, oldest first, with what changed."""
        until = FOREVER if until is None else when("as_of", until)
        with self.store.reading(caller.tenant) as rows:
            steps = _steps(caller, _events(rows, caller, id))
            for stream in rows.link_streams(caller.tenant, id):
                events = rows.events(caller.tenant, stream)
                if _may_see(rows, caller, events):
                    steps += _steps(caller, events)
        steps = [step for step in steps if step.event.at <= until]
        return sorted(steps, key=lambda step: step.event.seq)

    def as_of(self, caller: Caller, id: str, at: str) -> tuple[Item, list[Block]]:
        """The item and its blocks as they were at that time."""
        at = when("as_of", at)
        with self.store.reading(caller.tenant) as rows:
            found = items_as_of(rows, caller, [id], at)
        if id not in found:
            raise NotFound(
                f"There was no item {id[:100]!r} for you at {at}, or it was erased since.", id=id
            )
        item, passages = found[id]
        return item, join_blocks(passages)

    def events(self, caller: Caller, id: str) -> list[Event]:
        """Every event of an item that the caller may see, oldest first."""
        with self.store.reading(caller.tenant) as rows:
            return _events(rows, caller, id)

    def last(self, caller: Caller, id: str) -> Event:
        """The newest event of an item that somebody caused."""
        events = [event for event in self.events(caller, id) if event.type != "appraised"]
        return events[-1]

    def undoable(self, caller: Caller, id: str) -> list[int]:
        """The newest events of an item and its links that undo would take back, by number."""
        with self.store.reading(caller.tenant) as rows:
            streams = [_events(rows, caller, id)]
            for stream in rows.link_streams(caller.tenant, id):
                events = rows.events(caller.tenant, stream)
                if _may_see(rows, caller, events):
                    streams.append(events)
        found: list[int] = []
        for events in streams:
            if not _was_erased(events):
                found += _undoable(caller, events)
        return sorted(found)

    def undo(self, caller: Caller, seq: int) -> Event:
        """Take one event back by a new one; refused where later events changed the same."""
        tenant = caller.tenant
        with self.store.writing(tenant) as rows:
            event = rows.event_by_seq(tenant, seq)
            events = rows.events(tenant, event.stream) if event else []
            if _was_erased(events) and caller.user in (events[0].actor, events[-1].actor):
                raise NotUndoable("What was erased cannot come back.", id=events[0].stream)
            if event is not None and event.type in RECORD_EVENTS and _is_own(caller, event):
                raise NotUndoable(
                    f"An event of the type {event.type!r} cannot be taken back; make a new change.",
                    id=event.stream,
                )
            if event is None or not _may_undo(rows, caller, events, event):
                # Others learn nothing about whose event it is.
                raise NotFound(f"There is no event {seq}.", field="event", id=str(seq))
            inverse = _inverse(event, _Phases.of(_states(events), event))
            if inverse.type == "linked":
                present = rows.link_between(
                    tenant,
                    cast(str, inverse.data["source"]),
                    cast(str, inverse.data["target"]),
                    cast(str, inverse.data["type"]),
                )
                _require(present is None, event)
            row = rows.link_by_id(tenant, event.stream) or rows.item(tenant, event.stream)
            data = inverse.data | {"undoes": seq}
            try:
                return self.recorder.tell(rows, caller, event.stream, inverse.type, data, row)
            except (AlreadyExists, InvalidInput) as error:
                raise NotUndoable(
                    f"Without this event: {error.message}", id=event.stream
                ) from error


def items_as_of(
    rows: Reader, caller: Caller, ids: Collection[str], at: str
) -> dict[str, tuple[Item, list[Passage]]]:
    """Those of the items that the caller may see now and could see then, as they were."""
    visible_now = rows.items(caller.tenant, ids).values()
    found = {}
    for id in sorted(item.id for item in visible_now if item.admits(caller)):
        state = Replay.of(rows.events(caller.tenant, id), at)
        if isinstance(state.row, Item) and state.row.admits(caller):
            found[id] = (state.row, state.passages)
    return found


def _is_own(caller: Caller, event: Event) -> bool:
    return caller.admin or caller.user == event.actor


def _was_erased(events: Sequence[Event]) -> bool:
    return bool(events) and events[-1].type == "erased"


def _events(rows: Reader, caller: Caller, id: str) -> list[Event]:
    """The log of an item that the caller may see, also of one that was forgotten or erased."""
    events = rows.events(caller.tenant, id)
    is_own = bool(events) and (caller.admin or caller.user == events[0].actor)
    if not _was_erased(events) or not is_own:
        visible(rows, caller, id, forgotten=True)
    return events


def _may_see(rows: Reader, caller: Caller, events: list[Event]) -> bool:
    """Whether the caller may see the item, or both ends of the link, that these events made."""
    if not _was_erased(events):
        made = Replay.of(events[:1]).row
        if isinstance(made, Link):
            return sees_both_ends(rows, caller, made)
    item = rows.item(caller.tenant, events[0].stream)
    return item is not None and item.admits(caller)


def _may_undo(rows: Reader, caller: Caller, events: list[Event], event: Event) -> bool:
    """Whether the caller may see the item or link, and could see it before the event, too.

    Otherwise undo would show what it said while it was private.
    """
    if not _may_see(rows, caller, events):
        return False
    before = _state_at(events, event.version - 1).row
    return not isinstance(before, Item) or before.admits(caller)


def _undoable(caller: Caller, events: list[Event]) -> list[int]:
    """Those of the newest events of a stream that can be taken back."""
    states = _states(events)
    found = []
    for event in events[-MAX_OFFERED_UNDOS:]:
        phases = _Phases.of(states, event)
        if isinstance(phases.before.row, Item) and not phases.before.row.admits(caller):
            continue
        try:
            _inverse(event, phases)
        except NotUndoable:
            continue
        found.append(event.seq)
    return found


def _steps(caller: Caller, events: list[Event]) -> list[Step]:
    """The events with what they changed, as far as the caller could see the item at the time."""
    if _was_erased(events):
        return [Step(event, {}) for event in events]
    state = Replay()
    steps = []
    before: dict[str, Json] = {}
    for event in events:
        state.apply(event)
        if isinstance(state.row, Item) and not state.row.admits(caller):
            before = {}
            continue
        after = picture(state)
        changes = {name: (before.get(name), after.get(name)) for name in _changed(before, after)}
        steps.append(Step(event, changes))
        before = after
    return steps


def _changed(before: dict[str, Json], after: dict[str, Json]) -> list[str]:
    """The names whose value differs; to be absent and to be null are two things."""
    changed = []
    for name in sorted(before.keys() | after.keys()):
        came_or_went = (name in before) != (name in after)
        if came_or_went or exact(before.get(name)) != exact(after.get(name)):
            changed.append(name)
    return changed


def picture(state: Replay) -> dict[str, Json]:
    """Everything about an item or a link that a change can be seen by."""
    row = state.row
    if row is None:
        return {}
    if isinstance(row, Link):
        return {
            "source": row.source,
            "target": row.target,
            "type": row.type,
            "strength": row.strength,
            "attributes": dict(row.attributes),
        }
    fields: dict[str, Json] = {
        "kind": row.kind,
        "title": row.title,
        "status": row.status,
        "forgotten": row.forgotten,
        "owner": row.owner,
        "audience": row.audience.value,
        "project": row.project,
        "namespace": row.namespace,
        "tags": list(row.tags),
    }
    # A computed certainty follows from the rest, which undo brings back.
    certainty_is_given = row.attributes.get("certainty_source") == "given"
    for name, value in row.attributes.items():
        if certainty_is_given or name not in COMPUTED_ATTRIBUTES:
            fields[ATTRIBUTE_PREFIX + name] = value
    return fields | _text_fields(row, join_blocks(state.passages))


def _text_fields(item: Item, blocks: list[Block]) -> dict[str, Json]:
    """The text of an item as a person thinks of it: messages, one text, or parts."""
    blocks_data: list[Json] = [block_data(block) for block in blocks]
    if item.kind == "conversation":
        return {"messages": blocks_data}
    if len(blocks) == 1 and set(block_data(blocks[0])) == {"text", "at"}:
        return {"text": blocks[0].text, "at": blocks[0].at}
    return {"parts": blocks_data}


def _states(events: Sequence[Event]) -> list[Replay]:
    """What the events have left: before the first one, and after each."""
    state = Replay()
    states = [replace(state)]
    for event in events:
        state.apply(event)
        states.append(replace(state))
    return states


def _inverse(event: Event, phases: _Phases) -> _Inverse:
    """The event that takes this one back, if what it did is still there."""
    before, after, now = phases
    if event.type in INVERSE_TYPES:
        _require(_is_there(now) == _is_there(after), event)
        return _inverse_of_presence(event, before, after)
    if event.type == "unlinked":
        _require(now.row is None, event)
        link = cast(Link, before.row)
        origin: dict[str, Json] = {"first": link.seq, "created_at": link.created_at}
        return _Inverse("linked", picture(before) | origin)
    _require(now.row is not None, event)
    if event.type == "appraised":
        raise NotUndoable(
            "What is computed cannot be undone; it follows from the rest.", id=event.stream
        )
    old = picture(before)
    new = picture(after)
    changed = _changed(old, new)
    changed_later = set(_changed(picture(now), new))
    _require(changed_later.isdisjoint(changed), event)
    data = _restored_fields(old, changed)
    if any(name in TEXT_FIELDS for name in changed):
        data["blocks"] = [block_data(block) for block in join_blocks(before.passages)]
        data["chunker"] = CHUNKER
    return _Inverse("relinked" if event.type == "relinked" else "revised", data)


def _inverse_of_presence(event: Event, before: Replay, after: Replay) -> _Inverse:
    """The event that takes back one by which something came or went."""
    if event.type not in ("forgotten", "restored"):
        return _Inverse(INVERSE_TYPES[event.type], {})
    old = picture(before)
    data = _restored_fields(old, _changed(old, picture(after)))
    if _is_there(before) and event.type == "restored":
        # It was not forgotten but had expired, as it does again.
        return _Inverse("revised", data)
    return _Inverse(INVERSE_TYPES[event.type], data)


def _state_at(events: list[Event], version: int) -> Replay:
    return Replay.of(event for event in events if event.version <= version)


def _is_there(state: Replay) -> bool:
    """Whether there is a link, or an item that is not forgotten."""
    if isinstance(state.row, Item):
        return not state.row.forgotten
    return state.row is not None


def _restored_fields(old: dict[str, Json], changed: list[str]) -> dict[str, Json]:
    """The data of an event that gives the changed fields their old values."""
    data: dict[str, Json] = {}
    attributes: dict[str, Json] = {}
    dropped: list[Json] = []
    for name in changed:
        if name in REVISABLE_FIELDS:
            data[name] = old[name]
        elif name.startswith(ATTRIBUTE_PREFIX):
            attribute = name.removeprefix(ATTRIBUTE_PREFIX)
            if name in old:
                attributes[attribute] = old[name]
            else:
                dropped.append(attribute)
    if attributes:
        data["attributes"] = attributes
    if dropped:
        data["dropped"] = dropped
    return data


def _require(still_holds: bool, event: Event) -> None:
    if not still_holds:
        raise NotUndoable(
            "Later events changed the same; undo those first.", id=event.stream, value=event.seq
        )
