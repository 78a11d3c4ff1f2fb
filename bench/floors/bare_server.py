"""The SDK's low-level server with nothing around it: `bare_server.py TOOLS stdio` or
`bare_server.py TOOLS PORT`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

with open(sys.argv[1], encoding="utf-8") as file:
    TOOLS = [types.Tool.model_validate(tool) for tool in json.load(file)]
SCHEMAS = {tool.name: tool.input_schema for tool in TOOLS}


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    # The body of a `fetch`, so that both carry the same bytes.
    at = "2026-01-01T00:00:00.000000Z"
    item = {
        "id": "one",
        "kind": "memory",
        "title": "",
        "status": "active",
        "tags": [],
        "project": None,
        "version": 1,
        "created_at": at,
        "updated_at": at,
        "content": (params.arguments or {})["text"],
    }
    body = {"items": [item]}
    return types.CallToolResult(
        content=[types.TextContent(text=json.dumps(body))], structured_content=body
    )


server: Server[Any] = Server(
    "bare",
    version="0",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    get_tool_input_schema=SCHEMAS.get,
)


async def stdio() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    if sys.argv[2] == "stdio":
        anyio.run(stdio)
    else:
        import uvicorn

        uvicorn.run(
            server.streamable_http_app(),
            host="127.0.0.1",
            port=int(sys.argv[2]),
            log_level="warning",
        )
