"""The client of one MCP request, and the ways back to it while a worker thread runs the tool."""

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar, cast

import mcp_types as types
from mcp.server import subscriptions
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from memolith.domain.callers import SCOPES, Caller
from memolith.doors.mcp.frames import IDEMPOTENCY_KEY
from memolith.doors.request_keys import (
    CALLER_KEY,
    REQUEST_ID_KEY,
    SCOPES_KEY,
    SHARE_KEY,
    STALE_READS_KEY,
)
from memolith.doors.shares import Share
from memolith.doors.stale_answers import stale_reads_of_meta
from memolith.doors.trace_context import trace_of_headers, trace_of_meta
from memolith.doors.worker_pools import WorkerPool
from memolith.engine.engine import Engine
from memolith.engine.stale_reads import StaleReads
from memolith.engine.usage import Client, program_of
from memolith.ports.telemetry import TraceContext
from memolith.tools.call import Call, InputNeeded
from memolith.tools.schema import Schema

Context = ServerRequestContext[Any, Any]
Answer = TypeVar("Answer")


class Access(NamedTuple):
    """Who calls, and what they may do."""

    caller: Caller
    scopes: frozenset[str]


def access_of(ctx: Context) -> Access:
    """Over HTTP whom the key stands for; over stdio the local user, who may do everything."""
    request = ctx.request
    if request is None:
        return Access(Caller(), SCOPES)
    return Access(request.scope[CALLER_KEY], request.scope[SCOPES_KEY])


def is_modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


class ClientLink:
    """The client of one request, and the ways back to it while a worker thread runs the tool."""

    def __init__(
        self,
        ctx: Context,
        bus: subscriptions.SubscriptionBus,
        filled_form: object = None,
    ) -> None:
        """`filled_form` is what the user answered, if a modern client repeats a call with it."""
        self.ctx = ctx
        self.bus = bus
        self.filled_form = filled_form
        self.loop = asyncio.get_running_loop()
        self.cancelled = False
        self.stale_reads: StaleReads | None = None
        """What the client permits, once the call is made."""

    async def run_in(self, pool: WorkerPool, function: Callable[[], Answer]) -> Answer:
        """Run it in a worker thread. If the request is cancelled, its answer is dropped."""
        try:
            return await pool.run(self.share(), function)
        except asyncio.CancelledError:
            self.cancelled = True
            raise

    def make_call(self, engine: Engine) -> Call:
        access = access_of(self.ctx)
        self.stale_reads = self.permitted_stale_reads()
        # A client may send anything as its key; `Call` checks it.
        key = cast(Any, (self.ctx.meta or {}).get(IDEMPOTENCY_KEY))
        return Call(
            access.caller,
            engine,
            self.request_id(),
            key,
            access.scopes,
            progress=self.report_progress,
            cancelled=lambda: self.cancelled,
            elicit=self.ask_user if self.can_ask_user() else None,
            changed=self.prompts_changed,
            local=self.ctx.request is None,
            client=self.client(),
            in_working_folder=self.ctx.request is None,
            door="mcp-stdio" if self.ctx.request is None else "mcp-http",
            trace=self.trace(),
            stale_reads=self.stale_reads,
        )

    def permitted_stale_reads(self) -> StaleReads | None:
        """How old the answer may be: as this very call says, or the request that carries it."""
        found = stale_reads_of_meta(self.ctx.meta or {})
        if found is None and self.ctx.request is not None:
            found = self.ctx.request.scope.get(STALE_READS_KEY)
        return found

    def trace(self) -> TraceContext | None:
        """The span of the client: of this very call, or of the request that carries it."""
        found = trace_of_meta(self.ctx.meta or {})
        if found is None and self.ctx.request is not None:
            found = trace_of_headers(self.ctx.request.scope["headers"])
        return found

    def client(self) -> Client:
        """The key and the name of the program, as it told at the start of the session."""
        share = self.share()
        params = self.ctx.session.client_params
        if params is not None:
            program = params.client_info.name
        elif self.ctx.request is not None:
            program = program_of(self.ctx.request.headers.get("user-agent", ""))
        else:
            program = ""
        return Client(share.key if share else "", program)

    def share(self) -> Share | None:
        """Whose share the request counts against; over stdio nobody's."""
        if self.ctx.request is None:
            return None
        share: Share | None = self.ctx.request.scope.get(SHARE_KEY)
        return share

    def request_id(self) -> str:
        """The id that the access layer gave the request, or a new one."""
        if self.ctx.request is not None:
            known = self.ctx.request.scope.get(REQUEST_ID_KEY)
            if known:
                return str(known)
        return secrets.token_hex(6)

    def can_ask_user(self) -> bool:
        session = self.ctx.session
        capabilities = session.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            return False
        return is_modern(self.ctx) or session.can_send_request

    def report_progress(self, done: float, total: float | None, message: str) -> None:
        self.notify(self.ctx.session.report_progress(done, total, message or None))

    def prompts_changed(self) -> None:
        self.notify(self.bus.publish(subscriptions.PromptsListChanged()))
        if not is_modern(self.ctx):
            changed = types.PromptListChangedNotification()
            self.notify(self.ctx.session.send_notification(changed))

    def notify(self, sending: Coroutine[Any, Any, None]) -> None:
        # A cancelled call goes on to its end; it only has nobody to talk to.
        with suppress(CancelledError):
            self.send(sending)

    def send(self, sending: Coroutine[Any, Any, Answer]) -> Answer:
        """Let the event loop send something, and wait for what comes of it."""
        if self.cancelled or self.loop.is_closed():
            sending.close()
            raise CancelledError
        return asyncio.run_coroutine_threadsafe(sending, self.loop).result()

    def ask_user(self, message: str, schema: Schema) -> Mapping[str, Any] | None:
        """What the user fills in; None if they decline or the client cannot ask them.

        Older clients are asked by a request. A modern client repeats the call with the answer.
        """
        if is_modern(self.ctx):
            answer = self.filled_form
        else:
            asking = self.ctx.session.elicit_form(message, schema, self.ctx.request_id)
            try:
                answer = self.send(asking)
            except (MCPError, CancelledError):
                return None
        if not isinstance(answer, types.ElicitResult):
            raise InputNeeded(message, schema)
        if answer.action != "accept":
            return None
        return answer.content or {}
