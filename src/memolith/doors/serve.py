"""The HTTP server: MCP on its paths, REST beside it, access control around both."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from memolith.app import App
from memolith.doors.auth import Access, Rules
from memolith.doors.conformance import Conformance
from memolith.doors.mcp_http import McpHttp
from memolith.doors.rest import Rest
from memolith.doors.tokens import Issuer
from memolith.errors import InvalidInput, Unavailable
from memolith.registry import Registry


def build(app: App, *, read_only: bool = False, conformance: bool = False) -> ASGIApp:
    """The whole server as one ASGI app."""
    settings = app.settings
    issuer = None
    if settings.oauth_issuer:
        if not settings.oauth_audience or not settings.oauth_jwks_url:
            raise InvalidInput("OAuth needs oauth_issuer, oauth_audience and oauth_jwks_url.", field="oauth_audience")
        issuer = Issuer(settings.oauth_issuer, settings.oauth_audience, settings.oauth_jwks_url)
    registry: Registry = app.registry.reading() if read_only else app.registry
    mcp = McpHttp(app.registry, lambda: app.engine, read_only=read_only, hosts=settings.hosts,
                  origins=settings.origins, most_body_bytes=settings.body_bytes)
    rest = Rest(app, registry, settings.body_bytes, issuer)
    fixtures = [Conformance()] if conformance else []

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(mcp.run())
            for fixture in fixtures:
                await stack.enter_async_context(fixture.run())
            app.start_background()
            yield

    routes = [*rest.routes, *mcp.routes, *(route for fixture in fixtures for route in fixture.routes)]
    rules = Rules(tuple(settings.hosts), tuple(settings.origins), settings.calls_per_minute, settings.body_bytes,
                  issuer)
    server = Starlette(routes=routes, lifespan=lifespan)
    # A path is what it says, and a redirect would lose the body.
    server.router.redirect_slashes = False
    return Access(server, app.keys, rules, app.clock.now)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, so that the address is known before anything is said."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        raise Unavailable(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
    return listener


def run(app: App, listener: socket.socket, ready: Callable[[], None], *, read_only: bool = False,
        conformance: bool = False) -> None:
    """Serve until a signal ends it; running calls are finished first."""
    logging.basicConfig(stream=sys.stderr, level=app.settings.log_level.upper(),
                        format="%(asctime)s %(levelname)s %(name)s %(message)s")
    config = uvicorn.Config(build(app, read_only=read_only, conformance=conformance), log_config=None,
                            access_log=False, timeout_graceful_shutdown=5, server_header=False)
    ready()
    uvicorn.Server(config).run(sockets=[listener])
