"""An MCP request as a `Call`: who asks, and the ways back to the client while a worker thread runs the tool."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

import mcp_types as types
from mcp.server import subscriptions
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from memolith.doors.frames import IDEMPOTENCY_KEY
from memolith.engine.model import Caller
from memolith.errors import InvalidInput
from memolith.registry import SCOPES, Call, InputNeeded
from memolith.schemas import Schema

if TYPE_CHECKING:
    from memolith.engine.engine import Engine

Context = ServerRequestContext[Any, Any]
Answer = TypeVar("Answer")

CALLER = "memolith.caller"
SCOPES_KEY = "memolith.scopes"
REQUEST = "memolith.request"
LONGEST_KEY = 200
LOCAL = Caller()
# Not anyio's worker threads, which take twice as long to hand a call over and back.
WORKERS = ThreadPoolExecutor(40, thread_name_prefix="memolith call")
# What is told on the bus of the newer protocol, and to a client of the older one.
CHANGES: dict[str, tuple[Callable[[], subscriptions.ServerEvent], Callable[[], types.ServerNotification]]] = {
    "tools": (subscriptions.ToolsListChanged, types.ToolListChangedNotification),
    "resources": (subscriptions.ResourcesListChanged, types.ResourceListChangedNotification),
    "prompts": (subscriptions.PromptsListChanged, types.PromptListChangedNotification),
}


def caller_of(ctx: Context) -> tuple[Caller, frozenset[str]]:
    """Over HTTP whom the key stands for; without HTTP the local user."""
    if ctx.request is None:
        return LOCAL, SCOPES
    return ctx.request.scope[CALLER], ctx.request.scope[SCOPES_KEY]


def is_modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


class Client:
    """The client of one request, as seen from the worker thread."""

    def __init__(self, ctx: Context, bus: subscriptions.SubscriptionBus,
                 params: types.InputResponseRequestParams | None = None) -> None:
        self.ctx = ctx
        self.bus = bus
        self.loop = asyncio.get_running_loop()
        self.stopped = False
        self.sending: Future[Any] | None = None
        self.questions = 0
        self.answers = given_answers(params) if params is not None else {}

    async def work(self, function: Callable[[], Answer]) -> Answer:
        """Run it in a worker thread; if it is cancelled, it ends by itself, and its answer is dropped."""
        try:
            return await self.loop.run_in_executor(WORKERS, copy_context().run, function)
        except asyncio.CancelledError:
            self.stopped = True
            if self.sending is not None:
                self.sending.cancel()
            raise

    def call(self, engine: Engine) -> Call:
        caller, scopes = caller_of(self.ctx)
        request = self.ctx.request.scope.get(REQUEST) if self.ctx.request is not None else None
        return Call(caller, engine, request or secrets.token_hex(6), idempotency_key(self.ctx), scopes,
                    progress=self.progress, cancelled=lambda: self.stopped, elicit=self.ask(), changed=self.changed,
                    local=self.ctx.request is None)

    def progress(self, done: float, total: float | None, message: str) -> None:
        self.tell(self.ctx.session.report_progress(done, total, message or None))

    def changed(self, listing: str) -> None:
        event, notification = CHANGES[listing]
        self.tell(self.bus.publish(event()))
        if not is_modern(self.ctx):
            self.tell(self.ctx.session.send_notification(notification()))

    def tell(self, sending: Coroutine[Any, Any, None]) -> None:
        # A call that was cancelled goes on to its end, it only has nobody to talk to.
        with suppress(CancelledError):
            self.send(sending)

    def send(self, sending: Coroutine[Any, Any, Answer]) -> Answer:
        """Let the event loop send something, and wait for what comes of it."""
        if self.stopped or self.loop.is_closed():
            sending.close()
            raise CancelledError
        future: Future[Answer] = asyncio.run_coroutine_threadsafe(sending, self.loop)
        self.sending = future
        if self.stopped:
            future.cancel()
        return future.result()

    def ask(self) -> Callable[[str, Schema], Mapping[str, Any] | None] | None:
        """How this client asks its user: by a request, or, in the newer protocol, by repeating the call."""
        capabilities = self.ctx.session.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            return None
        if is_modern(self.ctx):
            return self.ask_by_repeating
        return self.ask_directly if self.ctx.session.can_send_request else None

    def ask_directly(self, message: str, schema: Schema) -> Mapping[str, Any] | None:
        try:
            return accepted(self.send(self.ctx.session.elicit_form(message, schema, self.ctx.request_id)))
        except (MCPError, CancelledError):
            return None

    def ask_by_repeating(self, message: str, schema: Schema) -> Mapping[str, Any] | None:
        self.questions += 1
        key = f"question-{self.questions}"
        if key not in self.answers:
            raise InputNeeded(key, message, schema)
        return accepted(self.answers[key])

    def question(self, needed: InputNeeded) -> types.InputRequiredResult:
        """What makes the client ask; answers of earlier rounds travel with it, because they are not sent again."""
        form = types.ElicitRequestFormParams(message=needed.message, requested_schema=needed.schema)
        earlier = {key: answer.model_dump(mode="json", exclude_none=True) for key, answer in self.answers.items()}
        return types.InputRequiredResult(
            input_requests={needed.key: types.ElicitRequest(params=form)},
            request_state=json.dumps(earlier) if earlier else None)


def accepted(answer: types.ElicitResult) -> Mapping[str, Any] | None:
    return (answer.content or {}) if answer.action == "accept" else None


def given_answers(params: types.InputResponseRequestParams) -> dict[str, types.ElicitResult]:
    """The answers of all rounds; the client could have given any of them, so none needs a seal."""
    try:
        earlier = json.loads(params.request_state) if params.request_state else {}
        answers = {key: types.ElicitResult.model_validate(answer) for key, answer in earlier.items()}
    except (ValueError, AttributeError):
        raise MCPError(types.INVALID_PARAMS, "The request state is not one that was given out here.") from None
    given = params.input_responses or {}
    return answers | {key: answer for key, answer in given.items() if isinstance(answer, types.ElicitResult)}


def idempotency_key(ctx: Context) -> str | None:
    key = (ctx.meta or {}).get(IDEMPOTENCY_KEY)
    if key is None or (isinstance(key, str) and 0 < len(key) <= LONGEST_KEY):
        return key
    raise InvalidInput(f"`_meta.{IDEMPOTENCY_KEY}` must be a text with 1 to {LONGEST_KEY} characters.",
                       field=IDEMPOTENCY_KEY)
