"""The tools that the official MCP conformance suite asks for, with the texts that it expects."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

from memolith.doors.mcp.client_link import Context, is_modern
from memolith.tools.schema import Schema

Params = types.CallToolRequestParams
Answer = types.CallToolResult | types.InputRequiredResult
Fixture = Callable[[Context, Params], Awaitable[Answer]]

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJ"
    "RU5ErkJggg=="
)
IMAGE = types.ImageContent(data=PIXEL, mime_type="image/png")
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
NAME: Schema = {"name": {"type": "string"}}
CONFIRM: Schema = {"ok": {"type": "boolean"}}
DEFAULTS: Schema = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "verified": {"type": "boolean", "default": True},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
}
TITLED = [{"const": f"value{number}", "title": f"Value {number}"} for number in (1, 2, 3)]
PLAIN_CHOICES = ["option1", "option2", "option3"]
ENUMS: Schema = {
    "untitledSingle": {"type": "string", "enum": PLAIN_CHOICES},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["One", "Two", "Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": PLAIN_CHOICES}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}
ADDRESS: Schema = {
    "$anchor": "addressDef",
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
SCHEMA_2020: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "phone": {"type": "string"},
        "email": {"type": "string"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
NO_ARGUMENTS: Schema = {"type": "object", "additionalProperties": False}

TOOLS: dict[str, tuple[Schema, Fixture]] = {}
BUS = InMemorySubscriptionBus()


def fixture(schema: Schema = NO_ARGUMENTS, name: str = "") -> Callable[[Fixture], Fixture]:
    def add(function: Fixture) -> Fixture:
        TOOLS[name or str(getattr(function, "__name__", ""))] = (schema, function)
        return function

    return add


def texts(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {key: {"type": "string", **more} for key, more in properties.items()},
    }


def text(words: str) -> types.TextContent:
    return types.TextContent(text=words)


def embedded(uri: str, words: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(
        resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    )


def result(*content: types.ContentBlock, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=list(content), is_error=is_error)


def form(message: str, properties: Schema) -> types.ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=schema)
    )


def sample(question: str) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=text(question))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=100)
    )


def needed(state: str | None = None, **requests: Any) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests or None, request_state=state)


def fixed(
    name: str,
    *content: types.ContentBlock,
    is_error: bool = False,
    schema: Schema = NO_ARGUMENTS,
    event: ServerEvent | None = None,
) -> None:
    """A tool that always answers the same, and may tell of an event."""

    async def answer(ctx: Context, params: Params) -> Answer:
        if event is not None:
            await BUS.publish(event)
        return result(*content, is_error=is_error)

    fixture(schema, name)(answer)


def asking(tail: str, state: str | None, done: str, **requests: Any) -> None:
    """A tool that needs these answers, and its own state back, before it is done."""

    async def answer(ctx: Context, params: Params) -> Answer:
        given = params.input_responses or {}
        if params.request_state == state and given.keys() >= requests.keys():
            found = given.get("user_name")
            name = (
                (found.content or {}).get("name", "")
                if isinstance(found, types.ElicitResult)
                else ""
            )
            return result(text(done.format(name=name)))
        return needed(state, **requests)

    fixture(name=f"test_input_required_result_{tail}")(answer)


fixed("test_simple_text", text("This is a simple text response for testing."))
fixed("test_image_content", IMAGE)
fixed("test_audio_content", types.AudioContent(data=SILENCE, mime_type="audio/wav"))
fixed(
    "test_embedded_resource",
    embedded("test://embedded-resource", "This is an embedded resource content."),
)
fixed(
    "test_multiple_content_types",
    text("Multiple content types test:"),
    IMAGE,
    embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
)
fixed(
    "test_error_handling",
    text("This tool intentionally returns an error for testing"),
    is_error=True,
)
fixed("json_schema_2020_12_tool", text("done"), schema=SCHEMA_2020)
fixed("test_trigger_tool_change", text("done"), event=ToolsListChanged())
fixed("test_trigger_prompt_change", text("done"), event=PromptsListChanged())
asking("elicitation", None, "Hello, {name}!", user_name=form("What is your name?", NAME))
asking(
    "sampling",
    None,
    "The model has answered.",
    capital_question=sample("What is the capital of France?"),
)
asking("list_roots", None, "The roots are known.", client_roots=types.ListRootsRequest())
asking("request_state", "round-1", "state-ok: confirmed", confirm=form("Please confirm", CONFIRM))
asking("tampered_state", "round-1", "state-ok", confirm=form("Please confirm", CONFIRM))
asking(
    "multiple_inputs",
    "several",
    "All answers are here, {name}.",
    user_name=form("What is your name?", NAME),
    greeting=sample("Write a greeting"),
    client_roots=types.ListRootsRequest(),
)


async def log_message(ctx: Context, words: str) -> None:
    params = types.LoggingMessageNotificationParams(level="info", data=words)
    await ctx.session.send_notification(
        types.LoggingMessageNotification(params=params), ctx.request_id
    )


@fixture()
async def test_tool_with_logging(ctx: Context, params: Params) -> Answer:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await log_message(ctx, words)
    return result(text("done"))


@fixture()
async def test_logging_tool(ctx: Context, params: Params) -> Answer:
    if not is_modern(ctx) or types.LOG_LEVEL_META_KEY in (ctx.meta or {}):
        await log_message(ctx, "a line")
    return result(text("done"))


@fixture()
async def test_tool_with_progress(ctx: Context, params: Params) -> Answer:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100, f"{done} of 100")
    return result(text("done"))


@fixture(texts(prompt={}))
async def test_sampling(ctx: Context, params: Params) -> Answer:
    request = sample((params.arguments or {}).get("prompt", ""))
    related = ServerMessageMetadata(related_request_id=ctx.request_id)
    answer = await ctx.session.send_request(request, types.CreateMessageResult, metadata=related)
    said = answer.content.text if isinstance(answer.content, types.TextContent) else ""
    return result(text(f"LLM response: {said}"))


def asking_directly(name: str, properties: Schema, schema: Schema = NO_ARGUMENTS) -> None:
    async def answer(ctx: Context, params: Params) -> Answer:
        message = (params.arguments or {}).get("message", "Please fill this in")
        requested = {"type": "object", "properties": properties, "required": []}
        found = await ctx.session.elicit_form(message, requested, ctx.request_id)
        return result(
            text(f"User response: action={found.action}, content={json.dumps(found.content)}")
        )

    fixture(schema, name)(answer)


asking_directly("test_elicitation", {"response": {"type": "string"}}, texts(message={}))
asking_directly("test_elicitation_sep1034_defaults", DEFAULTS)
asking_directly("test_elicitation_sep1330_enums", ENUMS)


@fixture()
async def test_streaming_elicitation(ctx: Context, params: Params) -> Answer:
    if "user_name" in (params.input_responses or {}):
        return result(text("done"))
    await ctx.session.report_progress(1, 2, "asking")
    return needed(user_name=form("What is your name?", NAME))


@fixture()
async def test_input_required_result_multi_round(ctx: Context, params: Params) -> Answer:
    given = params.input_responses or {}
    if params.request_state == "second" and "step2" in given:
        return result(text("done"))
    if params.request_state == "first" and "step1" in given:
        return needed("second", step2=form("Step 2: which colour?", {"color": {"type": "string"}}))
    return needed("first", step1=form("Step 1: what is your name?", NAME))


@fixture()
async def test_input_required_result_capabilities(ctx: Context, params: Params) -> Answer:
    client = ctx.session.client_capabilities
    requests: dict[str, Any] = {}
    if client is not None and client.sampling is not None:
        requests["sample"] = sample("Say hello")
    if client is not None and client.elicitation is not None:
        requests["ask"] = form("What is your name?", NAME)
    return needed("capabilities", **requests)


@fixture()
async def test_missing_capability(ctx: Context, params: Params) -> Answer:
    client = ctx.session.client_capabilities
    if client is None or client.sampling is None:
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "This tool needs sampling.",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return result(text("done"))


@fixture(texts(region={"x-mcp-header": "Region"}))
async def test_x_mcp_header(ctx: Context, params: Params) -> Answer:
    return result(text(f"region: {(params.arguments or {}).get('region')}"))


@fixture()
async def test_reconnection(ctx: Context, params: Params) -> Answer:
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
    # The answer must come after the client has noticed that its stream is closed.
    await anyio.sleep(0.2)
    return result(text("Reconnection test completed"))
