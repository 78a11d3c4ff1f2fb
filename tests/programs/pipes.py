"""Clients of stdio servers that see every byte, and the messages that the tests send."""

from __future__ import annotations

import atexit
import json
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("demo_server.py")
TIMEOUT_S = 120.0
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
PRODUCT = ("-m", "memolith.doors.main")
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(number: int | str, method: str, modern: bool = False, **params: Any) -> dict[str, Any]:
    meta = {"_meta": ENVELOPE} if modern else {}
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, **meta}}


def initialize(number: int | str = 1, version: str = HANDSHAKES[-1]) -> dict[str, Any]:
    return request(
        number,
        "initialize",
        protocolVersion=version,
        capabilities={},
        clientInfo={"name": "test", "version": "0"},
    )


def tool(number: int | str, name: str, modern: bool = False, **arguments: Any) -> dict[str, Any]:
    return request(number, "tools/call", modern, name=name, arguments=arguments)


INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


MIXED = [
    request(0, "server/discover", True),
    initialize(1),
    INITIALIZED,
    request(2, "ping"),
    request(3, "tools/list"),
    request(4, "tools/list", True),
    tool(5, "get_note", note_id="one"),
    tool(6, "get_note", True, note_id="nope"),
    request(7, "tools/list"),
    tool("8", "list_notes", True),
    tool(9, "no_such_tool"),
    request("ten", "ping"),
    request(11, "prompts/list"),
    request(12, "resources/list", True),
]
"""A session with everything in it: both eras, what the front answers, what only the SDK can."""


def encoded(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


def silent_port() -> int:
    """A port on which nobody listens; it is held to the end, so that nobody else gets it."""
    held = socket.socket()
    atexit.register(held.close)
    held.bind(("127.0.0.1", 0))
    return int(held.getsockname()[1])


class Pipe:
    """A running server. A thread collects the lines that it writes, so every wait has an end."""

    def __init__(
        self,
        *arguments: str,
        env: dict[str, str] | None = None,
        program: Sequence[str] = (str(SERVER),),
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *program, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
        )
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self.complaints: list[bytes] = []
        self.readers = [
            threading.Thread(target=self.collect, daemon=True),
            threading.Thread(target=self.listen, daemon=True),
        ]
        for reader in self.readers:
            reader.start()

    def collect(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def listen(self) -> None:
        assert self.process.stderr is not None
        self.complaints.extend(self.process.stderr)

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, *messages: dict[str, Any]) -> None:
        self.write(b"".join(encoded(message) for message in messages))

    def line(self) -> bytes:
        line = self.lines.get(timeout=TIMEOUT_S)
        assert line is not None, b"".join(self.complaints).decode()
        return line

    def receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.line())
        return message

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send one request and take the next message as its answer."""
        self.send(message)
        answer = self.receive()
        assert answer["id"] == message["id"], answer
        return answer

    def rest(self) -> list[dict[str, Any]]:
        """Everything that is still written until the server ends."""
        found = []
        while (line := self.lines.get(timeout=TIMEOUT_S)) is not None:
            found.append(json.loads(line))
        return found

    def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> int:
        """Leave, and wait for the server to end by itself."""
        self.leave()
        return self.process.wait(TIMEOUT_S)

    def __enter__(self) -> Pipe:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(TIMEOUT_S)
        for reader in self.readers:
            reader.join(TIMEOUT_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                # A server that was killed leaves unsent bytes, which cannot be flushed any more.
                with suppress(OSError):
                    stream.close()
