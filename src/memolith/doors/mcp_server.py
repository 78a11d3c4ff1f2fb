"""A registry as an MCP server of the official SDK: lists, calls, and how their outcomes look on the wire."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, SubscriptionBus
from mcp.shared.exceptions import MCPError

from memolith import __version__
from memolith.doors.mcp_calls import Client, Context, caller_of, is_modern
from memolith.doors.mcp_offers import Offers, page
from memolith.doors.plain_calls import outcome_of
from memolith.registry import InputNeeded, Outcome, Registry, Tool
from memolith.schemas.plain import Schema

if TYPE_CHECKING:
    from memolith.engine.engine import Engine

STEADY = CacheHint(ttl_ms=300_000, scope="private")
CHANGING = CacheHint(ttl_ms=0, scope="private")
FORBIDDEN_CODE = -32002
"""A code that one document promises and the newer protocol forbids."""


class MemolithServer(Server[Any]):
    """The SDK's server, telling handshake clients too that prompts and resources may change."""

    def get_capabilities(self, notification_options: NotificationOptions | None = None, *args: Any,
                         **kwargs: Any) -> types.ServerCapabilities:
        changing = NotificationOptions(prompts_changed=True, resources_changed=True)
        return super().get_capabilities(changing, *args, **kwargs)


class Tools:
    """The tools of one registry, listed and called."""

    def __init__(self, registry: Registry, engine: Callable[[], Engine], bus: SubscriptionBus, *,
                 codes: bool) -> None:
        self.registry = registry
        self.engine = engine
        self.bus = bus
        self.codes = codes

    @cached_property
    def listed(self) -> list[tuple[Tool, types.Tool]]:
        return [(tool, as_listed(tool)) for tool in self.registry.tools]

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        _, scopes = caller_of(ctx)
        allowed = [shown for tool, shown in self.listed if tool.open_to(scopes)]
        tools, cursor = page(allowed, params)
        return types.ListToolsResult(tools=tools, next_cursor=cursor)

    def header_schema(self, name: str) -> Schema | None:
        """The schema of a tool that takes arguments from headers; for any other the SDK need not look into it."""
        tool = self.registry.find(name)
        arguments = tool.input_schema["properties"].values() if tool is not None else ()
        return tool.input_schema if tool and any("x-mcp-header" in argument for argument in arguments) else None

    async def call_tool(self, ctx: Context,
                        params: types.CallToolRequestParams) -> types.CallToolResult | types.InputRequiredResult:
        tool = self.registry.find(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        client = Client(ctx, self.bus, params)
        try:
            # The store may be damaged or locked; then the list is still served and each call says what is wrong.
            outcome = await client.work(lambda: outcome_of(self.registry, params.name, params.arguments or {},
                                                           lambda: client.call(self.engine())))
        except InputNeeded as needed:
            return client.question(needed)
        return self.on_the_wire(tool, outcome, ctx)

    def on_the_wire(self, tool: Tool, outcome: Outcome, ctx: Context) -> types.CallToolResult:
        text: list[types.ContentBlock] = [types.TextContent(text=outcome.text)]
        if outcome.error is None:
            return types.CallToolResult(content=text, structured_content=outcome.body)
        coded = tool.dialect.jsonrpc(outcome.error) if self.codes else None
        if coded is not None and not (is_modern(ctx) and coded[0] == FORBIDDEN_CODE):
            raise MCPError(*coded)
        return types.CallToolResult(content=text, is_error=True)


def as_listed(tool: Tool) -> types.Tool:
    # Only what differs from the protocol's defaults: every hint costs a model tokens.
    hints = {"read_only_hint": True} if tool.read_only else {"destructive_hint": tool.destructive}
    if tool.idempotent and not tool.read_only:
        hints["idempotent_hint"] = True
    annotations = types.ToolAnnotations(**hints)
    return types.Tool(name=tool.name, description=tool.description, input_schema=tool.input_schema,
                      output_schema=tool.output_schema, annotations=annotations)


def make_server(registry: Registry, engine: Callable[[], Engine], *, codes: bool = False,
                bus: SubscriptionBus | None = None) -> MemolithServer:
    """The server of a chosen registry; with `codes`, dialects that have JSON-RPC codes use them."""
    bus = bus or InMemorySubscriptionBus()
    tools = Tools(registry, engine, bus, codes=codes)
    handlers = Offers(registry, engine, bus).handlers()
    server = MemolithServer(
        "memolith", version=__version__, title="memolith", description="One memory server for AI agents.",
        instructions="\n\n".join(family.instructions for family in registry.shown if family.instructions) or None,
        cache_hints={
            "tools/list": STEADY, "resources/templates/list": STEADY, "server/discover": STEADY,
            "resources/list": CHANGING, "resources/read": CHANGING, "prompts/list": CHANGING},
        get_tool_input_schema=tools.header_schema, on_list_tools=tools.list_tools, on_call_tool=tools.call_tool,
        on_subscriptions_listen=ListenHandler(bus), **handlers)
    # The SDK's tracing, which nothing here collects, costs more than a whole pass through the registry.
    server.middleware.clear()
    return server
