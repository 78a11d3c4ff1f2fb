"""Database rows to the engine's values and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import apsw

from memolith.engine.events import Event
from memolith.engine.model import NO_ATTRIBUTES, Audience, Item, Link, Passage, Scope
from memolith.engine.ports import ClientKey
from memolith.errors import StoreCorrupt

Row = tuple[Any, ...]


def value(db: apsw.Connection, sql: str, values: Mapping[str, Any] | None = None) -> Any:
    """The one value that a statement gives."""
    row = db.execute(sql, values).fetchone()
    return row[0] if row else None


def to_json(value: Mapping[str, object] | tuple[str, ...]) -> str:
    """Compact JSON with sorted keys, so that equal values are equal bytes."""
    return json.dumps(value if isinstance(value, tuple) else dict(value), ensure_ascii=False, sort_keys=True,
                      separators=(",", ":"))


def event_from(row: Row) -> Event:
    """An event from `select *`."""
    tenant, seq, stream, version, kind, data, actor, at, key = row[:9]
    try:
        return Event(tenant, seq, stream, version, kind, json.loads(data), actor, at, key)
    except ValueError as error:
        raise StoreCorrupt(f"Event {seq} of {stream} cannot be read.") from error


def item_from(row: Row) -> Item:
    """An item from `select *`."""
    (_, tenant, id_, kind, title, status, owner, audience, project, namespace, tags, attributes, version, seq, created,
     updated, blocks, passages, forgotten) = row[:19]
    try:
        scope = Scope(tenant, owner, Audience(audience), project, namespace)
        labels, fields = json.loads(f"[{tags},{attributes}]")
    except ValueError as error:
        raise StoreCorrupt(f"The row of item {id_} cannot be read; `memolith rebuild` makes it anew.") from error
    return Item(id=id_, kind=kind, title=title, scope=scope,
                status=status, tags=tuple(labels), attributes=fields, version=version,
                seq=seq, created_at=created, updated_at=updated, blocks=blocks, passages=passages,
                forgotten=bool(forgotten))


def item_values(item: Item) -> dict[str, str | int | None]:
    """The parameters of `item_new` and `item_set`."""
    scope = item.scope
    return {"tenant": scope.tenant, "id": item.id, "kind": item.kind, "title": item.title, "status": item.status,
            "owner": scope.owner, "audience": scope.audience.value, "project": scope.project,
            "namespace": scope.namespace, "tags": to_json(item.tags), "attributes": to_json(item.attributes),
            "version": item.version, "seq": item.seq, "created_at": item.created_at, "updated_at": item.updated_at,
            "blocks": item.blocks, "passages": item.passages, "forgotten": int(item.forgotten)}


def passage_from(row: Row, item: str) -> Passage:
    """A passage from the columns of its table."""
    _, _, _, ordinal, block, text, at, speaker, locator, attributes = row[:10]
    return Passage(item=item, ordinal=ordinal, block=block, text=text, at=at, speaker=speaker, locator=locator,
                   attributes=json.loads(attributes) if attributes else NO_ATTRIBUTES)


def passage_values(passage: Passage) -> dict[str, str | int | None]:
    """The parameters of `passage_add` but for tenant and item."""
    return {"ordinal": passage.ordinal, "block": passage.block, "text": passage.text, "at": passage.at,
            "speaker": passage.speaker, "locator": passage.locator,
            "attributes": to_json(passage.attributes) if passage.attributes else None,
            "digest": text_digest(passage.text)}


def text_digest(text: str) -> int:
    """A number that is equal for texts that differ in case and white space only."""
    plain = " ".join(text.casefold().split())
    return int.from_bytes(hashlib.blake2b(plain.encode(), digest_size=8).digest(), "big", signed=True)


def link_from(row: Row) -> Link:
    """A link from `select *`."""
    _, id_, source, target, kind, strength, attributes, version, seq, created, updated = row[:11]
    return Link(id_, source, target, kind, strength, json.loads(attributes), version, seq, created, updated)


def link_values(tenant: str, link: Link) -> dict[str, str | int | float]:
    """The parameters of `link_put`."""
    return {"tenant": tenant, "id": link.id, "source": link.source, "target": link.target, "type": link.type,
            "strength": link.strength, "attributes": to_json(link.attributes), "version": link.version,
            "seq": link.seq, "created_at": link.created_at, "updated_at": link.updated_at}


def key_from(row: Row) -> ClientKey:
    """A client key from `select *`."""
    id_, digest, name, tenant, user, scopes, created, expires, used, revoked = row[:10]
    return ClientKey(id_, digest, name, tenant, user, tuple(json.loads(scopes)), created, expires, used, bool(revoked))
