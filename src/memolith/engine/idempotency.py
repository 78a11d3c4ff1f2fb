"""Idempotency keys: a write repeated under its key gives the first outcome again."""

import hashlib
from typing import NamedTuple, cast

from memolith.domain.attributes import exact
from memolith.domain.callers import Caller
from memolith.domain.events import Event
from memolith.domain.fold import Replay
from memolith.domain.items import Item, Written
from memolith.engine.validation import checked_text
from memolith.errors import Conflict, InvalidInput
from memolith.ports.store import Reader

MAX_KEY_LENGTH = 255


class Signature(NamedTuple):
    """Digests of a key and of the request that came with it.

    They are enough to recognise both, and tell nothing of what they hold.
    """

    key: str
    request: str


def sign(key: str | None, *request: object) -> Signature | None:
    """The signature of a request; None where the caller gave no key."""
    if key is None:
        return None
    if not checked_text("idempotency_key", key).strip() or len(key) > MAX_KEY_LENGTH:
        raise InvalidInput("An idempotency key has 1 to 255 characters.", field="idempotency_key")
    return Signature(_digest(key), _digest(exact(request)))


def first_outcome(rows: Reader, caller: Caller, signature: Signature | None) -> Written | None:
    """The outcome of the first write under this key, or None if there was none."""
    if signature is None:
        return None
    event = rows.event_by_key(caller.tenant, caller.user, signature.key)
    if event is None:
        return None
    if event.data.get("request") != signature.request:
        raise Conflict("This idempotency key was used for another write.", field="idempotency_key")
    events = rows.events(caller.tenant, event.stream)
    state = Replay.of(past for past in events if past.version <= event.version)
    assert isinstance(state.row, Item)
    return outcome(event, state.row)._replace(repeated=True)


def outcome(event: Event, item: Item) -> Written:
    """What a caller is told about a write."""
    redactions = cast("dict[str, int]", event.data.get("redactions") or {})
    return Written(item, event.seq, redactions)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
