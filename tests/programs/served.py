"""A real HTTP server on a folder of its own, and a client that suspects every answer."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from memolith.bootstrap import App, open_app
from memolith.doors.http.app import build
from memolith.doors.http.auth.keys import NewKey, local_key, make_key
from memolith.doors.http.server import listen, server_config
from memolith.settings import Settings
from tests.programs.children import TIMEOUT_S, Child

MODERN = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
# What would show that an answer tells of the inside of the server.
INSIDE = (
    "Traceback",
    'File "',
    "site-packages",
    ".py",
    "/src/memolith",
    "sqlite3.",
    "apsw",
    "pydantic",
    "Exception",
    "Internal Server Error",
)


class Served:
    """A running server: where it is, whose folder it serves, and ways to ask it."""

    def __init__(self, url: str, app: App, log: list[str]) -> None:
        self.url, self.app, self.log = url, app, log
        self.port = int(url.rsplit(":", 1)[1])
        self.folder = app.settings.data
        self.admin = local_key(self.folder, app.keys, app.clock.now())
        self.secrets = [self.admin]
        # To read the certificates of the system, which plain HTTP does not need, takes longer than
        # most calls.
        self.http = httpx2.Client(base_url=url, timeout=TIMEOUT_S, trust_env=False, verify=False)

    def key(
        self,
        user: str = "local",
        tenant: str = "local",
        *scopes: str,
        expires_at: str | None = None,
    ) -> str:
        """A new key; read and write unless said otherwise."""
        wanted = NewKey(user, user, tenant, scopes or ("read", "write"), expires_at)
        secret, _ = make_key(self.app.keys, self.app.clock.now(), wanted)
        self.secrets.append(secret)
        return secret

    def ask(
        self, method: str, path: str, key: str | None = None, body: Any = None, **headers: str
    ) -> httpx2.Response:
        """One request; the answer must tell nothing of the inside."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if key is not None:
            named["Authorization"] = f"Bearer {key}"
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        answer = self.http.request(method, path, content=content, headers=named)
        self.check(answer.text + str(answer.headers))
        assert answer.headers.get("x-request-id")
        return answer

    def check(self, text: str) -> None:
        for sign in (*INSIDE, str(self.folder), *self.secrets):
            assert sign not in text, (sign, text[:500])

    def tool(
        self, name: str, arguments: Any, key: str | None = None, **headers: str
    ) -> httpx2.Response:
        """One call over REST."""
        return self.ask("POST", f"/mcp/tools/{name}", key or self.admin, arguments, **headers)

    def mcp(
        self,
        method: str,
        params: dict[str, Any],
        key: str | None = None,
        path: str = "/mcp",
        **headers: str,
    ) -> httpx2.Response:
        """One request of the newer protocol."""
        named = {"Mcp_Name": str(params[NAMED[method]])} if method in NAMED else {}
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": {**params, "_meta": ENVELOPE},
        }
        return self.ask(
            "POST",
            path,
            key or self.admin,
            message,
            **{
                "Accept": "application/json, text/event-stream",
                "Content_Type": "application/json",
                "MCP_Protocol_Version": MODERN,
                "Mcp_Method": method,
                **named,
                **headers,
            },
        )

    def call(
        self, name: str, arguments: dict[str, Any], key: str | None = None
    ) -> tuple[bool, Any]:
        """One call over MCP: whether it went well, and the body."""
        result = self.mcp("tools/call", {"name": name, "arguments": arguments}, key).json()[
            "result"
        ]
        return not result.get("isError", False), json.loads(result["content"][0]["text"])

    def listed(self, key: str | None = None, path: str = "/mcp") -> list[str]:
        """The names of the tools that a key sees over MCP."""
        return [
            tool["name"] for tool in self.mcp("tools/list", {}, key, path).json()["result"]["tools"]
        ]

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S)

    def raw(self, head: bytes, *parts: bytes) -> bytes:
        """The bytes that come back for bytes that no proper client sends."""
        with self.connect() as wire:
            try:
                for part in (head, *parts):
                    wire.sendall(part)
            except OSError:
                pass  # The server may hang up on what it does not want to read.
            answer = b""
            try:
                while chunk := wire.recv(1 << 16):
                    answer += chunk
            except ConnectionResetError:
                pass
        self.check(answer.decode("latin-1"))
        return answer

    def is_well(self) -> bool:
        """Whether a good call is answered."""
        return self.tool("overview", {}).status_code == 200


@contextmanager
def process(folder: Path, *flags: str, **env: str) -> Iterator[Served]:
    """The server as users start it."""
    arguments = [
        "-m",
        "memolith.doors.main",
        "serve",
        "--port",
        "0",
        "--json",
        "--data",
        str(folder),
        *flags,
    ]
    with Child(*arguments, PYTHONUNBUFFERED="1", **env) as child:
        url = json.loads(child.line())["url"]
        app = open_app(Settings(data=folder, embedder="none"))
        served = Served(url, app, child.complaints)
        try:
            yield served
        finally:
            served.http.close()
            app.close()


async def serve_and_hang_up(server: uvicorn.Server, listener: socket.socket) -> None:
    """Serve until told to end, then close what clients still hold open.

    A connection that is left over would be found unclosed in a later test, which is blamed for it.
    """
    await server.serve(sockets=[listener])
    for connection in list(server.server_state.connections):
        connection.transport.abort()
    async with asyncio.timeout(TIMEOUT_S):
        while server.server_state.connections:
            await asyncio.sleep(0)


def run_and_hang_up(server: uvicorn.Server, listener: socket.socket) -> None:
    """Run on the same kind of loop as `Server.run`."""
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(serve_and_hang_up(server, listener))


@contextmanager
def thread(folder: Path, *, read_only: bool = False, **settings: Any) -> Iterator[Served]:
    """The same server in a thread of the test, which starts at once."""
    app = open_app(Settings(**{"data": folder, "embedder": "none", **settings}))
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(server_config(build(app, read_only=read_only), app.settings, 2))
    running = threading.Thread(target=run_and_hang_up, args=(server, listener), daemon=True)
    running.start()
    served = Served(f"http://127.0.0.1:{listener.getsockname()[1]}", app, [])
    try:
        yield served
    finally:
        served.http.close()
        server.should_exit = True
        running.join(TIMEOUT_S)
        # A server that is told to end while it starts leaves its socket open.
        listener.close()
        app.close()
        assert not running.is_alive()


def wait_for_room_in_the_minute(seconds: int = 20) -> None:
    """Calls are counted by the minute: wait for the next one if this one is nearly over."""
    left_s = 60 - time.time() % 60
    if left_s < seconds:
        time.sleep(left_s)
