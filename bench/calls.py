"""What does a call cost, without the engine, compared with an echo of the SDK's bare server?"""

from __future__ import annotations

import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.programs.pipes import INITIALIZED, MODERN, TIMEOUT_S, encoded, initialize, tool

from bench.start import FLOORS, PRODUCT, TEXT, Server, fill, write_tools
from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.settings import Settings

ROUNDS = 250
CALLS = 4
WARM_ROUNDS = 20
BAR = 1.3
TOOL = "fetch"
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
# No model, which a fetch does not need, and no limit, which is not what is measured.
ENVIRONMENT = {**os.environ, "MEMOLITH_EMBEDDER": "none", "MEMOLITH_CALLS_PER_MINUTE": "10000000"}

Ask = Callable[[dict[str, Any]], None]


@contextmanager
def over_stdio(command: list[str], modern: bool) -> Iterator[Ask]:
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        inlet, outlet = server.stdin, server.stdout

        def ask(message: dict[str, Any]) -> None:
            inlet.write(encoded(message))
            inlet.flush()
            check(outlet.readline())

        if not modern:
            ask(initialize())
            inlet.write(encoded(INITIALIZED))
        yield ask
        inlet.close()
        server.wait(30)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_it_listens(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("the server did not start")


@contextmanager
def over_http(command: list[str], key: str, modern: bool) -> Iterator[Ask]:
    port = free_port()
    server = subprocess.Popen(
        [*command, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT
    )
    try:
        wait_until_it_listens(port, server)
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        headers = {**HEADERS, "Authorization": f"Bearer {key}"}

        def ask(message: dict[str, Any]) -> None:
            link.request("POST", "/mcp", json.dumps(message), headers)
            answer = link.getresponse()
            if session := answer.getheader("mcp-session-id"):
                headers["mcp-session-id"] = session
            body = answer.read()
            if "id" in message:
                check(body)

        if modern:
            headers |= {
                "MCP-Protocol-Version": MODERN,
                "Mcp-Method": "tools/call",
                "Mcp-Name": TOOL,
            }
        else:
            ask(initialize())
            ask(INITIALIZED)
        yield ask
        link.close()
    finally:
        server.terminate()
        server.wait(30)


def check(answer: bytes) -> None:
    assert b'"result"' in answer, answer
    assert b'"isError":true' not in answer, answer


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def fetch(app: App) -> None:
    """What the engine does for the call that is measured."""
    app.engine.reading.read_many(Caller(), ["one"])
    app.engine.reading.note_access(Caller(), "one")


def compare(*works: Callable[[], object]) -> list[float]:
    """The p50 of each in milliseconds, measured in turns: a busy machine is busy for all."""
    found: list[list[float]] = [[] for _ in works]
    for number in range(ROUNDS):
        for times, work in zip(found, works, strict=True):
            measured = [timed(work) for _ in range(CALLS)]
            if number >= WARM_ROUNDS:
                times.extend(measured)
    return [statistics.median(times) for times in found]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        tools, (data, key) = write_tools(folder), fill(folder)
        floor = [sys.executable, str(FLOORS / "bare_server.py"), tools]
        bare = {
            "stdio": Server([*floor, "stdio"], {"text": TEXT}),
            "http": Server(floor, {"text": TEXT}),
        }
        fetched = {"ids": ["one"]}
        ours = {
            "stdio": Server([*PRODUCT, "stdio", "--data", data], fetched),
            "http": Server([*PRODUCT, "serve", "--data", data, "--port"], fetched),
        }
        app = open_app(Settings(data=Path(data), embedder="none"))
        print(
            f"{'door':20} {'memolith p50':>14} {'engine p50':>14} {'bare SDK p50':>14} "
            f"{'whole':>7} {'without engine':>15}   (bar {BAR})"
        )
        for modern in (False, True):
            for door in ("stdio", "http"):
                with ExitStack() as stack:
                    asks = []
                    for server in (ours[door], bare[door]):
                        ask = stack.enter_context(
                            over_stdio(server.command, modern)
                            if door == "stdio"
                            else over_http(server.command, key, modern)
                        )
                        message = tool(100, TOOL, modern, **server.arguments)
                        asks.append(lambda ask=ask, message=message: ask(message))
                    p50, echo, engine = compare(*asks, lambda: fetch(app))
                name = f"{door}, {'2026-07-28' if modern else '2025-11-25'}"
                print(
                    f"{name:20} {p50:11.3f} ms {engine:11.3f} ms {echo:11.3f} ms {p50 / echo:7.2f} "
                    f"{(p50 - engine) / echo:15.2f}",
                    flush=True,
                )
        app.close()


if __name__ == "__main__":
    main()
