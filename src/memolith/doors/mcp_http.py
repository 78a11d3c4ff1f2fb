"""MCP over HTTP: one path for all tools and one for each family, both eras of the protocol on each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from memolith.doors import frames
from memolith.doors.mcp_server import CALLER, REQUEST, SCOPES_KEY, WORKERS, MemolithServer
from memolith.registry import Call, Registry

if TYPE_CHECKING:
    from memolith.doors.frames import Json
    from memolith.engine.engine import Engine


@dataclass(eq=False)
class McpDoor:
    """One path: ties sessions to the caller whom the access layer has let in.

    Plain calls of reading tools in the newer protocol are answered here, if it is known how the server describes
    itself; whatever else comes is the SDK's.
    """

    manager: StreamableHTTPSessionManager
    registry: Registry
    engine: Callable[[], Engine]
    described: Json

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if self.fits(headers):
            first, rest = await receive(), receive
            waiting = [first]
            whole = not first.get("more_body") and first["type"] == "http.request"
            answer = await self.answer(scope, headers.get(b"mcp-name", b""), first["body"]) if whole else None
            if answer is not None:
                await answer(scope, receive, send)
                return

            async def again() -> Message:
                return waiting.pop() if waiting else await rest()

            receive = again
        scope["user"] = known_as(scope[CALLER].tenant, scope[CALLER].user)
        await self.manager.asgi_app(scope, receive, send)

    def fits(self, headers: dict[bytes, bytes]) -> bool:
        """Whether the headers are those of a plain call; its body must come in one piece."""
        accepted = headers.get(b"accept", b"")
        return (bool(self.described) and headers.get(b"mcp-protocol-version") == frames.MODERN.encode()
                and headers.get(b"mcp-method") == b"tools/call" and b"content-length" in headers
                and headers.get(b"content-type", b"").startswith(b"application/json")
                and b"application/json" in accepted and b"text/event-stream" in accepted)

    async def answer(self, scope: Scope, name: bytes, body: bytes) -> Response | None:
        """The response to a plain call, or None if it is not ours to give."""
        message = frames.parsed(body)
        plain = frames.plain_call(self.registry, message) if message else None
        if message is None or plain is None:
            return None
        tool, arguments, meta = plain
        if frames.VERSION_KEY not in meta or not tool.read_only or name != tool.name.encode():
            return None
        if "progressToken" in meta or meta.get(frames.CAPABILITIES_KEY) or not tool.scopes <= scope[SCOPES_KEY]:
            return None
        outcome = await asyncio.get_running_loop().run_in_executor(
            WORKERS, self.registry.attempt, tool.name, arguments,
            lambda: Call(scope[CALLER], self.engine(), scope.get(REQUEST, ""), scopes=scope[SCOPES_KEY]))
        return Response(frames.framed(message, frames.worded(outcome, self.described)), 200, None, "application/json")


@lru_cache(1000)
def known_as(tenant: str, user: str) -> AuthenticatedUser:
    """The caller as the SDK knows him: it answers "no such session" to anybody but the one who opened it."""
    return AuthenticatedUser(AccessToken(token="", client_id=json.dumps([tenant, user]), scopes=[]))


def mcp_doors(registry: Registry, engine: Callable[[], Engine], *, read_only: bool = False, stateless: bool = False,
              most_body_bytes: int = 4 << 20) -> dict[str, McpDoor]:
    """MCP by path; their managers are to be run in the lifespan of the whole app."""
    bus, doors = InMemorySubscriptionBus(), dict[str, McpDoor]()
    described = frames.description(frames.prepared_answers(frames.PREPARED, "all", read_only))
    for name in ("all", *(family.name for family in registry.families if family.listed_over_mcp)):
        chosen = registry.choose(name, read_only=read_only)
        server = MemolithServer(chosen, engine, codes=name != "all", bus=bus)
        manager = StreamableHTTPSessionManager(server, stateless=stateless, max_request_body_size=most_body_bytes)
        # The other paths word errors as their documents do, which the SDK must send.
        path, plain = ("/mcp", described) if name == "all" else (f"/mcp/{name}", {})
        doors[path] = McpDoor(manager, chosen, engine, plain)
    return doors
