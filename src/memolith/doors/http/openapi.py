"""The REST interface described for machines (`/openapi.json`) and for people (`/docs`)."""

import html
import json
from collections.abc import Iterable
from typing import Any

from memolith import __version__
from memolith.doors.http.foreign_openapi import foreign_paths
from memolith.doors.http.openapi_parts import IDEMPOTENCY_HEADER, error_responses
from memolith.tools.family import Tool
from memolith.tools.registry import Registry
from memolith.tools.rest_api import RestApi

HEALTH = {
    "get": {
        "summary": "Whether the server works.",
        "security": [],
        "responses": {"200": {"description": "It does."}},
    }
}
SCHEMA_PATH = "/openapi.json"
PAGE_START = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>memolith: tools</title>
<style>body{font:16px/1.5 system-ui;max-width:50rem;margin:2rem auto;padding:0 1rem}
pre{overflow:auto}</style>
<h1>memolith: tools over REST</h1><p><code>POST /mcp/tools/NAME</code> with a JSON object and
<code>Authorization: Bearer KEY</code>. Machines read <a href="/openapi.json">openapi.json</a>,
which also has the routes of other memory systems.</p>\
"""


def openapi(
    registry: Registry, apis: Iterable[RestApi] = (), *, read_only: bool = False
) -> dict[str, Any]:
    """The OpenAPI document of the tools of a registry and of the routes of other systems.

    With `read_only`, routes that write are left out; the registry has no such tools then.
    """
    paths: dict[str, Any] = {"/health": HEALTH}
    for tool in registry.tools:
        paths[f"/mcp/tools/{tool.name}"] = {"post": operation(tool)}
    for api in apis:
        paths[api.health_path] = HEALTH
        paths.update(foreign_paths(api, read_only=read_only))
    return {
        "openapi": "3.1.0",
        "info": {"title": "memolith", "version": __version__},
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{"key": []}],
        "paths": paths,
    }


def operation(tool: Tool) -> dict[str, Any]:
    body = {"application/json": {"schema": request_schema(tool)}}
    result = {"application/json": {"schema": tool.whole_output_schema}}
    return {
        "operationId": tool.name,
        "summary": tool.description,
        "tags": [tool.family],
        "parameters": [IDEMPOTENCY_HEADER],
        "requestBody": {
            "required": bool(tool.input_schema.get("required")),
            "content": body,
        },
        "responses": {
            "200": {"description": "The result.", "content": result},
            **error_responses(),
        },
    }


def request_schema(tool: Tool) -> dict[str, Any]:
    """The input schema; an argument that may be left out and has no default may also be null."""
    required = tool.input_schema.get("required", [])
    properties: dict[str, Any] = {}
    for name, schema in tool.input_schema["properties"].items():
        if name in required or "default" in schema:
            properties[name] = schema
        else:
            properties[name] = {"anyOf": [schema, {"type": "null"}]}
    return {**tool.input_schema, "properties": properties}


def docs_page(registry: Registry, schema_path: str = SCHEMA_PATH) -> str:
    """Every tool with its arguments, as a web page that links to the description for machines."""
    start = PAGE_START.replace(SCHEMA_PATH, schema_path)
    return start + "".join(tool_section(tool) for tool in registry.tools)


def tool_section(tool: Tool) -> str:
    name = html.escape(tool.name)
    family = html.escape(tool.family)
    description = html.escape(tool.description)
    schema = html.escape(json.dumps(tool.input_schema, indent=2))
    return (
        f"<h2>{name} <small>{family}</small></h2>"
        f"<p>{description}</p><details><summary>Arguments</summary>"
        f"<pre>{schema}</pre></details>"
    )
