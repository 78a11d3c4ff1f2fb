"""The REST door described for machines (OpenAPI) and for people (one page)."""

from __future__ import annotations

import html
import json
from typing import Any

from memolith import __version__
from memolith.registry import Registry, Tool

STATUSES = {400: "The input is not valid.", 401: "A valid key is needed.", 403: "The key does not allow this.",
            404: "There is no such thing.", 409: "The present state does not allow it.",
            413: "The request is too large.", 429: "Too many calls.", 503: "A part does not work right now.",
            507: "The disk is full."}


def openapi(registry: Registry) -> dict[str, Any]:
    """The whole REST door as OpenAPI 3.1."""
    paths: dict[str, Any] = {f"/mcp/tools/{tool.name}": {"post": operation(tool)} for tool in registry.tools}
    paths["/health"] = {"get": {"summary": "Whether the server works.", "security": [],
                                "responses": {"200": {"description": "It does."}}}}
    return {"openapi": "3.1.0", "info": {"title": "memolith", "version": __version__,
                                         "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
            "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
            "security": [{"key": []}], "paths": paths}


def operation(tool: Tool) -> dict[str, Any]:
    """One tool as an operation."""
    errors = {str(status): {"description": text, "content": {"application/json": {"schema": {"type": "object"}}}}
              for status, text in STATUSES.items()}
    return {"operationId": tool.name, "summary": tool.description, "tags": [tool.family],
            "parameters": [{"name": "Idempotency-Key", "in": "header", "required": False,
                            "schema": {"type": "string", "minLength": 1, "maxLength": 200}}],
            "requestBody": {"required": bool(tool.input_schema.get("required")),
                            "content": {"application/json": {"schema": accepted(tool)}}},
            "responses": {"200": {"description": "The result.", "content": {
                "application/json": {"schema": tool.output_schema}}}, **errors}}


def accepted(tool: Tool) -> dict[str, Any]:
    """What a tool takes: an argument without a default that may be left out may also be null."""
    required = tool.input_schema.get("required", [])
    return {**tool.input_schema, "properties": {
        name: schema if name in required or "default" in schema else {"anyOf": [schema, {"type": "null"}]}
        for name, schema in tool.input_schema["properties"].items()}}


PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>memolith: tools</title>
<style>body{font:16px/1.5 system-ui;max-width:50rem;margin:2rem auto;padding:0 1rem} pre{overflow:auto}</style>
<h1>memolith: tools over REST</h1><p><code>POST /mcp/tools/NAME</code> with a JSON object and
<code>Authorization: Bearer KEY</code>. Machines read <a href="/openapi.json">openapi.json</a>.</p>
"""


def page(registry: Registry) -> str:
    """The tools as a page to read."""
    return PAGE + "".join(
        f"<h2>{html.escape(tool.name)} <small>{html.escape(tool.family)}</small></h2>"
        f"<p>{html.escape(tool.description)}</p><p>Arguments: {html.escape(', '.join(tool.input_schema['properties']))}"
        f"; required: {html.escape(', '.join(tool.input_schema.get('required', [])))}</p>"
        f"<details><pre>{html.escape(json.dumps(tool.input_schema, indent=2))}</pre></details>\n"
        for tool in registry.tools)
