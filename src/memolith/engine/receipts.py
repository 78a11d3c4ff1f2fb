"""How a write is known again when it comes twice under its idempotency key."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from memolith.engine.intake import plain
from memolith.engine.model import exact
from memolith.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Receipt:
    """Digests of a key and of what was asked for: enough to know them again, and nothing that they may hold."""

    key: str | None = None
    request: str = ""

    @classmethod
    def of(cls, key: str | None, *parts: object) -> Receipt:
        """The receipt of a request that consists of these parts; an empty one without a key."""
        if key is None:
            return cls()
        if not plain("idempotency_key", key).strip() or len(key) > 255:
            raise InvalidInput("An idempotency key has 1 to 255 characters.", field="idempotency_key")
        return cls(_digest(key), _digest(exact(parts)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
