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
from memolith.doors.auth import Access, Issuer
from memolith.doors.mcp_http import McpHttp
from memolith.doors.rest import Metrics, Rest
from memolith.errors import InvalidInput, MemolithError, NotFound, Unavailable
from memolith.registry import PLAIN, Registry
from memolith.settings import Settings

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def build(app: App, *, read_only: bool = False, conformance: bool = False) -> ASGIApp:
    """The whole server as one ASGI app."""
    settings = app.settings
    issuer = issuer_of(settings) if settings.oauth_issuer else None
    metrics = Metrics()
    everything = Registry(app.registry.families, observe=metrics.count)
    # Several servers on one database know no sessions of each other, so there each request stands for itself.
    mcp = McpHttp(everything, lambda: app.engine, read_only=read_only, stateless=bool(settings.database),
                  most_body_bytes=settings.body_bytes)
    rest = Rest(app, everything.reading() if read_only else everything, metrics, issuer)
    doors = [mcp, *([conformance_fixtures(settings.host)] if conformance else [])]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for door in doors:
                await stack.enter_async_context(door.run())
            app.start_background()
            yield

    routes = [*rest.routes, *(route for door in doors for route in door.routes)]
    word = wording(everything)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, MemolithError)
        return JSONResponse(word(error, request.url.path), error.status)

    server = Starlette(routes=routes, lifespan=lifespan,
                       exception_handlers={404: worded, 405: worded, MemolithError: refused})
    # A path is what it says, and a redirect would lose the body.
    server.router.redirect_slashes = False
    return Access(server, app.keys, settings, app.clock.now, issuer, app.allowance, word,
                  frozenset(("/health", "/conformance") if conformance else ("/health",)))


def issuer_of(settings: Settings) -> Issuer:
    """Who issues tokens, by the settings."""
    if not settings.oauth_audience or not settings.oauth_jwks_url:
        raise InvalidInput("OAuth needs oauth_issuer, oauth_audience and oauth_jwks_url.", field="oauth_audience")
    return Issuer(settings.oauth_issuer, settings.oauth_audience, settings.oauth_jwks_url)


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
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET,
                                        backlog=128)
    except OSError as error:
        raise Unavailable(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
    # Every connection inherits it: with Nagle's algorithm an answer in two writes waits 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def run(app: App, listener: socket.socket, ready: Callable[[], None], *, read_only: bool = False,
        conformance: bool = False) -> None:
    """Serve until a signal ends it; running calls are finished first."""
    config = uvicorn.Config(build(app, read_only=read_only, conformance=conformance), log_config=None,
                            access_log=False, timeout_graceful_shutdown=5, server_header=False, http="h11")
    ready()
    # uvicorn gives the signal back when it is done, which would end the process before the store is closed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    uvicorn.Server(config).run(sockets=[listener])
