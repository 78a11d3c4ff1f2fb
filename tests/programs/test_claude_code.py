"""Claude Code, a client that people use, connects; its home is empty and its only network is the
loopback device.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scripts.conformance import install

from tests.programs.children import CLI, SRC, Child, environment

PACKAGE, VERSION = "@anthropic-ai/claude-code", "2.1.325"
RUN_S = 180
ALONE = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
BECOME = "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"
# Claude Code asks a second time, in the older way, when nothing has come for about three seconds.
SLOW = "import os, sys, threading; threading.Event().wait(4); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
SEEN = ["-e", f"PYTHONPATH={SRC}", "-e", "MEMOLITH_EMBEDDER=none"]
pytestmark = pytest.mark.full

Claude = Callable[..., str]


@pytest.fixture(scope="module")
def program() -> str:
    if not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
        pytest.skip("a network namespace needs unshare, nsenter and ip")
    tried = subprocess.run([*ALONE, "true"], capture_output=True, text=True, timeout=RUN_S)
    if tried.returncode:
        pytest.skip(f"a network namespace cannot be made here: {tried.stderr.strip()}")
    try:
        _, folder = install(PACKAGE, VERSION)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"{PACKAGE}@{VERSION} cannot be had from npm: {error}")
    return str(folder / "bin" / "claude.exe")


@pytest.fixture(scope="module")
def server(
    program: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[int, str, str]]:
    """A server in a network namespace of its own: its process, its address, its key."""
    data = tmp_path_factory.mktemp("served")
    with Child(
        "-c", BECOME, *ALONE, *CLI, "serve", "--port", "0", "--json", "--data", data
    ) as child:
        told = json.loads(child.line())
        yield (
            child.process.pid,
            told["url"],
            Path(told["key_file"]).read_text(encoding="utf-8").strip(),
        )


@pytest.fixture
def claude(program: str, server: tuple[int, str, str], tmp_path: Path) -> Claude:
    """Runs Claude Code beside the server and gives what it printed."""
    (home := tmp_path / "home").mkdir()
    enter = ["nsenter", "--target", str(server[0]), "--user", "--net", program]

    def run(*arguments: str) -> str:
        ran = subprocess.run(
            [*enter, *arguments],
            cwd=home,
            capture_output=True,
            timeout=RUN_S,
            env=environment(HOME=str(home), TERM="dumb"),
        )
        printed = (ran.stdout + ran.stderr).decode()
        assert ran.returncode == 0, printed
        return printed

    return run


def state(claude: Claude) -> str:
    """What `claude mcp list` says about the one server that it knows."""
    listed = claude("mcp", "list")
    print(listed)
    return next(line for line in listed.splitlines() if line.startswith("memolith: ")).rpartition(
        " - "
    )[2]


def test_claude_code_connects_over_stdio(claude: Claude, tmp_path: Path) -> None:
    claude("mcp", "add", "memolith", *SEEN, "--", *CLI, "stdio", "--data", str(tmp_path / "data"))
    assert state(claude) == "✔ Connected"


def test_claude_code_connects_over_stdio_to_a_server_that_starts_slowly(
    claude: Claude, tmp_path: Path
) -> None:
    claude(
        "mcp",
        "add",
        "memolith",
        *SEEN,
        "--",
        CLI[0],
        "-c",
        SLOW,
        *CLI[1:],
        "stdio",
        "--data",
        str(tmp_path / "data"),
    )
    assert state(claude) == "✔ Connected"


def test_claude_code_connects_over_http_with_a_key(
    claude: Claude, server: tuple[int, str, str]
) -> None:
    _, url, key = server
    claude(
        "mcp",
        "add",
        "--transport",
        "http",
        "memolith",
        f"{url}/mcp",
        "--header",
        f"Authorization: Bearer {key}",
    )
    assert state(claude) == "✔ Connected"


def test_claude_code_does_not_connect_over_http_with_a_wrong_key(
    claude: Claude, server: tuple[int, str, str]
) -> None:
    _, url, _ = server
    claude(
        "mcp",
        "add",
        "--transport",
        "http",
        "memolith",
        f"{url}/mcp",
        "--header",
        "Authorization: Bearer mlk_no",
    )
    assert "Connected" not in state(claude)
