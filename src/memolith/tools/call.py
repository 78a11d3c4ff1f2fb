"""One call of a tool: who calls, with which rights, and the ways back to the client."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from memolith.domain.callers import Caller
from memolith.engine.engine import Engine
from memolith.engine.idempotency import MAX_KEY_LENGTH
from memolith.errors import InvalidInput

ScopeName = Literal["read", "write", "admin", "run"]
SCOPES: frozenset[str] = frozenset(("read", "write", "admin", "run"))


class InputNeeded(Exception):
    """The client must ask its user first and then repeat the call with the answer.

    The exception carries the question and the JSON schema of the answer.
    """


def ignore(*_: object) -> None:
    """The default for callbacks that nobody listens to."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool: who calls, with which rights, and the ways back to the client."""

    caller: Caller
    engine: Engine
    request_id: str = field(default_factory=lambda: secrets.token_hex(6))
    idempotency_key: str | None = None
    scopes: frozenset[str] = SCOPES
    progress: Callable[[float, float | None, str], None] = ignore
    """Reports progress: `(done, total or None, message)`."""
    cancelled: Callable[[], bool] = lambda: False
    elicit: Callable[[str, dict[str, Any]], Mapping[str, Any] | None] | None = None
    """Asks the user: `(message, schema)` gives what they filled in, or None if they declined.

    None if the client cannot ask. Ask once and before you write, because a client may answer by
    repeating the whole call.
    """
    changed: Callable[[], None] = ignore
    """Call this after a change to the list of prompts."""
    local: bool = False
    """Whether the caller sits at this machine. False for clients over HTTP."""

    @property
    def may_read(self) -> bool:
        """Whether the caller may be told what was stored before this call."""
        return "read" in self.scopes

    def __post_init__(self) -> None:
        # A client may send anything here, whatever the annotation says.
        key: object = self.idempotency_key
        if key is None:
            return
        if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY_LENGTH:
            raise InvalidInput(
                f"An idempotency key has 1 to {MAX_KEY_LENGTH} characters.",
                field="idempotency_key",
            )
