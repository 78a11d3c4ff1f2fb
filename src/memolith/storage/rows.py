"""Database rows to the engine's values and back: the columns of a table stand in the order of the fields."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

from memolith.engine.events import Event
from memolith.engine.model import NO_ATTRIBUTES, Audience, Item, Link, Passage, Scope
from memolith.engine.ports import ClientKey, Job
from memolith.errors import StoreCorrupt
from memolith.storage.queries import Parameters

Row = tuple[Any, ...]
PLAIN = {str, int, float, type(None)}


def columns(one: Event | Item | Scope | Passage | Link | ClientKey | Job) -> Parameters:
    """The fields of a value, what has parts as JSON with sorted keys, so that equal values are equal bytes."""
    made: Parameters = {}
    for name in one.__match_args__:
        value = getattr(one, name)
        if type(value) in PLAIN:
            made[name] = value
        elif isinstance(value, Scope):
            made |= columns(value)
        elif isinstance(value, bool | StrEnum):
            made[name] = value.value if isinstance(value, StrEnum) else int(value)
        else:
            made[name] = json.dumps(value if isinstance(value, tuple) else dict(value), ensure_ascii=False,
                                    sort_keys=True, separators=(",", ":"))
    return made


def event_from(row: Row) -> Event:
    """An event from `select *`."""
    try:
        return Event(*(*row[:5], json.loads(row[5]), *row[6:9]))
    except ValueError as error:
        raise StoreCorrupt(f"Event {row[1]} of {row[2]} cannot be read.") from error


def item_from(row: Row) -> Item:
    """An item from `select *`."""
    (_, tenant, id_, kind, title, status, owner, audience, project, namespace, tags, attributes, version, seq, created,
     updated, blocks, passages, forgotten) = row[:19]
    try:
        scope = Scope(tenant, owner, Audience(audience), project, namespace)
        labels, parsed = json.loads(f"[{tags},{attributes}]")
    except ValueError as error:
        raise StoreCorrupt(f"The row of item {id_} cannot be read; `memolith rebuild` makes it anew.") from error
    return Item(id_, kind, title, scope, status, tuple(labels), parsed, version, seq, created, updated, blocks,
                passages, bool(forgotten))


def passage_from(row: Row, item: str) -> Passage:
    """A passage from the columns of its table."""
    return Passage(item, *(*row[3:9], json.loads(row[9]) if row[9] else NO_ATTRIBUTES))


def link_from(row: Row) -> Link:
    """A link from `select *`."""
    return Link(*(*row[1:6], json.loads(row[6]), *row[7:11]))


def key_from(row: Row) -> ClientKey:
    """A client key from `select *`."""
    return ClientKey(*(*row[:5], tuple(json.loads(row[5])), *row[6:9], bool(row[9])))
