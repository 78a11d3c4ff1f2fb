"""How much CPU time does the stdio server take to answer the list of tools, and a first call?"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.conformance import install
from tests.programs.pipes import INITIALIZED, encoded, initialize, request, tool

from memolith.bootstrap import families, open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.doors.http.auth.keys import local_key
from memolith.doors.mcp.start_recorder import record_start_answers
from memolith.settings import Settings
from memolith.tools.registry import Registry

FLOORS = Path(__file__).parent / "floors"
PRODUCT = [sys.executable, "-m", "memolith.doors.main"]
TEXT = "Something worth keeping, in a few words."
PEER, PEER_VERSION = "@modelcontextprotocol/server-memory", "2026.8.31"
RUNS = 10
BAR_S = 0.05

Message = dict[str, Any]


@dataclass(frozen=True)
class Server:
    """A server and the call that it is asked for; the bare one repeats the argument `text`."""

    command: list[str]
    arguments: Message
    tool: str = "fetch"
    environment: Mapping[str, str] | None = None


def write_tools(folder: str) -> str:
    """The product's own list of tools, for servers that have none."""
    answers = record_start_answers(Registry(families()).choose("all"))
    listed = json.loads(answers["2025-11-25"]["tools/list"])["tools"]
    path = os.path.join(folder, "tools.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(listed, out)
    return path


def fill(folder: str) -> tuple[str, str]:
    """A data folder with one item that can be fetched by its id `one`, and the key for HTTP."""
    data = Path(folder, "data")
    app = open_app(Settings(data=data, embedder="none"))
    app.engine.writing.remember(Caller(), Draft(blocks=(Block(TEXT),), id="one"))
    key = local_key(data, app.keys, app.clock.now())
    app.close()
    return str(data), key


def start_once(command: list[str]) -> None:
    """A first start, which keeps in the cache what later ones read from there."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(encoded(initialize()) + encoded(INITIALIZED))
    server.stdin.flush()
    server.stdout.readline()
    server.communicate()


def start_to_answer(
    command: list[str], environment: Mapping[str, str] | None, pause_s: float, *requests: Message
) -> tuple[float, float]:
    """CPU and wall seconds until the last is answered; the process is killed at that moment."""
    began = time.perf_counter()
    server = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(encoded(initialize()))
    server.stdin.flush()
    server.stdout.readline()
    time.sleep(pause_s)
    server.stdin.write(encoded(INITIALIZED) + b"".join(encoded(message) for message in requests))
    server.stdin.flush()
    answers = [json.loads(server.stdout.readline()) for _ in requests]
    wall = time.perf_counter() - began
    server.kill()
    _, _, used = os.wait4(server.pid, 0)
    server.returncode = 0
    server.stdin.close()
    server.stdout.close()
    assert all("result" in answer and not answer["result"].get("isError") for answer in answers), (
        answers
    )
    return used.ru_utime + used.ru_stime, wall


def compare(servers: dict[str, Server], what: str, pause_s: float, calling: bool = False) -> None:
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
    for _ in range(RUNS):
        for name, server in servers.items():
            call = [tool(3, server.tool, **server.arguments)] if calling else []
            found[name].append(
                start_to_answer(
                    server.command, server.environment, pause_s, request(2, "tools/list"), *call
                )
            )
    cpu = {name: statistics.median(run[0] for run in runs) for name, runs in found.items()}
    for name, runs in found.items():
        wall = statistics.median(run[1] for run in runs)
        ratio = cpu[name] / cpu["bare SDK server"]
        print(f"{name:28} {what:30} {cpu[name]:8.3f} {wall:8.3f}   {ratio:5.2f}")


def peer() -> dict[str, Server]:
    """The memory server of the MCP project, the quickest to start of all that were tried."""
    try:
        node, folder = install(PEER, PEER_VERSION)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{PEER}@{PEER_VERSION} cannot be had from npm: {error}")
        return {}
    return {
        "official memory server": Server(
            [node, str(folder / "dist" / "index.js")], {}, "read_graph"
        )
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        tools, (data, _) = write_tools(folder), fill(folder)
        stdio, fetch = [*PRODUCT, "stdio", "--data", data], {"ids": ["one"]}
        bare = {
            "bare SDK server": Server(
                [sys.executable, str(FLOORS / "bare_server.py"), tools, "stdio"], {"text": TEXT}
            )
        }
        ours = {"memolith": Server(stdio, fetch)}
        start_once(stdio)
        # Without a cache every start is a first start, in which the SDK answers.
        no_cache = {**os.environ, "MEMOLITH_CACHE": os.path.join(os.devnull, "none")}
        slow = {"memolith, first start": Server(stdio, fetch, environment=no_cache)}
        loop = {"bare JSON loop": Server([sys.executable, str(FLOORS / "bare_loop.py"), tools], {})}
        print(
            f"{'server':28} {'until':30} {'CPU s':>8} {'wall s':>8}   of bare SDK; "
            f"bar for the list {BAR_S} CPU s"
        )
        others = peer() | bare
        compare({**loop, **ours, **slow, **others}, "the list", 0.0)
        compare({**loop, **ours, **others}, "the list, asked after 0.3 s", 0.3)
        # One that writes is left to the SDK.
        writing = {"memolith, writing": Server(stdio, {"content": TEXT}, "remember")}
        compare({**ours, **writing, **others}, "the first call", 0.0, calling=True)
        compare({**ours, **writing, **others}, "the first call, after 0.3 s", 0.3, calling=True)


if __name__ == "__main__":
    main()
