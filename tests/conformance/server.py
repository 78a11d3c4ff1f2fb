"""The server for the official MCP conformance suite, at `/conformance`; off unless asked for.

Nothing here touches the registry or the engine: the suite tests the protocol through the same SDK
parts that the other doors are made of.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError

from memolith.doors.mcp.client_link import Context, is_modern
from tests.conformance.tools import BUS, IMAGE, PIXEL, TOOLS, Answer, embedded, form, needed, text

FIXED = ("test://static-text", "test://watched-resource")
BINARY = "test://static-binary"
TEMPLATE = "test://template/{id}/data"
PROMPTS: dict[str, tuple[tuple[str, ...], Callable[[dict[str, str]], list[types.ContentBlock]]]] = {
    "test_simple_prompt": ((), lambda _: [text("This is a simple prompt for testing.")]),
    "test_prompt_with_arguments": (
        ("arg1", "arg2"),
        lambda given: [text("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'".format(**given))],
    ),
    "test_prompt_with_embedded_resource": (
        ("resourceUri",),
        lambda given: [
            embedded(given["resourceUri"], "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
    ),
    "test_prompt_with_image": ((), lambda _: [IMAGE, text("Please analyze the image above.")]),
    "test_input_required_result_prompt": ((), lambda _: [text("Use the context that was given.")]),
}
RETRY_MS = 50


class Replay(EventStore):
    """Keeps every event, so that a client can take up a broken stream again."""

    def __init__(self) -> None:
        self.events: list[tuple[str, types.JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        number = int(last_event_id)
        if not 0 < number <= len(self.events):
            return None
        stream = self.events[number - 1][0]
        for later, (other, message) in enumerate(self.events[number:], start=number + 1):
            if other == stream and message is not None:
                await send_callback(EventMessage(message, str(later)))
        return stream


async def list_tools(
    ctx: Context, params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[
            types.Tool(name=name, description=name.replace("_", " "), input_schema=schema)
            for name, (schema, _) in TOOLS.items()
        ]
    )


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Answer:
    if params.name not in TOOLS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    return await TOOLS[params.name][1](ctx, params)


async def list_resources(
    ctx: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourcesResult:
    return types.ListResourcesResult(
        resources=[types.Resource(uri=uri, name=uri) for uri in (*FIXED, BINARY)]
    )


async def list_templates(ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(
        resource_templates=[types.ResourceTemplate(uri_template=TEMPLATE, name="template")]
    )


async def read_resource(
    ctx: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    uri = params.uri
    before, after = TEMPLATE.split("{id}")
    content: types.TextResourceContents | types.BlobResourceContents
    if uri in FIXED:
        words = "This is the content of the static text resource."
        content = types.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
    elif uri == BINARY:
        content = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
    elif uri.startswith(before) and uri.endswith(after):
        number = uri.removeprefix(before).removesuffix(after)
        body = json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})
        content = types.TextResourceContents(uri=uri, mime_type="application/json", text=body)
    else:
        raise MCPError(
            types.INVALID_PARAMS if is_modern(ctx) else -32002,
            f"Unknown resource: {uri}",
            {"uri": uri},
        )
    return types.ReadResourceResult(contents=[content])


async def list_prompts(
    ctx: Context, params: types.PaginatedRequestParams | None
) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description=name.replace("_", " "),
                arguments=[types.PromptArgument(name=each, required=True) for each in arguments],
            )
            for name, (arguments, _) in PROMPTS.items()
        ]
    )


async def get_prompt(
    ctx: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    values = params.arguments or {}
    arguments, content = PROMPTS.get(params.name, ((), None))
    if content is None or not values.keys() >= set(arguments):
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt, or arguments missing: {params.name}")
    if params.name == "test_input_required_result_prompt" and "user_context" not in (
        params.input_responses or {}
    ):
        return needed(
            user_context=form(
                "Which context should the prompt use?", {"context": {"type": "string"}}
            )
        )
    messages = [types.PromptMessage(role="user", content=each) for each in content(values)]
    return types.GetPromptResult(messages=messages)


async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))


async def accept(ctx: Context, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


def make_server() -> Server[Any]:
    hint = CacheHint(ttl_ms=60_000, scope="private")
    server: Server[Any] = Server(
        "memolith conformance",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda name: TOOLS[name][0] if name in TOOLS else None,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=accept,
        on_unsubscribe_resource=accept,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_subscriptions_listen=ListenHandler(BUS),
        cache_hints={
            "tools/list": hint,
            "resources/list": hint,
            "resources/templates/list": hint,
            "resources/read": hint,
            "prompts/list": hint,
            "server/discover": hint,
        },
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, accept)
    server.middleware.append(
        RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="conformance")
    )
    return server


class Conformance(StreamableHTTPASGIApp):
    """The fixtures, and the manager that their path needs."""

    def __init__(self) -> None:
        self.manager = StreamableHTTPSessionManager(
            make_server(), event_store=Replay(), retry_interval=RETRY_MS
        )
        super().__init__(self.manager)
