"""A registry as an MCP server of the official SDK: tools, resources, prompts and completions.

`session_start` has what a client sees first: name, instructions and the list of tools.
"""

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import mcp_types as types
from mcp.server import subscriptions
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.shared.exceptions import MCPError

from memolith import __version__
from memolith.doors.mcp import session_start
from memolith.doors.mcp.client_link import Answer, ClientLink, Context, access_of, is_modern
from memolith.doors.stale_answers import age_meta
from memolith.doors.worker_pools import WorkerPools
from memolith.engine.engine import Engine
from memolith.errors import Denied, MemolithError, NotFound, RateLimited
from memolith.tools.call import Call, InputNeeded
from memolith.tools.family import Tool
from memolith.tools.registry import Outcome, Registry, hide_unexpected
from memolith.tools.resources import Prompt, Resource

Entry = TypeVar("Entry")

RESOURCE_NOT_FOUND = -32002
"""A code of the older protocols. The modern one forbids it, and one family documents it for
something else."""

PAGE_SIZE = 250
"""Large enough for every tool there is, because some clients never ask for a second page."""

MAX_CURSOR_DIGITS = 9
MAX_COMPLETIONS = 100
FORM_NAME = "question"
"""The name under which a modern client sends back what the user filled in."""


class MemolithServer(Server[Any]):
    """The SDK's server for a registry: its tools, and the resources and prompts of its families."""

    def __init__(
        self,
        registry: Registry,
        engine: Callable[[], Engine],
        *,
        use_jsonrpc_codes: bool = False,
        bus: subscriptions.SubscriptionBus | None = None,
        pools: WorkerPools | None = None,
        notice: str | None = None,
    ) -> None:
        """With `use_jsonrpc_codes`, families that document JSON-RPC errors send them as such.

        A notice is told at the handshake, before the instructions of the families.
        """
        self.registry = registry
        self.engine = engine
        self.use_jsonrpc_codes = use_jsonrpc_codes
        self.bus = bus or subscriptions.InMemorySubscriptionBus()
        self.pools = pools or WorkerPools()
        self.resources = [family.resources for family in registry.shown if family.resources]
        self.prompts = [family.prompts for family in registry.shown if family.prompts]
        super().__init__(
            session_start.SERVER_NAME,
            version=__version__,
            title=session_start.SERVER_TITLE,
            description=session_start.SERVER_DESCRIPTION,
            instructions=session_start.instructions(registry, notice),
            cache_hints=session_start.CACHE_HINTS,
            # No tool takes arguments from headers, so the SDK need not look for them.
            get_tool_input_schema=lambda _: None,
            **self._handlers(),
        )
        # The SDK's tracing, which nothing here collects, costs more than running a tool.
        self.middleware.clear()

    def _handlers(self) -> dict[str, Any]:
        """A handler for each thing there is, so that the server declares no more than that."""
        handlers: dict[str, Any] = {
            "on_list_tools": self.list_tools,
            "on_call_tool": self.call_tool,
            "on_subscriptions_listen": subscriptions.ListenHandler(self.bus),
        }
        if self.resources:
            handlers["on_list_resources"] = self.list_resources
            handlers["on_list_resource_templates"] = self.list_resource_templates
            handlers["on_read_resource"] = self.read_resource
        if self.prompts:
            handlers["on_list_prompts"] = self.list_prompts
            handlers["on_get_prompt"] = self.get_prompt
            handlers["on_completion"] = self.complete
        return handlers

    def get_capabilities(
        self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
    ) -> types.ServerCapabilities:
        """Tell handshake clients too that prompts and resources may change."""
        changing = NotificationOptions(prompts_changed=True, resources_changed=True)
        return super().get_capabilities(changing, *args, **kwargs)

    # Tools

    @cached_property
    def listed_tools(self) -> list[tuple[Tool, types.Tool]]:
        """Each tool with the form in which it is listed, which takes time to make."""
        return [(tool, session_start.listed_tool(tool)) for tool in self.registry.tools]

    async def list_tools(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        scopes = access_of(ctx).scopes
        allowed = [listed for tool, listed in self.listed_tools if tool.is_usable_with(scopes)]
        tools, cursor = page_of(allowed, params)
        return types.ListToolsResult(tools=tools, next_cursor=cursor)

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = self.registry.find(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        filled_form = (params.input_responses or {}).get(FORM_NAME)
        client = ClientLink(ctx, self.bus, filled_form)

        def run() -> Outcome:
            # A store that cannot be opened fails the call and not the server.
            return self.registry.attempt(
                params.name, params.arguments or {}, lambda: client.make_call(self.engine())
            )

        try:
            outcome = await client.run_in(self.pools.of(tool), run)
        except InputNeeded as needed:
            return form_request(*needed.args)
        except RateLimited as error:
            outcome = self.registry.refuse(params.name, error)
        return self._tool_result(ctx, tool, outcome, age_meta(client.stale_reads))

    def _tool_result(
        self, ctx: Context, tool: Tool, outcome: Outcome, meta: dict[str, Any] | None
    ) -> types.CallToolResult:
        content: list[types.ContentBlock] = [types.TextContent(text=outcome.text)]
        if outcome.error is None:
            return types.CallToolResult(
                content=content, structured_content=outcome.body, _meta=meta
            )
        if self.use_jsonrpc_codes:
            documented = tool.dialect.jsonrpc(outcome.error)
            if documented is not None and may_send_code(ctx, documented[0]):
                raise MCPError(*documented)
        return types.CallToolResult(content=content, is_error=True)

    # Resources

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        def listed(call: Call) -> list[types.Resource]:
            found: list[types.Resource] = []
            for resources in self.resources:
                found += [listed_resource(resource) for resource in resources.listed(call)]
            return found

        entries, cursor = page_of(await self.run_for(ctx, listed), params)
        return types.ListResourcesResult(resources=entries, next_cursor=cursor)

    async def list_resource_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        def listed(call: Call) -> list[types.ResourceTemplate]:
            found: list[types.ResourceTemplate] = []
            for resources in self.resources:
                found += [listed_template(template) for template in resources.templates]
            return found

        entries, cursor = page_of(await self.run_for(ctx, listed), params)
        return types.ListResourceTemplatesResult(resource_templates=entries, next_cursor=cursor)

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        def read(call: Call) -> types.ReadResourceResult:
            for resources in self.resources:
                if params.uri.startswith(resources.address):
                    contents = resource_contents(params.uri, resources.read(call, params.uri))
                    return types.ReadResourceResult(contents=[contents])
            raise NotFound(f"Unknown resource: {params.uri}")

        return await self.run_for(ctx, read)

    # Prompts

    async def list_prompts(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        def listed(call: Call) -> list[types.Prompt]:
            found: list[types.Prompt] = []
            for prompts in self.prompts:
                found += [listed_prompt(prompt) for prompt in prompts.listed(call)]
            return found

        entries, cursor = page_of(await self.run_for(ctx, listed), params)
        return types.ListPromptsResult(prompts=entries, next_cursor=cursor)

    async def get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        def get(call: Call) -> types.GetPromptResult:
            for prompts in self.prompts:
                text = prompts.get(call, params.name, params.arguments or {})
                if text is not None:
                    content = types.TextContent(text=text)
                    message = types.PromptMessage(role="user", content=content)
                    return types.GetPromptResult(messages=[message])
            raise NotFound(f"Unknown prompt: {params.name}")

        return await self.run_for(ctx, get)

    async def complete(
        self, ctx: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        if isinstance(params.ref, types.PromptReference):
            source = params.ref.name
        else:
            source = params.ref.uri

        def find_values(call: Call) -> list[str]:
            found: list[str] = []
            for prompts in self.prompts:
                found += prompts.complete(call, source, params.argument.name, params.argument.value)
            return found

        values = await self.run_for(ctx, find_values)
        completion = types.Completion(
            values=values[:MAX_COMPLETIONS],
            total=len(values),
            has_more=len(values) > MAX_COMPLETIONS,
        )
        return types.CompleteResult(completion=completion)

    async def run_for(self, ctx: Context, action: Callable[[Call], Answer]) -> Answer:
        """Run an action that reads, in a worker thread; our errors become the protocol's."""
        client = ClientLink(ctx, self.bus)

        def run() -> Answer:
            call = client.make_call(self.engine())
            if "read" not in call.scopes:
                raise Denied("This needs a key with the scope: read.")
            return hide_unexpected(ctx.method, call, lambda: action(call))

        try:
            return await client.run_in(self.pools.calls, run)
        except MemolithError as error:
            raise MCPError(error_code(ctx, error), error.message) from None


def form_request(message: str, schema: dict[str, Any]) -> types.InputRequiredResult:
    """Ask a modern client to let its user fill in a form, and to repeat the call with it."""
    form = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    return types.InputRequiredResult(input_requests={FORM_NAME: types.ElicitRequest(params=form)})


def may_send_code(ctx: Context, code: int) -> bool:
    return code != RESOURCE_NOT_FOUND or not is_modern(ctx)


def error_code(ctx: Context, error: MemolithError) -> int:
    is_missing_resource = isinstance(error, NotFound) and ctx.method == "resources/read"
    if is_missing_resource and not is_modern(ctx):
        return RESOURCE_NOT_FOUND
    if error.status >= 500:
        return types.INTERNAL_ERROR
    if isinstance(error, Denied):
        return types.INVALID_REQUEST
    return types.INVALID_PARAMS


def listed_resource(resource: Resource) -> types.Resource:
    return types.Resource(
        uri=resource.uri,
        name=resource.name,
        title=resource.title,
        description=resource.description or None,
        mime_type=resource.mime_type,
    )


def listed_template(template: Resource) -> types.ResourceTemplate:
    return types.ResourceTemplate(
        uri_template=template.uri,
        name=template.name,
        description=template.description or None,
        mime_type=template.mime_type,
    )


def resource_contents(uri: str, content: str | dict[str, Any]) -> types.TextResourceContents:
    if isinstance(content, str):
        return types.TextResourceContents(uri=uri, mime_type="text/markdown", text=content)
    text = json.dumps(content, ensure_ascii=False)
    return types.TextResourceContents(uri=uri, mime_type="application/json", text=text)


def listed_prompt(prompt: Prompt) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=name, description=description or None, required=required)
        for name, description, required in prompt.arguments
    ]
    return types.Prompt(
        name=prompt.name,
        description=prompt.description or None,
        arguments=arguments or None,
    )


def page_of(
    entries: Sequence[Entry], params: types.PaginatedRequestParams | None
) -> tuple[list[Entry], str | None]:
    """The page that the cursor asks for, and the cursor of the next one."""
    start = 0
    if params is not None and params.cursor is not None:
        start = position_of(params.cursor)
        if not 0 < start < len(entries):
            raise MCPError(
                types.INVALID_PARAMS,
                "The cursor is not valid (any more); list again from the start.",
            )
    end = start + PAGE_SIZE
    next_cursor = str(end) if end < len(entries) else None
    return list(entries[start:end]), next_cursor


def position_of(cursor: str) -> int:
    """Where the page of a cursor begins; 0, which no cursor stands for, if it is not ours."""
    is_number = cursor.isascii() and cursor.isdecimal()
    if not is_number or len(cursor) > MAX_CURSOR_DIGITS:
        return 0
    return int(cursor)
