"""MCP over HTTP: `/mcp` for all tools, and one path for each family."""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp_types import SERVER_INFO_META_KEY
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from memolith.doors.http.sessions import DEFAULT_SESSIONS_PER_KEY, SessionLimit
from memolith.doors.mcp import frames
from memolith.doors.mcp.server import MemolithServer
from memolith.doors.request_keys import (
    CALLER_KEY,
    REQUEST_ID_KEY,
    SCOPES_KEY,
    SHARE_KEY,
    STALE_READS_KEY,
)
from memolith.doors.shares import Share
from memolith.doors.trace_context import trace_of_headers, trace_of_meta
from memolith.doors.worker_pools import WorkerPools
from memolith.engine.engine import Engine
from memolith.engine.usage import Client, program_of
from memolith.errors import RateLimited
from memolith.tools.call import Call
from memolith.tools.registry import Registry

ALL_TOOLS = "all"
MAX_BODY_BYTES = 4 << 20
MAX_REMEMBERED_USERS = 1000
SESSION_HEADER = b"mcp-session-id"


class McpPath:
    """One path: ties the SDK's sessions to the caller whom the access layer has let in."""

    def __init__(
        self,
        manager: StreamableHTTPSessionManager,
        registry: Registry,
        engine: Callable[[], Engine],
        server_meta: dict[str, Any] | None,
        pools: WorkerPools,
        sessions: SessionLimit,
    ) -> None:
        """With `server_meta`, plain calls that read are answered without the SDK."""
        self.manager = manager
        self.registry = registry
        self.engine = engine
        self.server_meta = server_meta
        self.pools = pools
        self.sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        # The age of an answer stands in its metadata, which the SDK writes.
        if STALE_READS_KEY not in scope and self.fits(headers):
            first = await receive()
            response = await self.answer_plain_call(scope, headers, first)
            if response is not None:
                await response(scope, receive, send)
                return
            receive = put_back(first, receive)
        caller = scope[CALLER_KEY]
        scope["user"] = sdk_user(caller.tenant, caller.user)
        share = scope.get(SHARE_KEY)
        if share is None or self.manager.stateless or is_without_sessions(headers):
            await self.manager.asgi_app(scope, receive, send)
        else:
            await self.serve_session(share, scope, receive, send)

    async def serve_session(self, share: Share, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of a session, or one that opens a session."""
        headers = dict(scope["headers"])
        known = headers.get(SESSION_HEADER)
        if known is not None:
            self.sessions.used(share, known.decode("latin-1"))
            await self.manager.asgi_app(scope, receive, send)
            if scope["method"] == "DELETE":
                self.sessions.ended(share, known.decode("latin-1"))
            return
        self.sessions.check(share)

        async def send_and_remember(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                session = dict(message["headers"]).get(SESSION_HEADER)
                if session is not None:
                    await self.remember_session(scope, share, session)
            await send(message)

        await self.manager.asgi_app(scope, receive, send_and_remember)

    async def remember_session(self, scope: Scope, share: Share, session: bytes) -> None:
        """Remember a new session of a key, and end the oldest one if these are too many."""
        # What the SDK offers to end a session is the request with which a client does it.
        ending = {**scope, "method": "DELETE", "headers": [(SESSION_HEADER, session)]}

        async def end() -> None:
            await self.manager.asgi_app(ending, receive_nothing, ignore_message)

        end_oldest = self.sessions.opened(share, session.decode("latin-1"), end)
        if end_oldest is not None:
            await end_oldest()

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
                client=client_of(scope, headers, plain),
                door="mcp-http",
                trace=trace_of_meta(plain.meta) or trace_of_headers(scope["headers"]),
            )

        name = plain.tool.name
        try:
            outcome = await self.pools.of(plain.tool).run(
                scope.get(SHARE_KEY),
                lambda: self.registry.attempt(name, plain.arguments, make_call),
            )
        except RateLimited as error:
            outcome = self.registry.refuse(name, error)
        result = frames.encode_outcome(outcome, self.server_meta)
        return Response(frames.result_frame(message, result), media_type="application/json")


def client_of(scope: Scope, headers: dict[bytes, bytes], plain: frames.PlainCall) -> Client:
    """The key and the program of a plain call."""
    share = scope.get(SHARE_KEY)
    user_agent = headers.get(b"user-agent", b"").decode("latin-1")
    program = plain.program or program_of(user_agent)
    return Client(share.key if share else "", program)


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


def is_without_sessions(headers: dict[bytes, bytes]) -> bool:
    """Whether a request is of a protocol that has no sessions."""
    version = headers.get(b"mcp-protocol-version")
    return version is not None and version.decode("latin-1") not in HANDSHAKE_PROTOCOL_VERSIONS


async def receive_nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def ignore_message(_: Message) -> None:
    """Nobody waits for the answer."""


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
    pools: WorkerPools | None = None,
    sessions: SessionLimit | None = None,
) -> dict[str, McpPath]:
    """MCP by path; run their managers in the lifespan of the whole app."""
    pools = pools or WorkerPools()
    sessions = sessions or SessionLimit(DEFAULT_SESSIONS_PER_KEY)
    bus = InMemorySubscriptionBus()
    names = [family.name for family in registry.families if family.listed_over_mcp]
    paths: dict[str, McpPath] = {}
    for name in (ALL_TOOLS, *names):
        shown = registry.choose(name, read_only=read_only)
        is_all = name == ALL_TOOLS
        server = MemolithServer(shown, engine, use_jsonrpc_codes=not is_all, bus=bus, pools=pools)
        manager = StreamableHTTPSessionManager(
            server, stateless=stateless, max_request_body_size=max_body_bytes
        )
        # On its own path a family may send JSON-RPC errors, which is the SDK's business.
        server_meta = {SERVER_INFO_META_KEY: server.server_info_stamp} if is_all else None
        path = "/mcp" if is_all else f"/mcp/{name}"
        paths[path] = McpPath(manager, shown, engine, server_meta, pools, sessions)
    return paths
