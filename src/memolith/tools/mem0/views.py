"""Memories as mem0 shows them, and what it calls a scope: a user, an agent, an app or a run."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import cast, get_args

from memolith.domain.attributes import Json
from memolith.domain.clock import DAY_S, shifted
from memolith.domain.items import Item
from memolith.domain.passages import Block
from memolith.engine.validation import when
from memolith.errors import InvalidInput, NotFound
from memolith.tools.call import Call
from memolith.tools.mem0.models import MemoryBody, Scope

SCOPES: tuple[str, ...] = get_args(Scope)
AUTHOR = "author"
EXPIRES_AT = "expires_at"
OWN_NAMES = (*SCOPES, AUTHOR, EXPIRES_AT, "source_id", "source_digest", "imported_at")
"""Attributes that are no metadata of the client."""


def scope_attributes(scopes: Mapping[str, str | None]) -> dict[str, Json]:
    """The attributes that say whose memory it is, as an import from mem0 makes them."""
    given: dict[str, Json] = {name: value for name, value in scopes.items() if value}
    if not given:
        raise InvalidInput(
            f"Say whose memories these are: give one of {', '.join(SCOPES)}.", field="user_id"
        )
    given[AUTHOR] = next(iter(given.values()))
    return given


def checked_metadata(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """The metadata, if it takes no name that means something here."""
    for name in metadata:
        if name in OWN_NAMES:
            raise InvalidInput(
                f"Metadata cannot be called {name!r} here; choose another name.", field="metadata"
            )
    return dict(metadata)


def expiry_of(expiration_date: str) -> str:
    """The end of a day, which is when a memory expires."""
    return shifted(when("expiration_date", expiration_date), DAY_S)


def find_memory(call: Call, id: str) -> tuple[Item, list[Block]]:
    """A memory and its text."""
    item, blocks = call.engine.reading.read(call.caller, id)
    if item.kind != "memory":
        raise NotFound("Memory not found!", field="memory_id", id=id)
    return item, blocks


def text_of(blocks: Sequence[Block]) -> str:
    return "\n".join(block.text for block in blocks)


def memory_body(item: Item, text: str, fields: Sequence[str] | None = None) -> MemoryBody:
    """A memory with all that mem0 tells of it, or with the fields that were asked for."""
    metadata = {name: value for name, value in item.attributes.items() if name not in OWN_NAMES}
    expires_at = item.attributes.get(EXPIRES_AT)
    scopes = {name: cast("str | None", item.attributes.get(name)) for name in SCOPES}
    body: MemoryBody = {
        "id": item.id,
        "memory": text,
        # What mem0 makes of a text; it protects nothing.
        "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
        "user_id": scopes["user_id"],
        "agent_id": scopes["agent_id"],
        "app_id": scopes["app_id"],
        "run_id": scopes["run_id"],
        "session_id": scopes["run_id"],
        "metadata": metadata,
        "categories": list(item.tags),
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "expiration_date": shifted(str(expires_at), -DAY_S)[:10] if expires_at else None,
    }
    if fields is None:
        return body
    chosen = {name: value for name, value in body.items() if name in fields or name == "id"}
    return cast(MemoryBody, chosen)
