"""How a write is known again: idempotency keys, and what an event tells beside its change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import cast

from memolith.engine.events import Event
from memolith.engine.intake import Intake, plain
from memolith.engine.model import Json
from memolith.errors import InvalidInput


def redactions_of(event: Event) -> dict[str, int]:
    """What was redacted from the text of an event, by kind."""
    return dict(cast("dict[str, int]", event.data.get("redactions") or {}))


def digested(key: str | None) -> str | None:
    """What is kept of an idempotency key: enough to know it again, and nothing that it may hold."""
    if key is None:
        return None
    if not plain("idempotency_key", key).strip() or len(key) > 255:
        raise InvalidInput("An idempotency key has 1 to 255 characters.", field="idempotency_key")
    return hashlib.sha256(key.encode()).hexdigest()


def request_digest(key: str | None, *parts: object) -> str:
    """A digest by which a repeated write is told from another one under the same key."""
    if key is None:
        return ""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=_parts).encode()).hexdigest()


def _parts(value: object) -> object:
    """The fields of a value or the entries of a mapping."""
    if isinstance(value, Mapping):
        return dict(value)
    return {name: getattr(value, name) for name in getattr(value, "__dataclass_fields__", {})}


def notes(intake: Intake, request: str = "") -> dict[str, Json]:
    """What an event says beside the change itself."""
    said: dict[str, Json] = {"redactions": dict(intake.redactions), "request": request}
    return {name: value for name, value in said.items() if value}
