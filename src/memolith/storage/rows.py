"""Values of the engine from rows of the database, and back.

A row is a named tuple, whose fields are the columns that the statement names. Where there are
many rows, a `RowShape` says which columns a statement must have, and what is made of them.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from memolith.domain.attributes import NO_ATTRIBUTES, Json
from memolith.domain.callers import Audience
from memolith.domain.events import Event, EventHead
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.domain.passages import Passage, PassageRef
from memolith.errors import StoreCorrupt
from memolith.ports.answers import KeptAnswer
from memolith.ports.client_keys import ClientKey
from memolith.ports.items import DuplicateMark, SupersededMark
from memolith.ports.links import NodeItem, Step
from memolith.ports.text_index import Candidate
from memolith.ports.usage import ClientCalls, ItemRead, TitledRead

Value = TypeVar("Value")

Columns = tuple[Any, ...]
"""The columns of a row in the order of the statement, whose types no driver knows."""

Row = Any
"""A named tuple with the columns of a statement, whose types no driver knows."""

PROJECT_PREFIX = "project:"
"""Begins an entry among the scopes of a client key that names a project it is bound to."""

STORED_KEY_FIELDS = tuple(name for name in ClientKey._fields if name != "projects")
"""The columns of a client key. Its projects are kept among its scopes."""

Parameter = str | int | float | bytes | None
Parameters = dict[str, Parameter]

_AUDIENCES = {audience.value: audience for audience in Audience}
_decode_beginning = json.JSONDecoder().raw_decode
# Kept, because `json.dumps` makes a new encoder at every call, which takes half as long again.
_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode

# The attributes of a passage have another name than those of its item.
_PASSAGE_COLUMNS = (*Passage._fields[:-1], "passage_attributes")
_FIRST_ITEM_COLUMN = len(("ref", *_PASSAGE_COLUMNS))
"""Where the columns of the item begin in a row that holds a passage and its item."""

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


class StoredPassage(NamedTuple):
    """A passage as its row has it, without the id of its item."""

    ref: PassageRef
    item_row: int
    ordinal: int
    block: int
    text: str
    at: str
    speaker: str | None
    locator: str | None
    passage_attributes: str | None

    def passage_of(self, item_id: str) -> Passage:
        """The passage, given the id of the item that it belongs to."""
        _ref, _item_row, *columns = self
        return _passage_from((item_id, *columns))


@dataclass(frozen=True, slots=True)
class RowShape(Generic[Value]):
    """What the rows of a statement become: its columns, in order, and the value made of them."""

    columns: tuple[str, ...]
    make: Callable[[Columns], Value]


def item_from(columns: Columns) -> Item:
    """The item whose fields are these columns."""
    (
        tenant,
        id,
        kind,
        title,
        status,
        owner,
        audience,
        project,
        namespace,
        tags,
        attributes,
        version,
        seq,
        created_at,
        updated_at,
        blocks,
        passages,
        forgotten,
    ) = columns
    try:
        return Item(
            tenant,
            id,
            kind,
            title,
            status,
            owner,
            _AUDIENCES[audience],
            project,
            namespace,
            tuple(decoded(tags)),
            decoded(attributes),
            version,
            seq,
            created_at,
            updated_at,
            blocks,
            passages,
            bool(forgotten),
        )
    except (KeyError, ValueError) as error:
        raise StoreCorrupt(
            f"The row of item {id} cannot be read; `memolith rebuild` makes it anew."
        ) from error


def _numbered_item_from(columns: Columns) -> tuple[int, Item]:
    return columns[0], item_from(columns[1:])


def _passage_from(columns: Columns) -> Passage:
    item, ordinal, block, text, at, speaker, locator, attributes_text = columns
    attributes = NO_ATTRIBUTES
    if attributes_text:
        attributes = decoded(attributes_text)
    return Passage(item, ordinal, block, text, at, speaker, locator, attributes)


def _passage_with_ref_from(columns: Columns) -> tuple[PassageRef, Passage]:
    return columns[0], _passage_from(columns[1:])


def _passage_with_item_from(columns: Columns) -> tuple[PassageRef, Passage, Columns]:
    passage = _passage_from(columns[1:_FIRST_ITEM_COLUMN])
    return columns[0], passage, columns[_FIRST_ITEM_COLUMN:]


def _link_from(columns: Columns) -> Link:
    id, source, target, type, strength, attributes, version, seq, created_at, updated_at = columns
    return Link(
        id,
        source,
        target,
        type,
        strength,
        decoded(attributes),
        version,
        seq,
        created_at,
        updated_at,
    )


def _event_from(columns: Columns) -> Event:
    tenant, seq, stream, version, type, data_text, actor, at, key = columns
    try:
        data = decoded(data_text)
    except ValueError as error:
        raise StoreCorrupt(f"Event {seq} of {stream} cannot be read.") from error
    return Event(tenant, seq, stream, version, type, data, actor, at, key)


def _event_head_from(columns: Columns) -> EventHead:
    seq, stream, version, type, actor, at, is_undo = columns
    return EventHead(seq, stream, version, type, actor, at, bool(is_undo))


def _answer_from(columns: Columns) -> KeptAnswer:
    actor, key, request, body, sealed, at = columns
    return KeptAnswer(actor, key, request, body, bool(sealed), at)


def _client_key_from(columns: Columns) -> ClientKey:
    (
        id,
        digest,
        name,
        tenant,
        user,
        scopes,
        created_at,
        expires_at,
        last_used,
        revoked,
        paused,
    ) = columns
    names: list[str] = decoded(scopes)
    return ClientKey(
        id,
        digest,
        name,
        tenant,
        user,
        tuple(name for name in names if not name.startswith(PROJECT_PREFIX)),
        created_at,
        expires_at,
        last_used,
        bool(revoked),
        bool(paused),
        tuple(
            name.removeprefix(PROJECT_PREFIX) for name in names if name.startswith(PROJECT_PREFIX)
        ),
    )


HEAD = RowShape(Head._fields, Head._make)
SUPERSEDED_MARK = RowShape(SupersededMark._fields, SupersededMark._make)
DUPLICATE_MARK = RowShape(DuplicateMark._fields, DuplicateMark._make)
EVENT = RowShape(Event._fields, _event_from)
EVENT_HEAD = RowShape(EventHead._fields, _event_head_from)
ITEM = RowShape(Item._fields, item_from)
NUMBERED_ITEM = RowShape(("row", *Item._fields), _numbered_item_from)
"""An item after the number of its row."""
PASSAGE = RowShape(("ref", *_PASSAGE_COLUMNS), _passage_with_ref_from)
"""A passage after its reference."""
PASSAGE_WITH_ITEM = RowShape(("ref", *_PASSAGE_COLUMNS, *Item._fields), _passage_with_item_from)
"""The reference, the passage, and the columns of its item for `item_from`.

Several passages may have the same item, which is made once.
"""
STORED_PASSAGE = RowShape(StoredPassage._fields, StoredPassage._make)
LINK = RowShape(Link._fields, _link_from)
LINK_ENDS: RowShape[tuple[str, str, str]] = RowShape(("source", "target", "type"), tuple)
"""A plain triple, because a graph may have hundreds of thousands of them."""
LINK_COUNT: RowShape[tuple[str, int]] = RowShape(("id", "links"), tuple)
"""A plain pair for the same reason."""
NODE_ITEM = RowShape(NodeItem._fields, NodeItem._make)
STEP = RowShape(Step._fields, Step._make)
CLIENT_KEY = RowShape(STORED_KEY_FIELDS, _client_key_from)
ANSWER = RowShape(KeptAnswer._fields, _answer_from)
ITEM_READ = RowShape(ItemRead._fields, ItemRead._make)
TITLED_READ = RowShape(TitledRead._fields, TitledRead._make)
CLIENT_CALLS = RowShape(ClientCalls._fields, ClientCalls._make)
CANDIDATE: RowShape[Candidate] = RowShape(("ref", "score"), tuple)
"""A plain pair, because a search may have thousands of them."""


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


def answer_columns(answer: KeptAnswer) -> Parameters:
    return {
        "actor": answer.actor,
        "key": answer.key,
        "request": answer.request,
        "body": answer.body,
        "sealed": int(answer.sealed),
        "at": answer.at,
    }


def client_key_columns(key: ClientKey) -> Parameters:
    return {
        "id": key.id,
        "digest": key.digest,
        "name": key.name,
        "tenant": key.tenant,
        "user": key.user,
        "scopes": json_text([*key.scopes, *(PROJECT_PREFIX + name for name in key.projects)]),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "last_used": key.last_used,
        "revoked": int(key.revoked),
        "paused": int(key.paused),
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
    # Most items have no tags and no attributes.
    if value == {}:
        return "{}"
    if value == ():
        return "[]"
    return _encode(value)
