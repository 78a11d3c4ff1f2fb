"""A tool is a typed function: families own tools, a dialect words their results and errors, a registry runs them."""

from __future__ import annotations

import json
import logging
import math
import secrets
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar

from memolith.domain.callers import Caller
from memolith.engine.engine import Engine
from memolith.engine.validation import plain
from memolith.errors import (
    Denied,
    InvalidInput,
    MemolithError,
    NotFound,
    OutcomeUnknown,
    StoreGone,
    TenantMoving,
)
from memolith.tools.schema import (
    Actions,
    Argument,
    Body,
    Effect,
    Function,
    Schema,
    Signature,
    shape,
)

__all__ = [
    "Actions",
    "Argument",
    "Body",
    "Effect",
    "shape",
]  # only passed on; the rest is made here
log = logging.getLogger(__name__)
ScopeName = Literal["read", "write", "admin", "run"]
Decorated = TypeVar("Decorated", bound=Function | Actions)
Answer = TypeVar("Answer")
SCOPES: frozenset[str] = frozenset(("read", "write", "admin", "run"))
SCOPE_OF: dict[Effect, ScopeName] = {"reads": "read", "writes": "write", "runs": "run"}
LONGEST_KEY, MAX_DEPTH, MAX_INTEGER = 200, 64, 2**63 - 1
PAUSES_S = (0.1, 0.4, 1.0, 2.0)
REPEATED = (StoreGone, OutcomeUnknown, TenantMoving)


class InputNeeded(Exception):
    """The client must ask its user first, the message by the schema, and then repeat the call with the answer."""


def quiet(*_: object) -> None:
    """Tells nobody."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool: who calls, with which rights, and the ways back to the client while it runs."""

    caller: Caller
    engine: Engine
    request_id: str = field(default_factory=lambda: secrets.token_hex(6))
    idempotency_key: str | None = None
    scopes: frozenset[str] = SCOPES
    progress: Callable[[float, float | None, str], None] = quiet
    """`(done, total or None, message)`."""
    cancelled: Callable[[], bool] = lambda: False
    elicit: Callable[[str, Schema], Mapping[str, Any] | None] | None = None
    """`(message, schema)` to what the user filled in, or None if he declined; ask once and before you write, because a
    client may answer by repeating the whole call. None: the client cannot ask."""
    changed: Callable[[], None] = quiet
    """To be told when a call changes the list of prompts."""
    local: bool = False
    """Whether somebody at this machine calls, and not a client over HTTP."""

    def __post_init__(self) -> None:
        key: object = self.idempotency_key
        if key is not None and not (isinstance(key, str) and 0 < len(key) <= LONGEST_KEY):
            raise InvalidInput(
                f"An idempotency key has 1 to {LONGEST_KEY} characters.", field="idempotency_key"
            )


class Dialect(NamedTuple):
    """How a family words its results and errors."""

    success: Callable[[Body], Body] = lambda body: body
    failure: Callable[[MemolithError], Body] = lambda error: {
        "error": error.type,
        "message": error.message,
        **({} if error.field is None else {"field": error.field}),
    }
    jsonrpc: Callable[[MemolithError], tuple[int, str, Any] | None] = lambda error: None
    """The documented JSON-RPC code, message and data; sent as such only on the family's own path."""
    schema: Callable[[Schema], Schema] = lambda schema: schema
    """The schema of `success(result)`, made from the schema of the result."""
    enter: Callable[[Call], Call] = lambda call: call
    """The call as the tools of the family take it."""


PLAIN = Dialect()


@dataclass(frozen=True, eq=False)
class Tool:
    """One tool as all doors see it; its schemas are built when they are first asked for."""

    name: str
    family: str
    description: str
    dialect: Dialect
    shape: Signature | Actions
    read_only: bool
    destructive: bool
    idempotent: bool
    effect: Effect
    scopes: frozenset[str]
    inert: frozenset[str] = frozenset()
    """Parameters that by decision change nothing."""

    @property
    def input_schema(self) -> Schema:
        return self.shape.input_schema

    @cached_property
    def output_schema(self) -> Schema:
        return self.dialect.schema(self.shape.output_schema)

    def __call__(self, arguments: Mapping[str, Any], call: Call) -> Body:
        if not self.scopes <= call.scopes:
            raise Denied(
                f"`{self.name}` needs a key with the scope: {', '.join(sorted(self.scopes - call.scopes))}."
            )
        check_clean(arguments)
        signature, values = self.shape.prepare(arguments)
        return self.dialect.success(
            signature.worded(signature.function(self.dialect.enter(call), **values))
        )


class Resource(NamedTuple):
    """Something with an address that a client can read, or a pattern of addresses, as `memolith://item/{id}`."""

    uri: str
    name: str
    description: str = ""
    mime_type: str = "text/plain"


class Resources(NamedTuple):
    """The resources of a family, and how their addresses begin."""

    address: str
    read: Callable[[Call, str], str | Body]
    """What is at an address: Markdown, or what is sent as JSON."""
    listed: Callable[[Call], Sequence[Resource]] = lambda *_: ()
    templates: tuple[Resource, ...] = ()


class Prompt(NamedTuple):
    """A prompt as it is listed."""

    name: str
    description: str
    arguments: tuple[tuple[str, str, bool], ...] = ()
    """Of each value that fills it the name, what it is, and whether it is required."""


class Prompts(NamedTuple):
    """The prompts of a family; `get` gives the text, or None for a name that is not its own."""

    listed: Callable[[Call], Sequence[Prompt]]
    get: Callable[[Call, str, Mapping[str, str]], str | None]
    complete: Callable[[Call, str, str, str], Sequence[str]] = lambda *_: ()
    """`(call, prompt or uri_template, argument, beginning)` to possible values."""


@dataclass(eq=False)
class Family:
    """The tools of one dialect, in the order in which they were written."""

    name: str
    dialect: Dialect = PLAIN
    _: KW_ONLY
    listed_over_mcp: bool = True
    apart: bool = False
    """Served at its own path only, because its tool names are also used elsewhere."""
    resources: Resources | None = None
    prompts: Prompts | None = None
    instructions: str = ""
    tools: list[Tool] = field(default_factory=list, init=False)

    def tool(
        self,
        gives: Schema | None = None,
        *,
        name: str = "",
        read_only: bool = False,
        destructive: bool = False,
        idempotent: bool = False,
        effect: Effect | None = None,
        scope: ScopeName | None = None,
        inert: Iterable[str] = (),
    ) -> Callable[[Decorated], Decorated]:
        """Make a tool of `Actions`, or of a typed function and the shape of its result: they say the rest."""
        done = effect or ("reads" if read_only else "writes")

        def add(made: Decorated) -> Decorated:
            signed = made if isinstance(made, Actions) else Signature(made, gives or {})
            known = made.name if isinstance(made, Actions) else name or made.__name__
            text = " ".join(
                (made.description if isinstance(made, Actions) else made.__doc__ or "").split()
            )
            self.tools.append(
                Tool(
                    known,
                    self.name,
                    text,
                    self.dialect,
                    signed,
                    read_only,
                    destructive,
                    idempotent or read_only,
                    done,
                    frozenset((scope or SCOPE_OF[done],)),
                    frozenset(inert),
                )
            )
            return made

        return add


class Outcome(NamedTuple):
    """What came of a call: the body to show, and the error behind it if it failed."""

    ok: bool
    body: Body
    error: MemolithError | None = None

    @property
    def text(self) -> str:
        """The body as JSON, the same through every door."""
        return json.dumps(self.body, ensure_ascii=False, separators=(",", ":"))


class Registry:
    """The tools of some families, and the one way to run them."""

    def __init__(
        self,
        families: Iterable[Family],
        tools: Iterable[Tool] | None = None,
        observe: Callable[[str, str, float], None] = quiet,
    ) -> None:
        self.families, self.observe = tuple(families), observe
        """Told the name, the outcome and the seconds of every call."""
        self.tools = tuple(tools if tools is not None else shared(self.families))
        self.by_name = {tool.name: tool for tool in self.tools}
        if len(self.by_name) < len(self.tools):
            raise ValueError("two tools have the same name")

    def find(self, name: str) -> Tool | None:
        return self.by_name.get(name)

    @cached_property
    def shown(self) -> tuple[Family, ...]:
        """The families with a tool here; their resources and prompts are offered too."""
        return tuple(
            family
            for family in self.families
            if any(tool.family == family.name for tool in self.tools)
        )

    def choose(self, profile: str = "all", *, read_only: bool = False) -> Registry:
        """What an MCP client sees: `all`, or families and tools by name, separated by commas."""
        listed = [family for family in self.families if family.listed_over_mcp]
        known = {
            "all": shared(listed),
            **{tool.name: [tool] for tool in shared(listed)},
            **{family.name: family.tools for family in listed},
        }
        chosen: dict[Tool, None] = {}
        for part in map(str.strip, profile.split(",")):
            if part not in known:
                names = ", ".join(family.name for family in listed)
                raise InvalidInput(
                    f"There is no family or tool named {part!r}; families: all, {names}.",
                    field="tools",
                )
            chosen |= dict.fromkeys(known[part])
        return Registry(
            self.families,
            (tool for tool in chosen if tool.read_only or not read_only),
            self.observe,
        )

    def run(self, name: str, arguments: Mapping[str, Any], call: Call) -> Outcome:
        """Check, call and word the result or the error; only `InputNeeded` gets out."""
        if (tool := self.find(name)) is None:
            return self.refuse(name, NotFound(f"There is no tool named {name!r}.", id=name))
        started = time.perf_counter()
        # A database fails over in seconds, and a call that cannot be done twice need not fail with it.
        for pause_s in (*PAUSES_S, None) if tool.read_only or call.idempotency_key else (None,):
            try:
                outcome = Outcome(True, guarded(name, call, lambda: tool(arguments, call)))
            except MemolithError as error:
                outcome = self.refuse(name, error)
            if pause_s is None or not isinstance(outcome.error, REPEATED):
                break
            time.sleep(pause_s)
        self.observe(
            name, outcome.error.type if outcome.error else "ok", time.perf_counter() - started
        )
        return outcome

    def attempt(self, name: str, arguments: Mapping[str, Any], make: Callable[[], Call]) -> Outcome:
        """Run a call that may fail to be made: a store that cannot be opened is told in the words of the family."""
        try:
            return self.run(name, arguments, make())
        except MemolithError as error:
            return self.refuse(name, error)

    def refuse(self, name: str, error: MemolithError) -> Outcome:
        tool = self.find(name)
        return Outcome(False, (tool.dialect if tool else PLAIN).failure(error), error)


def shared(families: Iterable[Family]) -> list[Tool]:
    return [tool for family in families if not family.apart for tool in family.tools]


def guarded(name: str, call: Call, action: Callable[[], Answer]) -> Answer:
    """What the action gives; an error that is not ours is logged and becomes one that does not show its text."""
    try:
        return action()
    except (MemolithError, InputNeeded):
        raise
    except Exception as error:  # noqa: BLE001 - the last resort of every door
        frames = "".join(traceback.format_tb(error.__traceback__))
        log.error(
            "request %s: %s failed with %s\n%s", call.request_id, name, type(error).__name__, frames
        )
        # The text may hold the caller's data, so it is written only where somebody asked for it.
        log.debug("request %s: %s", call.request_id, error)
        raise MemolithError(
            f"Something went wrong here; the log has it under request {call.request_id}."
        ) from None


def check_clean(arguments: Mapping[str, Any]) -> None:
    """Refuse what JSON or UTF-8 cannot carry, or a store could not keep: NUL, lone surrogates, huge numbers."""
    stack: list[tuple[str, Any, int]] = [(name, value, 1) for name, value in arguments.items()]
    for name in arguments:
        plain("an argument's name", name)
    while stack:
        name, value, depth = stack.pop()
        if isinstance(value, str):
            plain(name, value)
        elif isinstance(value, float) and not math.isfinite(value):
            raise InvalidInput(f"`{name}` must be a finite number.", field=name)
        elif isinstance(value, int) and abs(value) > MAX_INTEGER:
            raise InvalidInput(f"`{name}` must be a number of at most 64 bits.", field=name)
        elif isinstance(value, dict | list) and depth > MAX_DEPTH:
            raise InvalidInput(f"`{name}` is nested deeper than {MAX_DEPTH} levels.", field=name)
        elif isinstance(value, dict | list):
            parts = value if isinstance(value, list) else [*value, *value.values()]
            stack += [(name, part, depth + 1) for part in parts]
