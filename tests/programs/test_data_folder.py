"""What is told about a data folder that cannot be used: at the handshake, and by `doctor`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.programs.children import CLI, TIMEOUT_S, Child, ask, cli, environment

HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def instructions(folder: Path) -> str:
    """What an MCP client is told at the handshake."""
    ran = subprocess.run(
        [*CLI, "stdio", "--tools", "core", "--data", str(folder)],
        input=json.dumps(HANDSHAKE) + "\n",
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
        timeout=60,
    )
    answer: dict[str, Any] = json.loads(ran.stdout.splitlines()[0])
    return str(answer["result"]["instructions"])


def test_a_usable_folder_brings_no_notice(tmp_path: Path) -> None:
    for _ in range(2):
        assert instructions(tmp_path / "new").startswith("Long-term memory.")


@pytest.mark.parametrize("fault", ["a file", "below a file", "no database"])
def test_an_unusable_folder_is_told_at_the_handshake_and_by_doctor(
    tmp_path: Path, fault: str
) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    folder = {"a file": "file", "below a file": "file/below", "no database": "folder"}[fault]
    if fault == "no database":
        # Two starts, so that the second one could answer from what the first has kept.
        assert instructions(tmp_path / folder).startswith("Long-term memory.")
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "memolith.db").write_text("something else", encoding="utf-8")
    told = instructions(tmp_path / folder)
    assert told.startswith("memolith cannot work: ")
    assert str(tmp_path / folder) in told
    assert "--data" in told
    assert "Long-term memory." in told
    doctor = cli(tmp_path / folder, "doctor")
    assert doctor.returncode == 1
    assert "choose another folder with --data" in doctor.stdout


def test_doctor_makes_no_store(tmp_path: Path) -> None:
    told = ask(tmp_path / "none", "doctor")
    assert told["problems"] == []
    assert "none yet" in told["store"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="permissions work otherwise on Windows")
def test_a_server_on_all_networks_prints_an_address_that_works(tmp_path: Path) -> None:
    with Child(
        "-m", "memolith", "serve", "--host", "0.0.0.0", "--port", "0", "--json", "--data", tmp_path
    ) as server:
        told = json.loads(server.line())
        assert "0.0.0.0" not in told["url"]
        health = httpx2.get(told["url"] + "/health", trust_env=False, timeout=TIMEOUT_S)
        assert health.json()["status"] == "healthy"
