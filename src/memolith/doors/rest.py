"""REST: every tool as `POST /mcp/tools/{tool}`, described for machines and people, and what runs a server needs."""

from __future__ import annotations

import html
import json
import logging
import threading
from collections import Counter, defaultdict
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from memolith import __version__
from memolith.app import App
from memolith.doors.auth import Issuer, challenge
from memolith.doors.mcp_server import CALLER, LONGEST_KEY, REQUEST, SCOPES_KEY
from memolith.engine.intake import json_object
from memolith.errors import InvalidInput, MemolithError, NotFound, TooLarge
from memolith.registry import Call, Registry, Tool

log = logging.getLogger(__name__)
STATUSES = {400: "The input is not valid.", 401: "A valid key is needed.", 403: "The key does not allow this.",
            404: "There is no such thing.", 409: "The present state does not allow it.",
            413: "The request is too large.", 429: "Too many calls.", 503: "A part does not work right now.",
            507: "The disk is full."}
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>memolith: tools</title>
<style>body{font:16px/1.5 system-ui;max-width:50rem;margin:2rem auto;padding:0 1rem} pre{overflow:auto}</style>
<h1>memolith: tools over REST</h1><p><code>POST /mcp/tools/NAME</code> with a JSON object and
<code>Authorization: Bearer KEY</code>. Machines read <a href="/openapi.json">openapi.json</a>.</p>
"""


class Metrics:
    """What was called how often, with what outcome, and how long it took."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: Counter[tuple[str, str]] = Counter()
        self._seconds: dict[str, float] = defaultdict(float)

    def count(self, tool: str, outcome: str, seconds: float) -> None:
        """Note one call."""
        with self._lock:
            self._calls[tool, outcome] += 1
            self._seconds[tool] += seconds

    def text(self, gauges: dict[str, int]) -> str:
        """Everything in the form that Prometheus reads, with the gauges of the moment."""
        with self._lock:
            calls, seconds = dict(self._calls), dict(self._seconds)
        return "\n".join([
            "# HELP memolith_calls_total Calls of tools by outcome.", "# TYPE memolith_calls_total counter",
            *(f'memolith_calls_total{{tool="{tool}",outcome="{outcome}"}} {count}'
              for (tool, outcome), count in sorted(calls.items())),
            "# HELP memolith_call_seconds_total Time spent in calls.", "# TYPE memolith_call_seconds_total counter",
            *(f'memolith_call_seconds_total{{tool="{tool}"}} {time:.6f}' for tool, time in sorted(seconds.items())),
            *(f"# TYPE memolith_{name} gauge\nmemolith_{name} {value}" for name, value in gauges.items()), ""])


class Rest:
    """The routes beside MCP."""

    def __init__(self, app: App, registry: Registry, metrics: Metrics, issuer: Issuer | None = None) -> None:
        self.app, self.registry, self.metrics, self.issuer = app, registry, metrics, issuer
        self.routes = [
            Route("/mcp/tools/{tool}", self.call, methods=["POST"]),
            Route("/health", self.health), Route("/metrics", self.show_metrics),
            Route("/openapi.json", self.show_openapi), Route("/docs", self.show_page),
            Route("/.well-known/oauth-protected-resource", self.resource_metadata),
            Route("/.well-known/oauth-protected-resource/{path:path}", self.resource_metadata)]

    async def call(self, request: Request) -> Response:
        """Run one tool; whatever is raised before that is worded as the tool's family does."""
        name, scope = request.path_params["tool"], request.scope
        tool = self.registry.find(name)
        if tool is None:
            raise NotFound("There is no such tool.", field="tool")
        arguments = await self.arguments(request)
        key = request.headers.get("idempotency-key")
        if key is not None and not 0 < len(key) <= LONGEST_KEY:
            raise InvalidInput(f"An idempotency key has 1 to {LONGEST_KEY} characters.", field="idempotency_key")
        call = Call(scope[CALLER], self.app.engine, scope[REQUEST], key, scope[SCOPES_KEY])
        outcome = await run_in_threadpool(self.registry.run, name, arguments, call)
        headers: dict[str, str] = {}
        if not tool.open_to(call.scopes):
            headers["www-authenticate"] = challenge(self.issuer, request.url.path, "insufficient_scope", tool.scopes)
        if (error := outcome.error) and error.retry_s:
            headers["retry-after"] = str(error.retry_s)
        if error and error.status >= 500:
            log.warning("request %s: %s answered %s", call.request_id, name, error.status)
        return Response(outcome.text, error.status if error else 200, headers, "application/json")

    async def arguments(self, request: Request) -> dict[str, Any]:
        """The body as an object; nothing at all means no arguments."""
        body, most = bytearray(), self.app.settings.body_bytes
        try:
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise TooLarge(f"A request has at most {most:,} bytes.")
        except ClientDisconnect as error:
            raise InvalidInput("The request ended in the middle.") from error
        return json_object(body, "The body", "body") if body.strip() else {}

    async def health(self, request: Request) -> Response:
        """Open to all, so it tells no more than that."""
        try:
            state = await run_in_threadpool(self.app.engine.health)
        except MemolithError as error:
            return JSONResponse({"status": "unhealthy", "error": error.type}, 503)
        return JSONResponse({"status": "healthy", "version": __version__, "embeddings": state["embeddings"]})

    async def show_metrics(self, request: Request) -> Response:
        """For Prometheus."""
        state = await run_in_threadpool(self.app.engine.health)
        gauges = {"embeddings_pending": int(state["pending"]), "embeddings_failed": int(state["failed"])}
        return PlainTextResponse(self.metrics.text(gauges), media_type="text/plain; version=0.0.4")

    async def show_openapi(self, request: Request) -> Response:
        """For machines."""
        return JSONResponse(await run_in_threadpool(openapi, self.registry))

    async def show_page(self, request: Request) -> Response:
        """For people."""
        return HTMLResponse(await run_in_threadpool(page, self.registry))

    async def resource_metadata(self, request: Request) -> Response:
        """Where tokens come from, if they are accepted here."""
        if self.issuer is None:
            return JSONResponse({"error": "not_found", "message": "No OAuth issuer is set; use a key."}, 404)
        path = request.path_params.get("path", "")
        return JSONResponse(self.issuer.metadata(f"/{path}" if path else ""))


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


def page(registry: Registry) -> str:
    """The tools as a page to read."""
    return PAGE + "".join(
        f"<h2>{html.escape(tool.name)} <small>{html.escape(tool.family)}</small></h2>"
        f"<p>{html.escape(tool.description)}</p><p>Arguments: {html.escape(', '.join(tool.input_schema['properties']))}"
        f"; required: {html.escape(', '.join(tool.input_schema.get('required', [])))}</p>"
        f"<details><pre>{html.escape(json.dumps(tool.input_schema, indent=2))}</pre></details>\n"
        for tool in registry.tools)
