"""MCP over HTTP: `/mcp` for all tools, and one path for each family."""

import asyncio
import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp_types import SERVER_INFO_META_KEY
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from memolith.doors.mcp import frames
from memolith.doors.mcp.client_link import WORKERS
from memolith.doors.mcp.server import MemolithServer
from memolith.doors.request_keys import CALLER_KEY, REQUEST_ID_KEY, SCOPES_KEY
from memolith.engine.engine import Engine
from memolith.tools.call import Call
from memolith.tools.registry import Registry

ALL_TOOLS = "all"
MAX_BODY_BYTES = 4 << 20
MAX_REMEMBERED_USERS = 1000


class McpPath:
    """One path: ties the SDK's sessions to the caller whom the access layer has let in."""

    def __init__(
        self,
        manager: StreamableHTTPSessionManager,
        registry: Registry,
        engine: Callable[[], Engine],
        server_meta: dict[str, Any] | None,
    ) -> None:
        """With `server_meta`, plain calls that read are answered without the SDK."""
        self.manager = manager
        self.registry = registry
        self.engine = engine
        self.server_meta = server_meta

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if self.fits(headers):
            first = await receive()
            response = await self.answer_plain_call(scope, headers, first)
            if response is not None:
                await response(scope, receive, send)
                return
            receive = put_back(first, receive)
        caller = scope[CALLER_KEY]
        scope["user"] = sdk_user(caller.tenant, caller.user)
        await self.manager.asgi_app(scope, receive, send)

    def fits(self, headers: dict[bytes, bytes]) -> bool:
        """Whether the headers are those of a plain call."""
        accepted = headers.get(b"accept", b"")
        return (
            self.server_meta is not None
            and headers.get(b"mcp-protocol-version") == frames.MODERN_VERSION.encode()
            and headers.get(b"mcp-method") == b"tools/call"
            and b"content-length" in headers
            and headers.get(b"content-type", b"").startswith(b"application/json")
            and b"application/json" in accepted
            and b"text/event-stream" in accepted
        )

    async def answer_plain_call(
        self, scope: Scope, headers: dict[bytes, bytes], first: Message
    ) -> Response | None:
        """The answer to a call that only reads; None leaves it to the SDK."""
        if first.get("more_body"):
            return None
        message = frames.parse_frame(first.get("body", b"")) or {}
        plain = frames.find_plain_call(self.registry, message)
        if plain is None or not is_plain_read(plain, scope, headers.get(b"mcp-name", b"")):
            return None

        def make_call() -> Call:
            return Call(
                scope[CALLER_KEY],
                self.engine(),
                scope.get(REQUEST_ID_KEY, ""),
                scopes=scope[SCOPES_KEY],
            )

        outcome = await asyncio.get_running_loop().run_in_executor(
            WORKERS, self.registry.attempt, plain.tool.name, plain.arguments, make_call
        )
        result = frames.encode_outcome(outcome, self.server_meta)
        return Response(frames.result_frame(message, result), media_type="application/json")


def is_plain_read(plain: frames.PlainCall, scope: Scope, header_name: bytes) -> bool:
    """Whether the call only reads, is allowed, and is what its headers say."""
    return (
        plain.is_modern
        and not plain.wants_progress
        and not plain.meta.get(frames.CLIENT_CAPABILITIES_KEY)
        and plain.tool.read_only
        and plain.tool.is_usable_with(scope[SCOPES_KEY])
        and header_name == plain.tool.name.encode()
    )


def put_back(first: Message, receive: Receive) -> Receive:
    """Receive the message again that was already read, and then the rest."""
    unread = [first]

    async def receive_again() -> Message:
        return unread.pop() if unread else await receive()

    return receive_again


@lru_cache(MAX_REMEMBERED_USERS)
def sdk_user(tenant: str, user: str) -> AuthenticatedUser:
    """The caller as the SDK sees them: only who opened a session may use it."""
    return AuthenticatedUser(AccessToken(token="", client_id=json.dumps([tenant, user]), scopes=[]))


def mcp_paths(
    registry: Registry,
    engine: Callable[[], Engine],
    *,
    read_only: bool = False,
    stateless: bool = False,
    max_body_bytes: int = MAX_BODY_BYTES,
) -> dict[str, McpPath]:
    """MCP by path; run their managers in the lifespan of the whole app."""
    bus = InMemorySubscriptionBus()
    names = [family.name for family in registry.families if family.listed_over_mcp]
    paths: dict[str, McpPath] = {}
    for name in (ALL_TOOLS, *names):
        shown = registry.choose(name, read_only=read_only)
        is_all = name == ALL_TOOLS
        server = MemolithServer(shown, engine, use_jsonrpc_codes=not is_all, bus=bus)
        manager = StreamableHTTPSessionManager(
            server, stateless=stateless, max_request_body_size=max_body_bytes
        )
        # On its own path a family may send JSON-RPC errors, which is the SDK's business.
        server_meta = {SERVER_INFO_META_KEY: server.server_info_stamp} if is_all else None
        path = "/mcp" if is_all else f"/mcp/{name}"
        paths[path] = McpPath(manager, shown, engine, server_meta)
    return paths
