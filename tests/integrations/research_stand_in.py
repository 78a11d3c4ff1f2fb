"""What OpenAI does with an MCP server in a deep research: search, fetch the best, cite it.

It refuses a server whose tools or results are not as documented, so that ours must be.
"""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

WANTED_ARGUMENTS = {"search": ["query"], "fetch": ["id"]}


def research(question: str, tool: dict[str, Any]) -> list[dict[str, Any]]:
    """The output of a response: the calls of the tools, and a message that cites."""
    return anyio.run(_research, question, tool)


async def _research(question: str, tool: dict[str, Any]) -> list[dict[str, Any]]:
    headers = {"Authorization": f"Bearer {tool['authorization']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, verify=False) as http,
        Client(streamable_http_client(tool["server_url"], http_client=http)) as client,
    ):
        listed = (await client.list_tools()).tools
        arguments = {entry.name: list(entry.input_schema["properties"]) for entry in listed}
        assert arguments == WANTED_ARGUMENTS, arguments
        assert all(entry.annotations and entry.annotations.read_only_hint for entry in listed)
        found = only_object(await client.call_tool("search", {"query": question}))
        best = found["results"][0]
        assert sorted(best) == ["id", "title", "url"], best
        document = only_object(await client.call_tool("fetch", {"id": best["id"]}))
    for name in ("id", "title", "text", "url"):
        assert isinstance(document[name], str), document
        assert document[name], document
    label = tool["server_label"]
    return [
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": label, "tools": []},
        mcp_call(label, "search", {"query": question}, found),
        mcp_call(label, "fetch", {"id": best["id"]}, document),
        cited(document),
    ]


def only_object(result: Any) -> dict[str, Any]:
    """The result of a tool: one piece of text that is JSON, and the same as structured content."""
    [content] = result.content
    assert content.type == "text"
    value: dict[str, Any] = json.loads(content.text)
    assert value == result.structured_content
    return value


def mcp_call(
    label: str, name: str, arguments: dict[str, Any], output: dict[str, Any]
) -> dict[str, Any]:
    return {
        "type": "mcp_call",
        "id": f"mcp_{name}",
        "server_label": label,
        "name": name,
        "arguments": json.dumps(arguments),
        "output": json.dumps(output),
        "status": "completed",
    }


def cited(document: dict[str, Any]) -> dict[str, Any]:
    text = document["text"]
    citation = {
        "type": "url_citation",
        "start_index": 0,
        "end_index": len(text),
        "title": document["title"],
        "url": document["url"],
    }
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": [citation]}],
    }
