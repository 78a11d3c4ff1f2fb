"""Values of the engine from rows of the database, and back.

A row is a named tuple: its fields are the columns that the statement names.
"""

import json
from typing import Any, NamedTuple, Protocol

from memolith.domain.attributes import NO_ATTRIBUTES, Json
from memolith.domain.callers import Audience
from memolith.domain.events import Event
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.domain.passages import Passage, PassageRef
from memolith.errors import StoreCorrupt
from memolith.ports.client_keys import ClientKey

Row = Any
"""A named tuple with the columns of a statement, whose types no driver knows."""

Parameter = str | int | float | bytes | None
Parameters = dict[str, Parameter]

_AUDIENCES = {audience.value: audience for audience in Audience}
_decode_beginning = json.JSONDecoder().raw_decode

MAX_SQL_INTEGER = 2**63
"""No integer column of either database holds a number as large as this."""


class Head(NamedTuple):
    """Where the log of a tenant stands, and the totals that ranking needs."""

    number: int
    """The number of the tenant, from which its index terms are made."""
    seq: int
    passages: int
    terms: int
    at: str


class ItemRow(Protocol):
    """The columns of an item."""

    tenant: str
    id: str
    kind: str
    title: str
    status: str
    owner: str
    audience: str
    project: str | None
    namespace: str | None
    tags: str
    attributes: str
    version: int
    seq: int
    created_at: str
    updated_at: str
    blocks: int
    passages: int
    forgotten: int


class PassageRow(Protocol):
    """The columns of a passage; its attributes have another name than those of its item."""

    ref: PassageRef
    item: int
    ordinal: int
    block: int
    text: str
    at: str
    speaker: str | None
    locator: str | None
    passage_attributes: str | None


class LinkRow(Protocol):
    """The columns of a link."""

    id: str
    source: str
    target: str
    type: str
    strength: float
    attributes: str
    version: int
    seq: int
    created_at: str
    updated_at: str


class EventRow(Protocol):
    """The columns of an event."""

    tenant: str
    seq: int
    stream: str
    version: int
    type: str
    data: str
    actor: str
    at: str
    key: str | None


class ClientKeyRow(Protocol):
    """The columns of a client key."""

    id: str
    digest: str
    name: str
    tenant: str
    user: str
    scopes: str
    created_at: str
    expires_at: str | None
    last_used: str | None
    revoked: int


def head_from_row(row: Row) -> Head:
    return Head(number=row.number, seq=row.seq, passages=row.passages, terms=row.terms, at=row.at)


def item_from_row(row: ItemRow) -> Item:
    try:
        return Item(
            tenant=row.tenant,
            id=row.id,
            kind=row.kind,
            title=row.title,
            status=row.status,
            owner=row.owner,
            audience=_AUDIENCES[row.audience],
            project=row.project,
            namespace=row.namespace,
            tags=tuple(decoded(row.tags)),
            attributes=decoded(row.attributes),
            version=row.version,
            seq=row.seq,
            created_at=row.created_at,
            updated_at=row.updated_at,
            blocks=row.blocks,
            passages=row.passages,
            forgotten=bool(row.forgotten),
        )
    except (KeyError, ValueError) as error:
        raise StoreCorrupt(
            f"The row of item {row.id} cannot be read; `memolith rebuild` makes it anew."
        ) from error


def passage_from_row(row: PassageRow, item_id: str) -> Passage:
    attributes = NO_ATTRIBUTES
    if row.passage_attributes:
        attributes = decoded(row.passage_attributes)
    return Passage(
        item=item_id,
        ordinal=row.ordinal,
        block=row.block,
        text=row.text,
        at=row.at,
        speaker=row.speaker,
        locator=row.locator,
        attributes=attributes,
    )


def link_from_row(row: LinkRow) -> Link:
    return Link(
        id=row.id,
        source=row.source,
        target=row.target,
        type=row.type,
        strength=row.strength,
        attributes=decoded(row.attributes),
        version=row.version,
        seq=row.seq,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def event_from_row(row: EventRow) -> Event:
    try:
        data = decoded(row.data)
    except ValueError as error:
        raise StoreCorrupt(f"Event {row.seq} of {row.stream} cannot be read.") from error
    return Event(
        tenant=row.tenant,
        seq=row.seq,
        stream=row.stream,
        version=row.version,
        type=row.type,
        data=data,
        actor=row.actor,
        at=row.at,
        key=row.key,
    )


def client_key_from_row(row: ClientKeyRow) -> ClientKey:
    return ClientKey(
        id=row.id,
        digest=row.digest,
        name=row.name,
        tenant=row.tenant,
        user=row.user,
        scopes=tuple(decoded(row.scopes)),
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used=row.last_used,
        revoked=bool(row.revoked),
    )


def item_columns(item: Item) -> Parameters:
    return {
        "tenant": item.tenant,
        "id": item.id,
        "kind": item.kind,
        "title": item.title,
        "status": item.status,
        "owner": item.owner,
        "audience": item.audience.value,
        "project": item.project,
        "namespace": item.namespace,
        "tags": json_text(item.tags),
        "attributes": json_text(dict(item.attributes)),
        "version": item.version,
        "seq": item.seq,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "blocks": item.blocks,
        "passages": item.passages,
        "forgotten": int(item.forgotten),
    }


def passage_columns(tenant: str, item_row: int, ref: PassageRef, passage: Passage) -> Parameters:
    attributes = None
    if passage.attributes:
        # Empty attributes take no room.
        attributes = json_text(dict(passage.attributes))
    return {
        "id": ref,
        "tenant": tenant,
        "item": item_row,
        "ordinal": passage.ordinal,
        "block": passage.block,
        "text": passage.text,
        "at": passage.at,
        "speaker": passage.speaker,
        "locator": passage.locator,
        "attributes": attributes,
    }


def link_columns(tenant: str, link: Link) -> Parameters:
    return {
        "tenant": tenant,
        "id": link.id,
        "source": link.source,
        "target": link.target,
        "type": link.type,
        "strength": link.strength,
        "attributes": json_text(dict(link.attributes)),
        "version": link.version,
        "seq": link.seq,
        "created_at": link.created_at,
        "updated_at": link.updated_at,
    }


def event_columns(event: Event) -> Parameters:
    return {
        "tenant": event.tenant,
        "seq": event.seq,
        "stream": event.stream,
        "version": event.version,
        "type": event.type,
        "data": json_text(dict(event.data)),
        "actor": event.actor,
        "at": event.at,
        "key": event.key,
    }


def client_key_columns(key: ClientKey) -> Parameters:
    return {
        "id": key.id,
        "digest": key.digest,
        "name": key.name,
        "tenant": key.tenant,
        "user": key.user,
        "scopes": json_text(key.scopes),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "last_used": key.last_used,
        "revoked": int(key.revoked),
    }


def decoded(text: str) -> Any:
    """The value of a JSON text that `json_text` made.

    It takes half the time of `json.loads`, which also copes with white space around the value.
    """
    value, end = _decode_beginning(text)
    if end != len(text):
        raise ValueError("There is something after the JSON value.")
    return value


def json_text(value: Json | tuple[str, ...]) -> str:
    """JSON with sorted keys, so that equal values are equal bytes."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
