"""MCP over HTTP: one path for all tools and one for each family, both eras of the protocol on each."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memolith.doors.mcp_calls import CALLER, SCOPES_KEY
from memolith.doors.mcp_server import make_server
from memolith.errors import Unauthenticated
from memolith.registry import PLAIN, Registry

if TYPE_CHECKING:
    from memolith.engine.engine import Engine

LOOPBACK_HOSTS = ("127.0.0.1:*", "localhost:*", "[::1]:*")
LOOPBACK_ORIGINS = ("http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*")
MOST_BODY_BYTES = 4 * 1024 * 1024


class KnownCaller:
    """Lets a request in only if the access layer has said who calls, and ties sessions to him."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self.manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = scope.get(CALLER)
        if caller is None or SCOPES_KEY not in scope:
            refusal = JSONResponse(PLAIN.failure(Unauthenticated()), 401, {"WWW-Authenticate": "Bearer"})
            await refusal(scope, receive, send)
            return
        scope["user"] = known_as(caller.tenant, caller.user)
        await self.manager.asgi_app(scope, receive, send)


@lru_cache(1000)
def known_as(tenant: str, user: str) -> AuthenticatedUser:
    """The caller as the SDK knows him: it answers "no such session" to anybody but the one who opened it."""
    return AuthenticatedUser(AccessToken(token="", client_id=json.dumps([tenant, user]), scopes=[]))


class McpHttp:
    """The routes of all MCP paths, and the one lifespan that they need."""

    def __init__(self, registry: Registry, engine: Callable[[], Engine], *, read_only: bool = False,
                 stateless: bool = False, hosts: Sequence[str] = LOOPBACK_HOSTS,
                 origins: Sequence[str] = LOOPBACK_ORIGINS, most_body_bytes: int = MOST_BODY_BYTES) -> None:
        self.bus = InMemorySubscriptionBus()
        self.managers: list[StreamableHTTPSessionManager] = []
        self.routes: list[Route] = []
        profiles = {"/mcp": "all"} | {f"/mcp/{family.name}": family.name
                                      for family in registry.families if family.listed_over_mcp}
        for path, profile in profiles.items():
            chosen = registry.choose(profile, read_only=read_only)
            server = make_server(chosen, engine, codes=profile != "all", bus=self.bus)
            manager = StreamableHTTPSessionManager(
                server, stateless=stateless, security_settings=allowed(hosts, origins),
                max_request_body_size=most_body_bytes)
            self.managers.append(manager)
            self.routes.append(Route(path, KnownCaller(manager)))

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Keep the sessions of all paths; to be entered in the lifespan of the whole app."""
        async with AsyncExitStack() as stack:
            for manager in self.managers:
                await stack.enter_async_context(manager.run())
            yield


def allowed(hosts: Sequence[str], origins: Sequence[str]) -> TransportSecuritySettings:
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=list(hosts), allowed_origins=list(origins))
