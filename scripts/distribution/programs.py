"""Runs the programs that build and check a release."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import Any

from scripts.conformance import install
from scripts.distribution.project import RELEASE, ROOT

Command = list[str | Path]

CACHE = ROOT / ".cache" / "dist"
TOOLS = CACHE / "tools"
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
RUN_S = 300
ANSWER_S = 120
NO_NETWORK = [
    "unshare",
    "--map-root-user",
    "--net",
    "sh",
    "-c",
    'ip link set lo up && exec "$@"',
    "sh",
]
OUR_SETTINGS = "MEMOLITH_"


class CheckFailed(Exception):
    """A program found something wrong; the message is what it printed."""


def plain_environment(**more: str) -> dict[str, str]:
    """Our variables without those that change what memolith or Python does."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(OUR_SETTINGS) and name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    return {**kept, **more}


def run(command: Command, folder: Path = ROOT, **environ: str) -> str:
    """What a program prints; a program that fails raises CheckFailed."""
    ran = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        timeout=RUN_S,
        env=plain_environment(**environ),
    )
    if ran.returncode:
        raise CheckFailed(f"{' '.join(map(str, command))}\n{ran.stdout}")
    return ran.stdout


@cache
def tools_folder() -> Path:
    """The programs of release/tools.txt, installed when that file has changed."""
    wanted = (RELEASE / "tools.txt").read_bytes()
    stamp = TOOLS / "installed.txt"
    if not stamp.exists() or stamp.read_bytes() != wanted:
        shutil.rmtree(TOOLS, ignore_errors=True)
        run([sys.executable, "-m", "venv", TOOLS])
        python = TOOLS / SCRIPTS / "python"
        run([python, "-m", "pip", "install", "--quiet", "-r", RELEASE / "tools.txt"])
        stamp.write_bytes(wanted)
    return TOOLS / SCRIPTS


def tool(name: str) -> Path:
    return tools_folder() / name


def node_program(package: str, version: str, script: str) -> Command:
    """The command that runs a script of an npm package."""
    node, folder = install(package, version)
    return [node, folder / script]


@cache
def no_network() -> Command:
    """What to put before a command so that it reaches nothing but this machine; empty if this
    system cannot do that."""
    if not all(map(shutil.which, ("unshare", "ip"))):
        return []
    tried = subprocess.run([*NO_NETWORK, "true"], capture_output=True, timeout=RUN_S)
    return [] if tried.returncode else list(NO_NETWORK)


def path_with_memolith() -> str:
    """A PATH with the memolith of this environment, which plugins start."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def empty_environment(folder: Path) -> Path:
    """A new virtual environment; its folder of programs."""
    run([sys.executable, "-m", "venv", folder])
    return folder / SCRIPTS


class McpSession:
    """Speaks MCP with a server over its standard input and output."""

    def __init__(self, command: Command, **environ: str) -> None:
        self._process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env=plain_environment(**environ),
        )
        self._late = threading.Timer(ANSWER_S, self._process.kill)
        self._late.start()
        self._number = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._number:
                if "result" not in message:
                    raise CheckFailed(f"{method}: {message}")
                result: dict[str, Any] = message["result"]
                return result
        raise CheckFailed(f"the server ended, or did not answer {method} within {ANSWER_S} s")

    def tell(self, method: str) -> None:
        self._send({"method": method})

    def call(self, tool_name: str, **arguments: Any) -> dict[str, Any]:
        """The structured result of a tool."""
        result = self.ask("tools/call", name=tool_name, arguments=arguments)
        content: dict[str, Any] = result["structuredContent"]
        return content

    def close(self) -> None:
        self._late.cancel()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(RUN_S)
        finally:
            self._process.kill()
            self._process.stdout.close()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


def try_server(command: Command, **environ: str) -> str:
    """Shake hands, store a fact and find it by its meaning; a line on what came back."""
    with tempfile.TemporaryDirectory() as data:
        session = McpSession(command, MEMOLITH_DATA=data, **environ)
        try:
            started = session.ask(
                "initialize",
                protocolVersion="2025-11-25",
                capabilities={},
                clientInfo={"name": "make-dist", "version": "1"},
            )
            session.tell("notifications/initialized")
            tools = session.ask("tools/list")["tools"]
            session.call("remember", content="The office plant is watered on Mondays.")
            found = session.call("recall", query="When do the flowers at work get a drink?")
        finally:
            session.close()
    hits = found["hits"]
    if not hits or "watered" not in hits[0]["text"]:
        raise CheckFailed(f"the fact was not found by its meaning: {found}")
    info = started["serverInfo"]
    return f"{info['name']} {info['version']}, {len(tools)} tools, fact found by meaning"
