"""A registry as an MCP server of the official SDK: lists, calls, resources, prompts, and how they look on the wire."""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import cached_property
from typing import Any, TypeVar, cast

import mcp_types as types
from mcp.server import subscriptions
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from memolith import __version__
from memolith.domain.callers import Caller
from memolith.doors.mcp.frames import IDEMPOTENCY_KEY
from memolith.engine.engine import Engine
from memolith.errors import Denied, MemolithError, NotFound
from memolith.tools.call import SCOPES, Call, InputNeeded
from memolith.tools.family import Tool
from memolith.tools.registry import Registry, hide_unexpected
from memolith.tools.schema import Schema

Context = ServerRequestContext[Any, Any]
Answer = TypeVar("Answer")
Listed = TypeVar("Listed")
CALLER, SCOPES_KEY, REQUEST = "memolith.caller", "memolith.scopes", "memolith.request"
# Not anyio's worker threads, which take twice as long to hand a call over and back.
WORKERS = ThreadPoolExecutor(40, thread_name_prefix="memolith call")
STEADY, CHANGING = CacheHint(ttl_ms=300_000, scope="private"), CacheHint(ttl_ms=0, scope="private")
NO_RESOURCE = -32002
"""A code that the older protocol has for this, one document promises for something else, and the newer forbids."""
MOST_COMPLETIONS, QUESTION = 100, "question"
# Large enough for every tool there is, because some clients never ask for a second page.
PAGE = 250


def caller_of(ctx: Context) -> tuple[Caller, frozenset[str]]:
    """Over HTTP whom the key stands for; without HTTP the local user."""
    request = ctx.request
    return (
        (request.scope[CALLER], request.scope[SCOPES_KEY])
        if request is not None
        else (Caller(), SCOPES)
    )


def is_modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


class Client:
    """The client of one request, and the ways back to him while a worker thread runs the tool."""

    def __init__(
        self, ctx: Context, bus: subscriptions.SubscriptionBus, answered: object = None
    ) -> None:
        self.ctx, self.bus, self.answered = ctx, bus, answered
        self.loop, self.stopped = asyncio.get_running_loop(), False

    async def work(self, function: Callable[[], Answer]) -> Answer:
        """Run it in a worker thread; if it is cancelled, it ends by itself, and its answer is dropped."""
        try:
            return await self.loop.run_in_executor(WORKERS, copy_context().run, function)
        except asyncio.CancelledError:
            self.stopped = True
            raise

    def call(self, engine: Engine) -> Call:
        caller, scopes = caller_of(self.ctx)
        session, key = self.ctx.session, cast(Any, (self.ctx.meta or {}).get(IDEMPOTENCY_KEY))
        request = self.ctx.request.scope.get(REQUEST) if self.ctx.request is not None else None
        capabilities = session.client_capabilities
        can_ask = (
            capabilities is not None
            and capabilities.elicitation is not None
            and (is_modern(self.ctx) or session.can_send_request)
        )
        return Call(
            caller,
            engine,
            request or secrets.token_hex(6),
            key,
            scopes,
            cancelled=lambda: self.stopped,
            progress=lambda done, total, text: self.tell(
                session.report_progress(done, total, text or None)
            ),
            elicit=self.ask if can_ask else None,
            changed=self.changed,
            local=self.ctx.request is None,
        )

    def changed(self) -> None:
        self.tell(self.bus.publish(subscriptions.PromptsListChanged()))
        if not is_modern(self.ctx):
            self.tell(self.ctx.session.send_notification(types.PromptListChangedNotification()))

    def tell(self, sending: Coroutine[Any, Any, None]) -> None:
        # A call that was cancelled goes on to its end, it only has nobody to talk to.
        with suppress(CancelledError):
            self.send(sending)

    def send(self, sending: Coroutine[Any, Any, Answer]) -> Answer:
        """Let the event loop send something, and wait for what comes of it."""
        if self.stopped or self.loop.is_closed():
            sending.close()
            raise CancelledError
        return asyncio.run_coroutine_threadsafe(sending, self.loop).result()

    def ask(self, message: str, schema: Schema) -> Mapping[str, Any] | None:
        """What the user fills in: the client is asked by a request, or, in the newer protocol, repeats the call."""
        try:
            answer = (
                self.answered
                if is_modern(self.ctx)
                else self.send(self.ctx.session.elicit_form(message, schema, self.ctx.request_id))
            )
        except (MCPError, CancelledError):
            return None
        if not isinstance(answer, types.ElicitResult):
            raise InputNeeded(message, schema)
        return (answer.content or {}) if answer.action == "accept" else None


class MemolithServer(Server[Any]):
    """The SDK's server of a registry: its tools, and the resources and prompts of the shown families."""

    def __init__(
        self,
        registry: Registry,
        engine: Callable[[], Engine],
        *,
        codes: bool = False,
        bus: subscriptions.SubscriptionBus | None = None,
    ) -> None:
        self.registry, self.engine, self.codes = registry, engine, codes
        """Whether dialects that have JSON-RPC codes use them."""
        self.bus = bus or subscriptions.InMemorySubscriptionBus()
        self.resources = [family.resources for family in registry.shown if family.resources]
        self.prompts = [family.prompts for family in registry.shown if family.prompts]
        # Handlers for what there is, so that the server declares no more than that.
        found: dict[str, Any] = {
            "on_list_tools": self.list_tools,
            "on_call_tool": self.call_tool,
            "on_subscriptions_listen": subscriptions.ListenHandler(self.bus),
        }
        if self.resources:
            found["on_read_resource"] = self.read_resource
            found["on_list_resources"] = self.lister(
                types.ListResourcesResult,
                "resources",
                lambda call: [
                    types.Resource(
                        uri=one.uri,
                        name=one.name,
                        description=one.description or None,
                        mime_type=one.mime_type,
                    )
                    for each in self.resources
                    for one in each.listed(call)
                ],
            )
            found["on_list_resource_templates"] = self.lister(
                types.ListResourceTemplatesResult,
                "resource_templates",
                lambda call: [
                    types.ResourceTemplate(
                        uri_template=one.uri,
                        name=one.name,
                        description=one.description or None,
                        mime_type=one.mime_type,
                    )
                    for each in self.resources
                    for one in each.templates
                ],
            )
        if self.prompts:
            found["on_completion"], found["on_get_prompt"] = self.complete, self.get_prompt
            found["on_list_prompts"] = self.lister(
                types.ListPromptsResult,
                "prompts",
                lambda call: [
                    types.Prompt(
                        name=one.name,
                        description=one.description or None,
                        arguments=[
                            types.PromptArgument(
                                name=name, description=about or None, required=required
                            )
                            for name, about, required in one.arguments
                        ]
                        or None,
                    )
                    for each in self.prompts
                    for one in each.listed(call)
                ],
            )
        super().__init__(
            "memolith",
            version=__version__,
            title="memolith",
            description="One memory server for AI agents.",
            instructions="\n\n".join(
                family.instructions for family in registry.shown if family.instructions
            )
            or None,
            cache_hints={
                "tools/list": STEADY,
                "resources/templates/list": STEADY,
                "server/discover": STEADY,
                "resources/list": CHANGING,
                "resources/read": CHANGING,
                "prompts/list": CHANGING,
            },
            # No tool takes arguments from headers, so the SDK need not look for such.
            get_tool_input_schema=lambda _: None,
            **found,
        )
        # The SDK's tracing, which nothing here collects, costs more than a whole pass through the registry.
        self.middleware.clear()

    def get_capabilities(
        self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
    ) -> types.ServerCapabilities:
        """Tell handshake clients too that prompts and resources may change."""
        changing = NotificationOptions(prompts_changed=True, resources_changed=True)
        return super().get_capabilities(changing, *args, **kwargs)

    @cached_property
    def listed(self) -> list[tuple[Tool, types.Tool]]:
        shown = []
        for tool in self.registry.tools:
            # Only what differs from the protocol's defaults: every hint costs a model tokens.
            hints = (
                {"read_only_hint": True}
                if tool.read_only
                else {
                    "destructive_hint": tool.destructive,
                    **({"idempotent_hint": True} if tool.idempotent else {}),
                }
            )
            shown.append(
                (
                    tool,
                    types.Tool(
                        name=tool.name,
                        description=tool.description,
                        input_schema=tool.input_schema,
                        output_schema=tool.output_schema,
                        annotations=types.ToolAnnotations(**hints),
                    ),
                )
            )
        return shown

    async def list_tools(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        _, scopes = caller_of(ctx)
        tools, cursor = page(
            [shown for tool, shown in self.listed if tool.scopes <= scopes], params
        )
        return types.ListToolsResult(tools=tools, next_cursor=cursor)

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if (tool := self.registry.find(params.name)) is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        client = Client(ctx, self.bus, (params.input_responses or {}).get(QUESTION))
        try:
            # The store may be damaged or locked; then the list is still served and each call says what is wrong.
            outcome = await client.work(
                lambda: self.registry.attempt(
                    params.name, params.arguments or {}, lambda: client.call(self.engine())
                )
            )
        except InputNeeded as needed:
            form = types.ElicitRequestFormParams(
                message=needed.args[0], requested_schema=needed.args[1]
            )
            return types.InputRequiredResult(
                input_requests={QUESTION: types.ElicitRequest(params=form)}
            )
        text: list[types.ContentBlock] = [types.TextContent(text=outcome.text)]
        if outcome.error is None:
            return types.CallToolResult(content=text, structured_content=outcome.body)
        coded = tool.dialect.jsonrpc(outcome.error) if self.codes else None
        if coded is not None and not (is_modern(ctx) and coded[0] == NO_RESOURCE):
            raise MCPError(*coded)
        return types.CallToolResult(content=text, is_error=True)

    async def ask(self, ctx: Context, action: Callable[[Call], Answer]) -> Answer:
        """Run it in a worker thread and translate our errors into the protocol's."""
        client = Client(ctx, self.bus)

        def run() -> Answer:
            call = client.call(self.engine())
            if "read" not in call.scopes:
                raise Denied("This needs a key with the scope: read.")
            return hide_unexpected(ctx.method, call, lambda: action(call))

        try:
            return await client.work(run)
        except MemolithError as error:
            code = (
                types.INTERNAL_ERROR
                if error.status >= 500
                else (types.INVALID_REQUEST if isinstance(error, Denied) else types.INVALID_PARAMS)
            )
            if (
                isinstance(error, NotFound)
                and ctx.method == "resources/read"
                and not is_modern(ctx)
            ):
                code = NO_RESOURCE
            raise MCPError(code, error.message) from None

    def lister(
        self, result: type, name: str, entries: Callable[[Call], list[Any]]
    ) -> Callable[..., Awaitable[Any]]:
        """Lists what the families offer."""

        async def lists(ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
            found, cursor = page(await self.ask(ctx, entries), params)
            return result(**{name: found, "next_cursor": cursor})

        return lists

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        def read(call: Call) -> types.ReadResourceResult:
            for each in self.resources:
                if params.uri.startswith(each.address):
                    found = each.read(call, params.uri)
                    text, kind = (
                        (found, "text/markdown")
                        if isinstance(found, str)
                        else (json.dumps(found, ensure_ascii=False), "application/json")
                    )
                    return types.ReadResourceResult(
                        contents=[
                            types.TextResourceContents(uri=params.uri, mime_type=kind, text=text)
                        ]
                    )
            raise NotFound(f"Unknown resource: {params.uri}")

        return await self.ask(ctx, read)

    async def get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        def get(call: Call) -> types.GetPromptResult:
            for each in self.prompts:
                if (text := each.get(call, params.name, params.arguments or {})) is not None:
                    return types.GetPromptResult(
                        messages=[
                            types.PromptMessage(role="user", content=types.TextContent(text=text))
                        ]
                    )
            raise NotFound(f"Unknown prompt: {params.name}")

        return await self.ask(ctx, get)

    async def complete(
        self, ctx: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        ref, name, beginning = params.ref, params.argument.name, params.argument.value
        what = ref.name if isinstance(ref, types.PromptReference) else ref.uri
        values = await self.ask(
            ctx,
            lambda call: [
                value
                for each in self.prompts
                for value in each.complete(call, what, name, beginning)
            ],
        )
        return types.CompleteResult(
            completion=types.Completion(
                values=values[:MOST_COMPLETIONS],
                total=len(values),
                has_more=len(values) > MOST_COMPLETIONS,
            )
        )


def page(
    entries: Sequence[Listed], params: types.PaginatedRequestParams | None
) -> tuple[list[Listed], str | None]:
    cursor = params.cursor if params is not None else None
    start = (
        int(cursor)
        if cursor and cursor.isascii() and cursor.isdecimal() and len(cursor) < 10
        else 0
    )
    if cursor is not None and not 0 < start < len(entries):
        raise MCPError(
            types.INVALID_PARAMS, "The cursor is not valid (any more); list again from the start."
        )
    end = start + PAGE
    return list(entries[start:end]), str(end) if end < len(entries) else None
