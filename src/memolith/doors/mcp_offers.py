"""The resources, prompts and completions of a registry's families, over MCP, and lists in pages."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeVar

import mcp_types as types
from mcp.server.subscriptions import SubscriptionBus
from mcp.shared.exceptions import MCPError

from memolith.doors.mcp_calls import Client, Context, is_modern
from memolith.errors import Denied, MemolithError, NotFound
from memolith.registry import Call, Content, Prompt, Prompts, Registry, Resource, Resources, guarded

if TYPE_CHECKING:
    from memolith.engine.engine import Engine

Answer = TypeVar("Answer")
Listed = TypeVar("Listed")

NO_RESOURCE = -32002
MOST_COMPLETIONS = 100
# Large enough for every tool there is, because some clients never ask for a second page.
PAGE = 250


class Offers:
    """What the shown families offer beside their tools."""

    def __init__(self, registry: Registry, engine: Callable[[], Engine], bus: SubscriptionBus) -> None:
        self.engine = engine
        self.bus = bus
        self.resources: list[Resources] = [family.resources for family in registry.shown if family.resources]
        self.prompts: list[Prompts] = [family.prompts for family in registry.shown if family.prompts]

    def handlers(self) -> dict[str, Any]:
        """The server's handlers for what there is, so that it declares no more than that."""
        found: dict[str, Any] = {}
        if self.resources:
            found |= {"on_list_resources": self.list_resources, "on_read_resource": self.read_resource,
                      "on_list_resource_templates": self.list_templates}
        if self.prompts:
            found |= {"on_list_prompts": self.list_prompts, "on_get_prompt": self.get_prompt}
        return found | {"on_completion": self.complete} if found else found

    async def ask(self, ctx: Context, action: Callable[[Call], Answer]) -> Answer:
        """Run it in a worker thread and translate our errors into the protocol's."""
        client = Client(ctx, self.bus)

        def run() -> Answer:
            call = replace(client.call(self.engine()), elicit=None)
            if "read" not in call.scopes:
                raise Denied("This needs a key with the scope: read.")
            return guarded(ctx.method, call, lambda: action(call))

        try:
            return await client.work(run)
        except MemolithError as error:
            raise MCPError(code_of(error, ctx), error.message) from None

    async def list_resources(self, ctx: Context,
                             params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        found = await self.ask(ctx, lambda call: [one for each in self.resources for one in each.listed(call)])
        resources, cursor = page(found, params)
        shown = [types.Resource(**listed(one)) for one in resources]
        return types.ListResourcesResult(resources=shown, next_cursor=cursor)

    async def list_templates(self, ctx: Context,
                             params: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
        templates, cursor = page([one for each in self.resources for one in each.templates], params)
        shown = [types.ResourceTemplate(uri_template=one.uri, name=one.name, description=one.description or None,
                                        mime_type=one.mime_type) for one in templates]
        return types.ListResourceTemplatesResult(resource_templates=shown, next_cursor=cursor)

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        content = await self.ask(ctx, lambda call: first(each.read(call, params.uri) for each in self.resources))
        if content is None:
            raise MCPError(types.INVALID_PARAMS if is_modern(ctx) else NO_RESOURCE, f"Unknown resource: {params.uri}")
        return types.ReadResourceResult(contents=[as_contents(content)])

    async def list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        found = await self.ask(ctx, lambda call: [one for each in self.prompts for one in each.listed(call)])
        prompts, cursor = page(found, params)
        return types.ListPromptsResult(prompts=[types.Prompt(**listed(one)) for one in prompts], next_cursor=cursor)

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        values = params.arguments or {}
        text = await self.ask(ctx, lambda call: first(each.get(call, params.name, values) for each in self.prompts))
        if text is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
        return types.GetPromptResult(messages=[
            types.PromptMessage(role="user", content=types.TextContent(text=text))])

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        name, beginning = params.argument.name, params.argument.value
        if isinstance(params.ref, types.PromptReference):
            offers: Sequence[Resources | Prompts] = self.prompts
            what = params.ref.name
        else:
            offers, what = self.resources, params.ref.uri
        values = await self.ask(
            ctx, lambda call: [value for each in offers for value in each.complete(call, what, name, beginning)])
        return types.CompleteResult(completion=types.Completion(
            values=values[:MOST_COMPLETIONS], total=len(values), has_more=len(values) > MOST_COMPLETIONS))


def page(entries: Sequence[Listed], params: types.PaginatedRequestParams | None) -> tuple[list[Listed], str | None]:
    """The entries of the page that was asked for, and the cursor of the next, if there is one."""
    cursor = params.cursor if params is not None else None
    start = 0
    if cursor is not None:
        start = int(cursor) if cursor.isascii() and cursor.isdecimal() and len(cursor) < 10 else 0
        if not 0 < start < len(entries):
            raise MCPError(types.INVALID_PARAMS, "The cursor is not valid (any more); list again from the start.")
    end = start + PAGE
    return list(entries[start:end]), str(end) if end < len(entries) else None


def first(candidates: Any) -> Any:
    """The first that is not None."""
    return next((candidate for candidate in candidates if candidate is not None), None)


def code_of(error: MemolithError, ctx: Context) -> int:
    if isinstance(error, NotFound):
        return NO_RESOURCE if ctx.method == "resources/read" and not is_modern(ctx) else types.INVALID_PARAMS
    if error.status in (401, 403):
        return types.INVALID_REQUEST
    return types.INVALID_PARAMS if error.status < 500 else types.INTERNAL_ERROR


def listed(one: Resource | Prompt) -> dict[str, Any]:
    """The fields of what is listed, which bear the protocol's names; empty ones are left out."""
    return asdict(one, dict_factory=lambda pairs: {name: value for name, value in pairs if value not in ("", ())})


def as_contents(content: Content) -> types.TextResourceContents | types.BlobResourceContents:
    if isinstance(content.data, bytes):
        return types.BlobResourceContents(uri=content.uri, mime_type=content.mime_type,
                                          blob=base64.b64encode(content.data).decode())
    return types.TextResourceContents(uri=content.uri, mime_type=content.mime_type, text=content.data)
