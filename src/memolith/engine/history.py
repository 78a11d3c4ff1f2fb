"""What happened: the history of an item, its state at a time, and undo."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple, cast

from memolith.domain.attributes import Json, exact
from memolith.domain.blocks import block_data, join_blocks
from memolith.domain.callers import Caller
from memolith.domain.events import Event
from memolith.domain.fold import Replay
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.domain.passages import Block, Passage
from memolith.engine.recording import Recorder
from memolith.engine.validation import when
from memolith.engine.visibility import sees_both_ends, visible
from memolith.errors import InvalidInput, NotFound, NotUndoable
from memolith.ports.store import Reader, Store

_SIMPLE = {
    "remembered": "forgotten",
    "forgotten": "restored",
    "restored": "forgotten",
    "linked": "unlinked",
}
_FIELDS = ("title", "status", "audience", "project", "namespace", "tags", "strength", "attributes")


class Step(NamedTuple):
    """An event of an item's history, and what each field that it changed was before and after it."""

    event: Event
    changes: dict[str, tuple[Json, Json]]


@dataclass(frozen=True)
class History:
    """Reads the log, and undoes events."""

    store: Store
    recorder: Recorder

    def history(self, caller: Caller, id: str, until: str | None = None) -> list[Step]:
        """Every event of the item and of its links, oldest first, with what changed."""
        until = "9999" if until is None else when("as_of", until)
        with self.store.reading(caller.tenant) as rows:
            steps = _steps(caller, _events(rows, caller, id))
            for stream in rows.link_streams(caller.tenant, id):
                if _seen(rows, caller, events := rows.events(caller.tenant, stream)):
                    steps += _steps(caller, events)
        return sorted(
            (step for step in steps if step.event.at <= until), key=lambda step: step.event.seq
        )

    def as_of(self, caller: Caller, id: str, at: str) -> tuple[Item, list[Block]]:
        at = when("as_of", at)
        with self.store.reading(caller.tenant) as rows:
            found = items_as_of(rows, caller, [id], at)
        if id not in found:
            raise NotFound(
                f"There was no item {id[:100]!r} for you at {at}, or it was erased since.", id=id
            )
        return found[id][0], join_blocks(found[id][1])

    def events(self, caller: Caller, id: str) -> list[Event]:
        """Every event of an item that the caller may see, oldest first."""
        with self.store.reading(caller.tenant) as rows:
            return _events(rows, caller, id)

    def last(self, caller: Caller, id: str) -> Event:
        with self.store.reading(caller.tenant) as rows:
            return next(
                event for event in reversed(_events(rows, caller, id)) if event.type != "appraised"
            )

    def undo(self, caller: Caller, seq: int) -> Event:
        """Take one event back by a new one; refused where later events touched the same."""
        tenant = caller.tenant
        with self.store.writing(tenant) as rows:
            event = rows.event_by_seq(tenant, seq)
            events = rows.events(tenant, event.stream) if event else []
            if (
                events
                and events[-1].type == "erased"
                and caller.user in (events[0].actor, events[-1].actor)
            ):
                raise NotUndoable("What was erased cannot come back.", id=events[0].stream)
            if event is None or not _seen(rows, caller, events):
                # Whose event it is is nobody else's business.
                raise NotFound(f"There is no event {seq}.", field="event", id=str(seq))
            type, data = _inverse(events, event)
            if type == "linked":
                source, target, link_type = (
                    cast(str, data[name]) for name in ("source", "target", "type")
                )
                _must(rows.link_between(tenant, source, target, link_type) is None, event)
            row = rows.link_by_id(tenant, event.stream) or rows.item(tenant, event.stream)
            try:
                return self.recorder.tell(
                    rows, caller, event.stream, type, data | {"undoes": seq}, row
                )
            except InvalidInput as error:
                raise NotUndoable(
                    f"Without this event: {error.message}", id=event.stream
                ) from error


def items_as_of(
    rows: Reader, caller: Caller, ids: Collection[str], at: str
) -> dict[str, tuple[Item, list[Passage]]]:
    """Those of the items that the caller sees and saw at that time, as they were."""
    now = [id for id, item in rows.items(caller.tenant, ids).items() if item.admits(caller)]
    states = {id: Replay.of(rows.events(caller.tenant, id), at) for id in sorted(now)}
    return {
        id: (state.row, state.passages)
        for id, state in states.items()
        if isinstance(state.row, Item) and state.row.admits(caller)
    }


def _events(rows: Reader, caller: Caller, id: str) -> list[Event]:
    """The log of an item that the caller may see, forgotten and erased ones included."""
    events = rows.events(caller.tenant, id)
    if not (
        events and events[-1].type == "erased" and (caller.admin or caller.user == events[0].actor)
    ):
        visible(rows, caller, id, forgotten=True)
    return events


def _seen(rows: Reader, caller: Caller, events: list[Event]) -> bool:
    """Whether the caller may see the item, or both ends of the link, that these events made."""
    made = None if events[-1].type == "erased" else Replay.of(events[:1]).row
    if isinstance(made, Link):
        return sees_both_ends(rows, caller, made)
    item = rows.item(caller.tenant, events[0].stream)
    return item is not None and item.admits(caller)


def _steps(caller: Caller, events: list[Event]) -> list[Step]:
    """The events with what they changed, as far as the caller could see the item at the time."""
    if events[-1].type == "erased":
        return [Step(event, {}) for event in events]
    state, steps, before = Replay(), list[Step](), dict[str, Json]()
    for event in events:
        state.apply(event)
        seen = not isinstance(state.row, Item) or state.row.admits(caller)
        after = picture(state) if seen else {}
        if seen:
            steps.append(
                Step(
                    event,
                    {name: (before.get(name), after.get(name)) for name in _changed(before, after)},
                )
            )
        before = after
    return steps


def _changed(before: dict[str, Json], after: dict[str, Json]) -> list[str]:
    """The names whose value differs; to be absent and to be null are two things."""
    return [
        name
        for name in sorted(before.keys() | after.keys())
        if (name in before) != (name in after) or exact(before.get(name)) != exact(after.get(name))
    ]


def picture(state: Replay) -> dict[str, Json]:
    """Everything about an item or a link that a change can be told by."""
    if (row := state.row) is None:
        return {}
    if isinstance(row, Link):
        return {
            "source": row.source,
            "target": row.target,
            "type": row.type,
            "strength": row.strength,
            "attributes": dict(row.attributes),
        }
    blocks = join_blocks(state.passages)
    # The text of an item as a person thinks of it: messages, one text, or parts.
    texts: dict[str, Json] = {
        "messages" if row.kind == "conversation" else "parts": [
            block_data(block) for block in blocks
        ]
    }
    if (
        row.kind != "conversation"
        and len(blocks) == 1
        and set(block_data(blocks[0])) == {"text", "at"}
    ):
        texts = {"text": blocks[0].text, "at": blocks[0].at}
    # A computed certainty follows from the rest; undo brings the rest back.
    hidden = (
        ()
        if row.attributes.get("certainty_source") == "given"
        else ("certainty_score", "certainty_source")
    )
    return {
        "kind": row.kind,
        "title": row.title,
        "status": row.status,
        "forgotten": row.forgotten,
        "owner": row.owner,
        "audience": row.audience.value,
        "project": row.project,
        "namespace": row.namespace,
        "tags": list(row.tags),
        **{
            f"attributes.{name}": value
            for name, value in row.attributes.items()
            if name not in hidden
        },
        **texts,
    }


def _inverse(events: list[Event], event: Event) -> tuple[str, dict[str, Json]]:
    """The event that takes this one back, if what it did still stands."""
    before, after, now = (
        Replay.of(past for past in events if past.version <= version)
        for version in (event.version - 1, event.version, events[-1].version)
    )
    if event.type in _SIMPLE:
        still, then = (
            bool(row) and not (isinstance(row, Item) and row.forgotten)
            for row in (now.row, after.row)
        )
        _must(still == then, event)
        return _SIMPLE[event.type], {}
    if event.type == "unlinked":
        _must(now.row is None, event)
        cut = cast(Link, before.row)
        return "linked", picture(before) | {"first": cut.seq, "created_at": cut.created_at}
    _must(now.row is not None, event)
    if event.type == "appraised":
        raise NotUndoable(
            "What is computed cannot be undone; it follows from the rest.", id=event.stream
        )
    old, new = picture(before), picture(after)
    changed = _changed(old, new)
    _must(not set(changed) & set(_changed(picture(now), new)), event)
    data: dict[str, Json] = {name: old[name] for name in changed if name in _FIELDS}
    if {"text", "at", "parts", "messages"} & set(changed):
        data["blocks"] = [block_data(block) for block in join_blocks(before.passages)]
    names = [name for name in changed if name.startswith("attributes.")]
    if back := {name.removeprefix("attributes."): old[name] for name in names if name in old}:
        data["attributes"] = back
    if gone := [name.removeprefix("attributes.") for name in names if name not in old]:
        data["dropped"] = list(gone)
    return "relinked" if event.type == "relinked" else "revised", data


def _must(holds: bool, event: Event) -> None:
    if not holds:
        raise NotUndoable(
            "Later events changed the same; undo those first.", id=event.stream, value=event.seq
        )
