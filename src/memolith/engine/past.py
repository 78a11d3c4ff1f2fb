"""What happened: the history of an item, its state at a time, and undo."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import cast

from memolith.engine.events import LINK_EVENTS, Event, Replay, block_data, blocks_of, join_blocks
from memolith.engine.intake import when
from memolith.engine.model import Block, Caller, Item, Json, Link
from memolith.engine.ports import Reader
from memolith.engine.verbs import Verbs, sees_both, visible
from memolith.errors import NotFound, NotUndoable

_BOOKKEEPING = ("version", "seq", "created_at", "updated_at", "passages", "blocks", "id")


@dataclass(frozen=True, slots=True)
class Change:
    """One field of an item before and after an event."""

    field: str
    old: Json
    new: Json


@dataclass(frozen=True, slots=True)
class Step:
    """An event of an item's history and what it changed."""

    event: Event
    changes: tuple[Change, ...]


class Past:
    """Reads the log, and undoes."""

    def __init__(self, engine: Verbs) -> None:
        self._engine = engine

    def history(self, caller: Caller, id: str, until: str | None = None) -> list[Step]:
        """Every event of the item and of its links, oldest first, with what changed."""
        until = None if until is None else when("as_of", until)
        with self._engine.store.reading(caller.tenant) as rows:
            _allowed(rows, caller, id)
            steps = _steps(caller, rows.events(caller.tenant, id))
            for stream in rows.link_streams(caller.tenant, id):
                events = rows.events(caller.tenant, stream)
                if events[-1].type != "erased" and sees_both(rows, caller, _link_of(events)):
                    steps += _steps(caller, events)
        kept = [step for step in steps if until is None or step.event.at <= until]
        return sorted(kept, key=lambda step: step.event.seq)

    def as_of(self, caller: Caller, id: str, at: str) -> tuple[Item, list[Block]]:
        """The item and its blocks as they were at that time."""
        at = when("as_of", at)
        with self._engine.store.reading(caller.tenant) as rows:
            _allowed(rows, caller, id)
            events = rows.events(caller.tenant, id)
        if events[-1].type == "erased":
            raise NotFound("This item was erased; its past is gone too.", id=id)
        state = Replay.until(events, at)
        if not isinstance(state.row, Item) or not state.row.scope.admits(caller):
            raise NotFound(f"At {at} this item was not there for you.", id=id)
        return state.row, join_blocks(state.passages)

    def undo(self, caller: Caller, seq: int) -> Event:
        """Take one event back by a new one; refused where later events touched the same."""
        with self._engine.store.reading(caller.tenant) as rows:
            event = rows.event(caller.tenant, seq)
            if event is None:
                raise NotFound(f"There is no event {seq}.", field="event", id=str(seq))
            events = rows.events(caller.tenant, event.stream)
            if events[-1].type == "erased" and caller.user in (events[0].actor, events[-1].actor):
                raise NotUndoable("What was erased cannot come back.", id=event.stream)
            if event.type not in LINK_EVENTS:
                try:
                    _allowed(rows, caller, event.stream)
                except NotFound:
                    # Whose event it is is nobody else's business.
                    raise NotFound(f"There is no event {seq}.", field="event", id=str(seq)) from None
            elif events[-1].type == "erased" or not sees_both(rows, caller, _link_of(events)):
                raise NotFound(f"There is no event {seq}.", field="event", id=str(seq))
        type, data = _inverse(events, event)
        row = _finder(caller, event)
        undone, _ = self._engine.write(caller, event.stream, type, data | {"undoes": seq}, row, events[-1].version)
        return undone

    def last(self, caller: Caller, id: str) -> Event:
        """The newest event of an item."""
        with self._engine.store.reading(caller.tenant) as rows:
            _allowed(rows, caller, id)
            return next(event for event in reversed(rows.events(caller.tenant, id)) if event.type != "appraised")


def _finder(caller: Caller, event: Event) -> Callable[[Reader], Item | Link | None]:
    def link(rows: Reader) -> Link | None:
        made = _link_of(rows.events(caller.tenant, event.stream))
        other = rows.link_between(caller.tenant, made.source, made.target, made.type)
        _must(other is None or other.id == event.stream, event)
        return rows.link(caller.tenant, event.stream)

    if event.type in LINK_EVENTS:
        return link
    return lambda rows: visible(rows, caller, event.stream, forgotten=True)


def _allowed(rows: Reader, caller: Caller, id: str) -> None:
    """The item may be forgotten or erased, but it must be one that the caller may see."""
    events = [] if rows.item(caller.tenant, id) else rows.events(caller.tenant, id)
    erased = events and events[-1].type == "erased" and (caller.admin or caller.user == events[0].actor)
    if not erased:
        visible(rows, caller, id, forgotten=True)


def _steps(caller: Caller, events: list[Event]) -> list[Step]:
    """The events with what they changed, as far as the caller could see the item at the time."""
    if events[-1].type == "erased":
        return [Step(event, ()) for event in events]
    state, steps = Replay(), []
    before: dict[str, Json] = {}
    for event in events:
        state.apply(event)
        seen = not isinstance(state.row, Item) or state.row.scope.admits(caller)
        after = picture(state) if seen else {}
        if seen:
            steps.append(Step(event, tuple(Change(name, before.get(name), after.get(name))
                                           for name in _changed(before, after))))
        before = after
    return steps


def _changed(before: dict[str, Json], after: dict[str, Json]) -> list[str]:
    """The names whose value differs; to be absent and to be null are two things."""
    return [name for name in sorted(before.keys() | after.keys())
            if (name in before) != (name in after) or json.dumps(before.get(name)) != json.dumps(after.get(name))]


def picture(state: Replay) -> dict[str, Json]:
    """Everything about an item or a link that a change can be told by."""
    row = state.row
    if row is None:
        return {}
    if isinstance(row, Link):
        return {"source": row.source, "target": row.target, "type": row.type, "strength": row.strength,
                "attributes": dict(row.attributes)}
    shown: dict[str, Json] = {field.name: getattr(row, field.name) for field in fields(row)
                              if field.name not in (*_BOOKKEEPING, "scope", "tags", "attributes")}
    scope = row.scope
    shown |= {"owner": scope.owner, "audience": scope.audience.value, "project": scope.project,
              "namespace": scope.namespace, "tags": list(row.tags)}
    # A computed certainty follows from the rest; undo brings the rest back.
    hidden = () if row.attributes.get("certainty_source") == "given" else ("certainty_score", "certainty_source")
    shown |= {f"attributes.{name}": value for name, value in row.attributes.items() if name not in hidden}
    return shown | _texts(row.kind, join_blocks(state.passages))


def _texts(kind: str, blocks: list[Block]) -> dict[str, Json]:
    """The text of an item as a person thinks of it: one text, messages, or parts."""
    listed: list[Json] = [block_data(block) for block in blocks]
    if kind == "conversation":
        return {"messages": listed}
    if len(blocks) == 1 and set(block_data(blocks[0])) == {"text", "at"}:
        return {"text": blocks[0].text, "at": blocks[0].at}
    return {"parts": listed}


def _inverse(events: list[Event], event: Event) -> tuple[str, dict[str, Json]]:
    """The event that takes this one back, if what it did still stands."""
    simple = {"remembered": "forgotten", "forgotten": "restored", "restored": "forgotten", "linked": "unlinked"}
    before, after, now = (Replay.of(past for past in events if past.version <= version)
                          for version in (event.version - 1, event.version, events[-1].version))
    if event.type in simple:
        _must(_alive(now) == _alive(after), event)
        return simple[event.type], {}
    if event.type == "unlinked":
        _must(now.row is None, event)
        cut = cast(Link, before.row)
        return "linked", picture(before) | {"first": cut.seq, "created_at": cut.created_at}
    _must(now.row is not None, event)
    if event.type == "appraised":
        raise NotUndoable("What is computed cannot be undone; it follows from the rest.", id=event.stream)
    if event.type == "relinked":
        _must(picture(now) == picture(after), event)
        link = cast(Link, before.row)
        return "relinked", {"strength": link.strength, "attributes": dict(link.attributes)}
    if event.type in ("appended", "trimmed"):
        return _inverse_blocks(event, before, after, now)
    return "revised", _inverse_fields(event, before, after, now)


def _alive(state: Replay) -> bool:
    return state.row is not None and not (isinstance(state.row, Item) and state.row.forgotten)


def _inverse_blocks(event: Event, before: Replay, after: Replay, now: Replay) -> tuple[str, dict[str, Json]]:
    _must(now.passages == after.passages, event)
    item = cast(Item, before.row)
    if event.type == "appended":
        return "trimmed", {"blocks": item.blocks, "passages": item.passages if item.blocks else 0}
    kept = cast(Item, after.row).blocks
    blocks = join_blocks(before.passages)[kept:]
    return "appended", {"blocks": [block_data(block) for block in blocks]}


def _inverse_fields(event: Event, before: Replay, after: Replay, now: Replay) -> dict[str, Json]:
    old, new, current = picture(before), picture(after), picture(now)
    changed = _changed(old, new)
    _must(not set(changed) & set(_changed(current, new)), event)
    data: dict[str, Json] = {name: old.get(name) for name in changed
                             if name in ("title", "status", "audience", "project", "namespace", "tags")}
    if {"text", "at", "parts", "messages"} & set(changed):
        data["blocks"] = [block_data(block) for block in join_blocks(before.passages)]
    names = [name.removeprefix("attributes.") for name in changed if name.startswith("attributes.")]
    back = {name: old[f"attributes.{name}"] for name in names if f"attributes.{name}" in old}
    if back:
        data["attributes"] = back
    if gone := [name for name in names if name not in back]:
        data["dropped"] = list(gone)
    _must_stay_valid(data, cast(Item, now.row), join_blocks(now.passages), event)
    return data


def _must_stay_valid(data: dict[str, Json], item: Item, blocks: list[Block], event: Event) -> None:
    """Refuse to leave an item that no verb would have made."""
    left = blocks_of(data) if "blocks" in data else blocks
    if not data.get("title", item.title) and not any(block.text.strip() for block in left):
        raise NotUndoable("Without this the item would have neither title nor text.", id=event.stream)
    if data.get("audience", item.scope.audience) == "project" and not data.get("project", item.scope.project):
        raise NotUndoable("Without this the item would be for a project, but for none.", id=event.stream)


def _link_of(events: list[Event]) -> Link:
    """The link of a stream as it was made."""
    made = Replay.of(events[:1]).row
    if not isinstance(made, Link):
        raise NotUndoable("What was erased cannot come back.", id=events[0].stream)
    return made


def _must(holds: bool, event: Event) -> None:
    if not holds:
        raise NotUndoable("Later events changed the same; undo those first.", id=event.stream, value=event.seq)
