"""The HTTP server: MCP on its paths, REST beside it, access control around both."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from memolith.app import App
from memolith.doors.auth import Access, Issuer, Rules
from memolith.doors.mcp_http import McpHttp
from memolith.doors.metrics import Metrics
from memolith.doors.rest import Rest
from memolith.doors.show import start_logging
from memolith.errors import InvalidInput, MemolithError, NotFound, Unavailable
from memolith.registry import PLAIN, Registry

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def build(app: App, *, read_only: bool = False, conformance: bool = False) -> ASGIApp:
    """The whole server as one ASGI app."""
    settings = app.settings
    issuer = None
    if settings.oauth_issuer:
        if not settings.oauth_audience or not settings.oauth_jwks_url:
            raise InvalidInput("OAuth needs oauth_issuer, oauth_audience and oauth_jwks_url.", field="oauth_audience")
        issuer = Issuer(settings.oauth_issuer, settings.oauth_audience, settings.oauth_jwks_url)
    metrics = Metrics()
    everything = Registry(app.registry.families, observe=metrics.count)
    registry = everything.reading() if read_only else everything
    # Several servers on one database know no sessions of each other, so there each request stands for itself.
    mcp = McpHttp(everything, lambda: app.engine, read_only=read_only, stateless=bool(settings.database),
                  hosts=settings.hosts, origins=settings.origins, most_body_bytes=settings.body_bytes)
    rest = Rest(app, registry, metrics, settings.body_bytes, issuer)
    fixtures = [conformance_fixtures(settings.host)] if conformance else []

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(mcp.run())
            for fixture in fixtures:
                await stack.enter_async_context(fixture.run())
            app.start_background()
            yield

    routes = [*mcp.routes, *rest.routes, *(route for fixture in fixtures for route in fixture.routes)]
    rules = Rules(tuple(settings.hosts), tuple(settings.origins), settings.calls_per_minute, settings.body_bytes,
                  issuer, ("/health", "/conformance") if conformance else ("/health",))
    server = Starlette(routes=routes, lifespan=lifespan, exception_handlers={404: worded, 405: worded})
    # A path is what it says, and a redirect would lose the body.
    server.router.redirect_slashes = False
    return Access(server, app.keys, rules, app.clock.now, app.allowance, wording(everything))


def conformance_fixtures(host: str) -> Any:
    """What the official MCP suite asks for; it lies beside the tests, for nobody else needs it."""
    if host not in LOOPBACK:
        raise InvalidInput("The conformance fixtures need no key, so they are served on loopback only.", field="host")
    tests = Path(__file__).parents[3] / "tests"
    if not (tests / "conformance").is_dir():
        raise InvalidInput("--conformance needs a checkout of the project; its fixtures are not in the package.",
                           field="conformance")
    sys.path.insert(0, str(tests))
    return import_module("conformance.server").Conformance()


def wording(registry: Registry) -> Callable[[MemolithError, str], dict[str, Any]]:
    """How the family that a path belongs to words an error."""
    dialects = {f"/mcp/{family.name}": family.dialect for family in registry.families}

    def word(error: MemolithError, path: str) -> dict[str, Any]:
        if tool := registry.find(path.removeprefix("/mcp/tools/")):
            return tool.dialect.failure(error)
        coded = dialects[path].jsonrpc(error) if path in dialects else None
        if coded is None:
            return PLAIN.failure(error)
        return {"jsonrpc": "2.0", "id": None, "error": dict(zip(("code", "message", "data"), coded, strict=True))}

    return word


async def worded(request: Request, error: Exception) -> Response:
    """The framework's own refusals in our words."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    ours = NotFound("There is no such path here.") if status == 404 else InvalidInput("This path takes another method.")
    return JSONResponse(PLAIN.failure(ours), status, getattr(error, "headers", None))


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, so that the address is known before anything is said."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # Named TCP, or asyncio leaves Nagle's algorithm on and every answer in two writes waits 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    except OSError as error:
        raise Unavailable(f"Cannot listen on {host}: {error.strerror}.") from error
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise Unavailable(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
    return listener


def run(app: App, listener: socket.socket, ready: Callable[[], None], *, read_only: bool = False,
        conformance: bool = False) -> None:
    """Serve until a signal ends it; running calls are finished first."""
    start_logging(app.settings.log_level)
    config = uvicorn.Config(build(app, read_only=read_only, conformance=conformance), log_config=None,
                            access_log=False, timeout_graceful_shutdown=5, server_header=False, http="h11")
    ready()
    # uvicorn gives the signal back when it is done, which would end the process before the store is closed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    uvicorn.Server(config).run(sockets=[listener])
