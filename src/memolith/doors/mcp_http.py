"""MCP over HTTP: one path for all tools and one for each family, both eras of the protocol on each."""

from __future__ import annotations

import asyncio
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
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from memolith.doors.frames import CAPABILITIES_KEY, MODERN, VERSION_KEY, parsed
from memolith.doors.mcp_calls import CALLER, REQUEST, SCOPES_KEY, WORKERS
from memolith.doors.mcp_server import make_server
from memolith.doors.plain_calls import described, plain_call, worded
from memolith.doors.stdio_front import PREPARED, Prepared
from memolith.errors import MemolithError, Unauthenticated
from memolith.registry import PLAIN, Call, Outcome, Registry

if TYPE_CHECKING:
    from memolith.engine.engine import Engine

LOOPBACK_HOSTS = ("127.0.0.1:*", "localhost:*", "[::1]:*")
LOOPBACK_ORIGINS = ("http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*")
MOST_BODY_BYTES = 4 * 1024 * 1024


class PlainCalls:
    """Answers plain calls of reading tools in the newer protocol by itself; whatever else comes is the SDK's."""

    def __init__(self, registry: Registry, engine: Callable[[], Engine], read_only: bool) -> None:
        self.registry = registry
        self.engine = engine
        self.described = described(Prepared.load(PREPARED, "all", read_only))

    def fits(self, headers: dict[bytes, bytes]) -> bool:
        """Whether the headers are those of such a call; its body must come in one piece."""
        accepted = headers.get(b"accept", b"")
        return (bool(self.described) and headers.get(b"mcp-protocol-version") == MODERN.encode()
                and headers.get(b"mcp-method") == b"tools/call" and b"content-length" in headers
                and headers.get(b"content-type", b"").startswith(b"application/json")
                and b"application/json" in accepted and b"text/event-stream" in accepted)

    async def answer(self, scope: Scope, name: bytes, body: bytes) -> Response | None:
        """The response, or None if it is not ours to give."""
        message = parsed(body)
        plain = plain_call(self.registry, message) if message else None
        if message is None or plain is None:
            return None
        tool, arguments, meta = plain
        if VERSION_KEY not in meta or not tool.read_only or name != tool.name.encode():
            return None
        if "progressToken" in meta or meta.get(CAPABILITIES_KEY) or not tool.open_to(scope[SCOPES_KEY]):
            return None

        def run() -> Outcome:
            try:
                call = Call(scope[CALLER], self.engine(), scope.get(REQUEST, ""), scopes=scope[SCOPES_KEY], local=False)
            except MemolithError as error:
                return self.registry.refuse(tool.name, error)
            return self.registry.run(tool.name, arguments, call)

        outcome = await asyncio.get_running_loop().run_in_executor(WORKERS, run)
        return Response(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (
            json.dumps(message["id"]).encode(), worded(outcome, self.described)), 200, None, "application/json")


class KnownCaller:
    """Lets a request in only if the access layer has said who calls, and ties sessions to him."""

    def __init__(self, manager: StreamableHTTPSessionManager, plain: PlainCalls | None) -> None:
        self.manager = manager
        self.plain = plain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = scope.get(CALLER)
        if caller is None or SCOPES_KEY not in scope:
            refusal = JSONResponse(PLAIN.failure(Unauthenticated()), 401, {"WWW-Authenticate": "Bearer"})
            await refusal(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if self.plain and self.plain.fits(headers):
            first = await receive()
            if not first.get("more_body") and first["type"] == "http.request":
                answer = await self.plain.answer(scope, headers.get(b"mcp-name", b""), first["body"])
                if answer is not None:
                    await answer(scope, receive, send)
                    return
            receive = beginning_with(first, receive)
        scope["user"] = known_as(caller.tenant, caller.user)
        await self.manager.asgi_app(scope, receive, send)


def beginning_with(first: Message, receive: Receive) -> Receive:
    """The same, with what was read already."""
    waiting = [first]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


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
            # The other paths word errors as their documents do, which the SDK must send.
            plain = PlainCalls(chosen, engine, read_only) if path == "/mcp" else None
            self.routes.append(Route(path, KnownCaller(manager, plain)))

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
