"""The HTTP server: REST for every tool, MCP on its paths, what runs a server needs, access control around all."""

import asyncio
import html
import json
import shutil
import signal
import socket
import sys
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp_types import SERVER_INFO_META_KEY
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memolith import __version__
from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.domain.items import Item
from memolith.doors.http.auth import Access, Issuer, challenge
from memolith.doors.mcp import frames
from memolith.doors.mcp.client_link import WORKERS
from memolith.doors.mcp.server import MemolithServer
from memolith.doors.request_keys import CALLER_KEY, REQUEST_ID_KEY, SCOPES_KEY
from memolith.engine.documents import described
from memolith.engine.engine import Engine
from memolith.engine.validation import json_object
from memolith.errors import Denied, InvalidInput, MemolithError, NotFound, Unavailable, of_system
from memolith.tools.call import SCOPES, Call
from memolith.tools.dialect import PLAIN
from memolith.tools.registry import Registry

METRICS = {
    "memolith_calls_total": "counter",
    "memolith_call_seconds_total": "counter",
    "memolith_embeddings_pending": "gauge",
    "memolith_embeddings_failed": "gauge",
}
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>memolith: tools</title>
<style>body{font:16px/1.5 system-ui;max-width:50rem;margin:2rem auto;padding:0 1rem} pre{overflow:auto}</style>
<h1>memolith: tools over REST</h1><p><code>POST /mcp/tools/NAME</code> with a JSON object and
<code>Authorization: Bearer KEY</code>. Machines read <a href="/openapi.json">openapi.json</a>.</p>"""


class Rest:
    """The routes beside MCP, and what was called through any door: how often, with what outcome, how long it took."""

    def __init__(self, app: App, issuer: Issuer | None, read_only: bool) -> None:
        self.app, self.issuer = app, issuer
        self.lock = threading.Lock()
        self.sums: dict[str, float] = defaultdict(int)
        shown = (tool for tool in app.registry.tools if tool.read_only or not read_only)
        self.registry = registry = Registry(app.registry.families, shown, self.count)
        self.routes = [
            Route("/mcp/tools/{tool}", self.call, methods=["POST"]),
            Route("/health", self.health),
            Route("/files/content", self.give_file),
            *([] if read_only else [Route("/files", self.take_file, methods=["POST"])]),
            Route("/metrics", self.metrics),
            Route("/docs", lambda _: HTMLResponse(page(registry))),
            Route("/openapi.json", lambda _: JSONResponse(openapi(registry))),
            Route("/.well-known/oauth-protected-resource", self.resource_metadata),
            Route("/.well-known/oauth-protected-resource/{path:path}", self.resource_metadata),
        ]

    def count(self, tool: str, outcome: str, seconds: float) -> None:
        with self.lock:
            self.sums[f'memolith_calls_total{{tool="{tool}",outcome="{outcome}"}}'] += 1
            self.sums[f'memolith_call_seconds_total{{tool="{tool}"}}'] += seconds

    def word(self, error: MemolithError, path: str) -> dict[str, Any]:
        if tool := self.app.registry.find(path.removeprefix("/mcp/tools/")):
            return tool.dialect.failure(error)
        dialects = [
            family.dialect for family in self.registry.families if path == f"/mcp/{family.name}"
        ]
        coded = dialects[0].jsonrpc(error) if dialects else None
        if coded is None:
            return PLAIN.failure(error)
        return {
            "jsonrpc": "2.0",
            "id": None,
            "error": dict(zip(("code", "message", "data"), coded, strict=True)),
        }

    async def call(self, request: Request) -> Response:
        """Run one tool; whatever is raised before that is worded as the tool's family does."""
        name, scope = request.path_params["tool"], request.scope
        if (tool := self.registry.find(name)) is None:
            raise NotFound("There is no such tool.", field="tool")
        try:
            body = await request.body()
        except ClientDisconnect as left:
            raise InvalidInput("The request ended in the middle.") from left
        # Nothing at all means no arguments.
        arguments = json_object(body, "The body", "body") if body.strip() else {}
        call = Call(
            scope[CALLER_KEY],
            self.app.engine,
            scope[REQUEST_ID_KEY],
            request.headers.get("idempotency-key"),
            scope[SCOPES_KEY],
        )
        outcome = await run_in_threadpool(self.registry.run, name, arguments, call)
        headers = (
            {}
            if tool.scopes <= call.scopes
            else {
                "www-authenticate": challenge(
                    self.issuer, request.url.path, "insufficient_scope", tool.scopes
                )
            }
        )
        if (error := outcome.error) and error.retry_s:
            headers["retry-after"] = str(error.retry_s)
        return Response(outcome.text, error.status if error else 200, headers, "application/json")

    async def take_file(self, request: Request) -> Response:
        """Keep one file; nothing is left of one that is refused."""
        if "write" not in request.scope[SCOPES_KEY]:
            raise Denied("This needs a key with the scope: write.")
        try:
            form = await request.form(max_files=1, max_fields=0)
            [file] = [one for one in form.values() if isinstance(one, UploadFile)]
        except (HTTPException, ClientDisconnect, ValueError) as error:
            raise InvalidInput(
                "Send exactly one file, whole, as multipart/form-data.", field="file"
            ) from error
        item, new = await run_in_threadpool(self.keep, request.scope[CALLER_KEY], file)
        return JSONResponse(
            described(item) | {"summary": item.attributes["summary"], "known": not new}
        )

    def keep(self, caller: Caller, upload: UploadFile) -> tuple[Item, bool]:
        """The document of an upload, and whether it is new."""
        try:
            with upload.file, TemporaryDirectory(dir=self.app.settings.data) as folder:
                with (path := Path(folder, "file")).open("wb") as file:
                    shutil.copyfileobj(upload.file, file)
                return self.app.engine.documents.ingest(caller, path, upload.filename or "")
        except OSError as error:
            raise of_system(error) from error

    def give_file(self, request: Request) -> Response:
        """A stored file, to whoever has an address that is still good."""
        documents, stack = self.app.engine.documents, ExitStack()
        name, path = stack.enter_context(
            documents.stored(*documents.unsealed(request.query_params.get("pass", "")))
        )
        return FileResponse(
            path,
            200,
            {"x-content-type-options": "nosniff"},
            "application/octet-stream",
            filename=name,
            background=BackgroundTask(stack.close),
        )

    def health(self, request: Request) -> Response:
        """Open to all, so it tells no more than that."""
        try:
            state = self.app.engine.maintenance.health()
        except MemolithError as error:
            return JSONResponse({"status": "unhealthy", "error": error.type}, 503)
        return JSONResponse(
            {"status": "healthy", "version": __version__, "embeddings": state["embeddings"]}
        )

    def metrics(self, request: Request) -> Response:
        state = self.app.engine.maintenance.health()
        with self.lock:
            samples = self.sums | {
                f"memolith_embeddings_{name}": int(state[name]) for name in ("pending", "failed")
            }
        text = "".join(
            f"# TYPE {name} {kind}\n"
            + "".join(
                f"{sample} {value}\n"
                for sample, value in sorted(samples.items())
                if sample.startswith(name)
            )
            for name, kind in METRICS.items()
        )
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def resource_metadata(self, request: Request) -> Response:
        """What a client must know about the protected resource (RFC 9728), if tokens are accepted here."""
        if self.issuer is None:
            raise NotFound("No OAuth issuer is set; use a key.")
        path = request.path_params.get("path", "")
        return JSONResponse(
            {
                "resource": self.issuer.base + (f"/{path}" if path else ""),
                "authorization_servers": [self.issuer.url],
                "scopes_supported": sorted(SCOPES),
                "bearer_methods_supported": ["header"],
            }
        )


def openapi(registry: Registry) -> dict[str, Any]:
    body = {"application/json": {"schema": {"type": "object"}}}
    errors = {
        str(kind.status): {"description": kind.__doc__, "content": body}
        for kind in MemolithError.__subclasses__()
    }
    paths: dict[str, Any] = {
        "/health": {
            "get": {
                "summary": "Whether the server works.",
                "security": [],
                "responses": {"200": {"description": "It does."}},
            }
        }
    }
    for tool in registry.tools:
        required = tool.input_schema.get("required", [])
        # An argument without a default that may be left out may also be null.
        properties = {
            name: schema
            if name in required or "default" in schema
            else {"anyOf": [schema, {"type": "null"}]}
            for name, schema in tool.input_schema["properties"].items()
        }
        paths[f"/mcp/tools/{tool.name}"] = {
            "post": {
                "operationId": tool.name,
                "summary": tool.description,
                "tags": [tool.family],
                "parameters": [
                    {
                        "name": "Idempotency-Key",
                        "in": "header",
                        "required": False,
                        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
                    }
                ],
                "requestBody": {
                    "required": bool(required),
                    "content": {
                        "application/json": {
                            "schema": {**tool.input_schema, "properties": properties}
                        }
                    },
                },
                "responses": {
                    "200": {
                        "description": "The result.",
                        "content": {"application/json": {"schema": tool.output_schema}},
                    },
                    **errors,
                },
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "memolith", "version": __version__},
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{"key": []}],
        "paths": paths,
    }


def page(registry: Registry) -> str:
    return PAGE + "".join(
        f"<h2>{html.escape(tool.name)} <small>{html.escape(tool.family)}</small></h2>"
        f"<p>{html.escape(tool.description)}</p><details><summary>Arguments</summary>"
        f"<pre>{html.escape(json.dumps(tool.input_schema, indent=2))}</pre></details>"
        for tool in registry.tools
    )


@dataclass(eq=False)
class McpDoor:
    """One path: ties sessions to the caller whom the access layer has let in."""

    manager: StreamableHTTPSessionManager
    registry: Registry
    engine: Callable[[], Engine]
    described: dict[str, Any]
    """How the server describes itself; where that is known, plain calls that read are answered without the SDK."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        unread: list[Message] = []

        async def replay() -> Message:
            return unread.pop() if unread else await receive()

        if self.fits(headers := dict(scope["headers"])):
            unread.append(first := await receive())
            whole = first.get("body", b"") if not first.get("more_body") else b""
            if answer := await self.answer(scope, headers.get(b"mcp-name", b""), whole):
                await answer(scope, receive, send)
                return
        scope["user"] = known_as(scope[CALLER_KEY].tenant, scope[CALLER_KEY].user)
        await self.manager.asgi_app(scope, replay if unread else receive, send)

    def fits(self, headers: dict[bytes, bytes]) -> bool:
        """Whether the headers are those of a plain call; its body must come in one piece."""
        accepted = headers.get(b"accept", b"")
        return (
            bool(self.described)
            and headers.get(b"mcp-protocol-version") == frames.MODERN_VERSION.encode()
            and headers.get(b"mcp-method") == b"tools/call"
            and b"content-length" in headers
            and headers.get(b"content-type", b"").startswith(b"application/json")
            and b"application/json" in accepted
            and b"text/event-stream" in accepted
        )

    async def answer(self, scope: Scope, name: bytes, body: bytes) -> Response | None:
        message = frames.parse_frame(body) or {}
        if (plain := frames.find_plain_call(self.registry, message)) is None:
            return None
        tool, arguments, meta = plain.tool, plain.arguments, plain.meta
        if (
            frames.VERSION_KEY not in meta
            or "progressToken" in meta
            or meta.get(frames.CLIENT_CAPABILITIES_KEY)
            or not tool.read_only
            or not tool.scopes <= scope[SCOPES_KEY]
            or name != tool.name.encode()
        ):
            return None
        outcome = await asyncio.get_running_loop().run_in_executor(
            WORKERS,
            self.registry.attempt,
            tool.name,
            arguments,
            lambda: Call(
                scope[CALLER_KEY],
                self.engine(),
                scope.get(REQUEST_ID_KEY, ""),
                scopes=scope[SCOPES_KEY],
            ),
        )
        return Response(
            frames.result_frame(message, frames.encode_outcome(outcome, self.described)),
            200,
            None,
            "application/json",
        )


@lru_cache(1000)
def known_as(tenant: str, user: str) -> AuthenticatedUser:
    """The caller as the SDK knows him: it answers "no such session" to anybody but the one who opened it."""
    return AuthenticatedUser(AccessToken(token="", client_id=json.dumps([tenant, user]), scopes=[]))


def mcp_doors(
    registry: Registry,
    engine: Callable[[], Engine],
    *,
    read_only: bool = False,
    stateless: bool = False,
    most_body_bytes: int = 4 << 20,
) -> dict[str, McpDoor]:
    """MCP by path; their managers are to be run in the lifespan of the whole app."""
    bus, doors = InMemorySubscriptionBus(), dict[str, McpDoor]()
    for name in ("all", *(family.name for family in registry.families if family.listed_over_mcp)):
        chosen = registry.choose(name, read_only=read_only)
        server = MemolithServer(chosen, engine, use_jsonrpc_codes=name != "all", bus=bus)
        manager = StreamableHTTPSessionManager(
            server, stateless=stateless, max_request_body_size=most_body_bytes
        )
        # The other paths word errors as their documents do, which the SDK must send.
        described = {SERVER_INFO_META_KEY: server.server_info_stamp}
        path, plain = ("/mcp", described) if name == "all" else (f"/mcp/{name}", {})
        doors[path] = McpDoor(manager, chosen, engine, plain)
    return doors


def build(app: App, *, read_only: bool = False, conformance: bool = False) -> ASGIApp:
    settings = app.settings
    issuer = Issuer(settings) if settings.oauth_issuer else None
    rest = Rest(app, issuer, read_only)
    # Several servers on one database know no sessions of each other, so there each request stands for itself.
    doors: dict[str, Any] = conformance_fixtures(settings.host) if conformance else {}
    doors |= mcp_doors(
        rest.registry,
        lambda: app.engine,
        read_only=read_only,
        stateless=bool(settings.database),
        most_body_bytes=settings.body_bytes,
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for door in doors.values():
                await stack.enter_async_context(door.manager.run())
            app.start_background()
            yield

    async def refused(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 0)
        other = (
            InvalidInput("This path takes another method.")
            if status == 405
            else NotFound("There is no such path.")
        )
        ours = error if isinstance(error, MemolithError) else other
        return JSONResponse(
            rest.word(ours, request.url.path),
            status or ours.status,
            getattr(error, "headers", None),
        )

    server = Starlette(
        routes=[*rest.routes, *(Route(path, door) for path, door in doors.items())],
        lifespan=lifespan,
        exception_handlers={404: refused, 405: refused, MemolithError: refused},
    )
    # A path is what it says, and a redirect would lose the body.
    server.router.redirect_slashes = False
    return Access(
        server,
        app.keys,
        settings,
        app.clock.now,
        issuer,
        getattr(app.store, "take_calls", None),
        rest.word,
        frozenset(("/health", "/files/content", *(["/conformance"] if conformance else []))),
    )


def conformance_fixtures(host: str) -> dict[str, Any]:
    """What the official MCP suite asks for; it lies beside the tests, for nobody else needs it."""
    if host not in ("127.0.0.1", "localhost", "::1"):
        raise InvalidInput(
            "The conformance fixtures need no key, so they are served on loopback only.",
            field="host",
        )
    tests = Path(__file__).parents[4] / "tests"
    if not (tests / "conformance").is_dir():
        raise InvalidInput(
            "--conformance needs a checkout of the project; its fixtures are not in the package.",
            field="conformance",
        )
    sys.path.insert(0, str(tests.parent))
    return {"/conformance": import_module("tests.conformance.server").Conformance()}


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, so that the address is known before anything is said."""
    try:
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except OSError as error:
        raise Unavailable(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
    # Every connection inherits it: with Nagle's algorithm an answer in two writes waits 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def run(
    app: App,
    listener: socket.socket,
    ready: Callable[[], None],
    *,
    read_only: bool = False,
    conformance: bool = False,
) -> None:
    """Serve until a signal ends it; running calls are finished first."""
    config = uvicorn.Config(
        build(app, read_only=read_only, conformance=conformance),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=5,
        server_header=False,
        http="h11",
        ws="none",
    )
    ready()
    # uvicorn gives the signal back when it is done, which would end the process before the store is closed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    uvicorn.Server(config).run(sockets=[listener])
