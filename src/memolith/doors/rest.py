"""REST: every tool as `POST /mcp/tools/{tool}`, and what runs a server needs."""

from __future__ import annotations

import logging
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from memolith import __version__
from memolith.app import App
from memolith.doors.auth import Issuer, challenge
from memolith.doors.mcp_calls import CALLER, LONGEST_KEY, REQUEST, SCOPES_KEY
from memolith.doors.metrics import Metrics
from memolith.doors.openapi import openapi, page
from memolith.engine.intake import json_object
from memolith.errors import InvalidInput, MemolithError, NotFound, TooLarge
from memolith.registry import PLAIN, Call, Outcome, Registry

log = logging.getLogger(__name__)


class Rest:
    """The routes beside MCP."""

    def __init__(self, app: App, registry: Registry, metrics: Metrics, body_bytes: int,
                 issuer: Issuer | None = None) -> None:
        self.app, self.registry, self.metrics = app, registry, metrics
        self.body_bytes, self.issuer = body_bytes, issuer
        self.routes = [
            Route("/mcp/tools/{tool}", self.call, methods=["POST"]),
            Route("/health", self.health), Route("/metrics", self.show_metrics),
            Route("/openapi.json", self.show_openapi), Route("/docs", self.show_page),
            Route("/.well-known/oauth-protected-resource", self.resource_metadata),
            Route("/.well-known/oauth-protected-resource/{path:path}", self.resource_metadata)]

    async def call(self, request: Request) -> Response:
        """Run one tool."""
        name = request.path_params["tool"]
        outcome = await self.outcome(request, name)
        status = outcome.error.status if outcome.error else 200
        known = name if self.registry.find(name) else "unknown"
        if outcome.error is not None and status >= 500:
            log.warning("request %s: %s answered %s", request.scope.get(REQUEST), known, status)
        wait = {"retry-after": str(outcome.error.retry_s)} if outcome.error and outcome.error.retry_s else {}
        return Response(outcome.text, status, self.missing_scope(request, name) | wait, "application/json")

    def missing_scope(self, request: Request, name: str) -> dict[str, str]:
        """For a key that does not reach: which one would."""
        tool = self.registry.find(name)
        if tool is None or tool.open_to(request.scope[SCOPES_KEY]):
            return {}
        return {"www-authenticate": challenge(self.issuer, request.url.path, "insufficient_scope", tool.scopes)}

    async def outcome(self, request: Request, name: str) -> Outcome:
        """The result of the tool, or its error in the words of its family."""
        try:
            if self.registry.find(name) is None:
                raise NotFound("There is no such tool.", field="tool")
            arguments = await self.arguments(request)
            key = request.headers.get("idempotency-key")
            if key is not None and not 0 < len(key) <= LONGEST_KEY:
                raise InvalidInput(f"An idempotency key has 1 to {LONGEST_KEY} characters.", field="idempotency_key")
        except MemolithError as error:
            return self.registry.refuse(name, error)
        call = Call(request.scope[CALLER], self.app.engine, request.scope[REQUEST], key, request.scope[SCOPES_KEY],
                    local=False)
        return await run_in_threadpool(self.registry.run, name, arguments, call)

    async def arguments(self, request: Request) -> dict[str, Any]:
        """The body as an object; nothing at all means no arguments."""
        body = bytearray()
        try:
            async for chunk in request.stream():
                body += chunk
                if len(body) > self.body_bytes:
                    raise TooLarge(f"A request has at most {self.body_bytes:,} bytes.")
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
        try:
            state = await run_in_threadpool(self.app.engine.health)
        except MemolithError as error:
            return JSONResponse(PLAIN.failure(error), error.status)
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
