"""One call of a tool: who calls, with which rights, and the ways back to the client."""

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from memolith.domain.callers import SCOPES, Caller
from memolith.engine.engine import Engine
from memolith.engine.idempotency import MAX_KEY_LENGTH
from memolith.engine.stale_reads import StaleReads
from memolith.engine.usage import Client
from memolith.errors import InvalidInput
from memolith.ports.telemetry import TraceContext

ScopeName = Literal["read", "write", "admin", "run"]
PAGE_DOOR = "page"
PAGE_FAMILY = "page"
"""What stands in the place of the family where the web page read an item."""


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
    client: Client | None = None
    """The program that calls and its key; None for the command line."""
    tool: str = ""
    """The tool with its family, as `core.recall`, once it is called."""
    in_working_folder: bool = False
    """Whether the folder of this process is the one that the caller works in."""
    door: str = "library"
    """Through which door it came, as logs and traces name it."""
    trace: TraceContext | None = None
    """The span of another program that it belongs to, if the client names one."""

    stale_reads: StaleReads | None = None
    """How old the answer of a tool that only reads may be; None: not at all."""

    @property
    def reading_tool(self) -> str:
        """What reads are counted under: the tool, and for the web page that it was the page."""
        if self.door == PAGE_DOOR:
            return f"{PAGE_FAMILY}.{self.tool.partition('.')[2]}"
        return self.tool

    @property
    def may_read(self) -> bool:
        """Whether the caller may be told what was stored before this call."""
        return "read" in self.scopes

    @property
    def is_admin(self) -> bool:
        """Whether the key has the scope `admin`; at this machine everybody is an admin."""
        return "admin" in self.scopes

    def note_read(self, id: str) -> None:
        """Count that the caller asked for this item and got it."""
        self.engine.reading.note_access(self.caller, id)
        self.engine.usage.note_reads(self.caller, (id,), self.reading_tool)

    def note_hits(self, ids: Iterable[str]) -> None:
        """Remember that the caller was shown these items, which a search found."""
        self.engine.usage.note_reads(self.caller, ids, self.reading_tool)

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
