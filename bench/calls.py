"""What does a call cost beside the same call to the SDK's bare server, without any engine behind it?"""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.programs.pipes import (
    INITIALIZED,
    MODERN,
    SERVER,
    encoded,
    free_port,
    initialize,
    tool,
    wait_until_it_listens,
)

from bench.start import FLOORS, write_files

ROUNDS = 250
CALLS = 4
WARM_ROUNDS = 20
BAR = 1.3
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "x-demo-user": "ada"}

Ask = Callable[[dict[str, Any]], None]


@contextmanager
def over_stdio(command: list[str], modern: bool) -> Iterator[Ask]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        inlet, outlet = server.stdin, server.stdout

        def ask(message: dict[str, Any]) -> None:
            inlet.write(encoded(message))
            inlet.flush()
            assert b'"result"' in outlet.readline()

        if not modern:
            ask(initialize())
            inlet.write(encoded(INITIALIZED))
        yield ask
        inlet.close()
        server.wait(30)


@contextmanager
def over_http(command: list[str], port: int, modern: bool) -> Iterator[Ask]:
    server = subprocess.Popen([*command, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_it_listens(port, server)
        link = http.client.HTTPConnection("127.0.0.1", port)
        headers = dict(HEADERS)

        def ask(message: dict[str, Any]) -> None:
            link.request("POST", "/mcp", json.dumps(message), headers)
            answer = link.getresponse()
            if session := answer.getheader("mcp-session-id"):
                headers["mcp-session-id"] = session
            body = answer.read()
            assert b'"result"' in body or "id" not in message, body

        if modern:
            headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "add_note"}
        else:
            ask(initialize())
            ask(INITIALIZED)
        yield ask
        link.close()
    finally:
        server.terminate()
        server.wait(30)


def measure(ask: Ask, modern: bool) -> list[float]:
    times = []
    for number in range(CALLS):
        message = tool(number + 100, "add_note", modern, text="Something worth keeping, in a few words.")
        began = time.perf_counter()
        ask(message)
        times.append((time.perf_counter() - began) * 1000)
    return times


def compare(ours: Ask, bare: Ask, modern: bool) -> tuple[float, float]:
    """The p50 of both in milliseconds, measured in turns, so that a busy machine is busy for both."""
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS):
        times = measure(ours, modern), measure(bare, modern)
        if number >= WARM_ROUNDS:
            found[0].extend(times[0])
            found[1].extend(times[1])
    return statistics.median(found[0]), statistics.median(found[1])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        prepared, tools = write_files(folder)
        bare = [sys.executable, str(FLOORS / "bare_server.py"), tools]
        ours = [sys.executable, str(SERVER)]
        print(f"{'door':28} {'memolith p50':>14} {'bare SDK p50':>14} {'ratio':>7}   (bar {BAR})")
        for modern in (False, True):
            for door in ("stdio", "http"):
                with ExitStack() as stack:
                    if door == "stdio":
                        one = stack.enter_context(over_stdio([*ours, "stdio", prepared], modern))
                        other = stack.enter_context(over_stdio([*bare, "stdio"], modern))
                    else:
                        one = stack.enter_context(over_http([*ours, "http"], free_port(), modern))
                        other = stack.enter_context(over_http(bare, free_port(), modern))
                    p50, floor = compare(one, other, modern)
                era = "2026-07-28" if modern else "2025-11-25"
                print(f"{door + ', ' + era:28} {p50:11.3f} ms {floor:11.3f} ms {p50 / floor:7.2f}")


if __name__ == "__main__":
    main()
