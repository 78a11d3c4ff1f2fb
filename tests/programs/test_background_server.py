"""`up`, `down`, `status` and `logs` as a user types them, and what is told to systemd and others."""

from __future__ import annotations

import json
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from memolith.doors.cli.launchers import (
    LaunchdLauncher,
    Server,
    SystemdLauncher,
    WindowsTaskLauncher,
    is_our_server,
)
from tests.programs.children import CLI, TIMEOUT_S, Child, ask, cli, in_memory

SERVER = Server(
    ("/opt/ü 100%/memolith", "serve", "--data", '/home/me/my "notes"'), Path("/home/me/notes")
)


@pytest.fixture
def data() -> Iterator[Path]:
    with in_memory() as folder:
        place = folder / "dätä"
        yield place
        cli(place, "down")


def test_a_server_is_known_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    waits = [sys.executable, "-c", "input()", "memolith", "serve"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE) as process:
        try:
            assert is_our_server(process.pid)
        finally:
            process.kill()


def test_a_server_goes_up_answers_and_goes_down(data: Path) -> None:
    assert ask(data, "status") == {"running": False, "data": str(data)}
    assert not data.exists()
    told = ask(data, "up", "--port", "0", "--launcher", "process")
    assert (
        httpx2.get(told["url"] + "/health", trust_env=False, timeout=TIMEOUT_S).json()["status"]
        == "healthy"
    )
    assert is_our_server(told["process"])
    again = cli(data, "up", "--port", "0", "--launcher", "process")
    assert again.returncode == 1
    assert told["url"] in again.stderr
    state = ask(data, "status")
    assert (state["running"], state["url"]) == (True, told["url"])
    assert state["uptime_s"] >= 0
    assert ask(data, "logs")["file"] == told["log"]
    assert ask(data, "page")["page"].startswith(told["url"])
    assert told["page"] not in Path(told["log"]).read_text(encoding="utf-8")
    assert (data / "server.json").stat().st_mode & 0o077 == 0
    assert ask(data, "down")["stopped"] == told["url"]
    assert not is_our_server(told["process"])
    assert ask(data, "status")["running"] is False
    assert cli(data, "down").returncode == 1


def test_a_server_that_died_is_told_and_can_be_started_again(data: Path) -> None:
    told = ask(data, "up", "--port", "0", "--launcher", "process")
    subprocess.run(["kill", "-9", str(told["process"])], check=True)
    dead = cli(data, "status")
    assert dead.returncode == 1
    assert "does not answer" in dead.stdout
    assert ask(data, "up", "--port", "0", "--launcher", "process")["url"]


def test_a_server_that_cannot_start_tells_why(data: Path) -> None:
    ran = cli(data, "up", "--host", "203.0.113.7", "--port", "0", "--launcher", "process")
    assert ran.returncode == 1
    assert "Cannot listen on 203.0.113.7:0" in ran.stderr
    assert ask(data, "status")["running"] is False


@pytest.fixture
def foreground(data: Path) -> Iterator[Child]:
    with Child(*CLI[1:], "serve", "--port", "0", "--json", "--data", data) as server:
        yield server


def test_a_server_in_a_terminal_is_known_while_it_runs(data: Path, foreground: Child) -> None:
    url = json.loads(foreground.line())["url"]
    state = ask(data, "status")
    assert (state["running"], state["url"]) == (True, url)
    assert state["process"] == foreground.process.pid
    foreground.process.terminate()
    foreground.process.wait(TIMEOUT_S)
    assert not list(data.glob("serving-*"))
    assert ask(data, "status") == {"running": False, "data": str(data)}


def test_the_record_of_a_killed_server_does_not_count(data: Path, foreground: Child) -> None:
    foreground.line()
    foreground.kill()
    assert list(data.glob("serving-*"))
    assert ask(data, "status") == {"running": False, "data": str(data)}


def test_down_leaves_a_server_in_a_terminal_alone_and_names_its_process(
    data: Path, foreground: Child
) -> None:
    foreground.line()
    told = cli(data, "down")
    assert told.returncode == 1
    assert f"end its process, {foreground.process.pid}." in told.stderr
    assert ask(data, "status")["running"] is True


def test_logs_without_a_server_tell_where_they_would_be(data: Path) -> None:
    ran = cli(data, "logs")
    assert ran.returncode == 1
    assert str(data / "server.log") in ran.stderr


def test_an_empty_log_tells_how_to_fill_it(data: Path) -> None:
    data.mkdir(mode=0o700)
    (data / "server.log").touch(mode=0o600)
    ran = cli(data, "logs")
    assert ran.returncode == 0
    assert "MEMOLITH_LOG_LEVEL=info" in ran.stderr


def test_the_unit_is_one_that_systemd_accepts(tmp_path: Path) -> None:
    text = SystemdLauncher().unit_text(SERVER)
    assert 'ExecStart="/opt/ü 100%%/memolith" "serve" "--data" "/home/me/my \\"notes\\""' in text
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    program = tmp_path / "memolith"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o700)
    server = Server((str(program), "serve"), tmp_path)
    unit = tmp_path / f"{server.name}.service"
    unit.write_text(SystemdLauncher().unit_text(server), encoding="utf-8")
    ran = subprocess.run(
        [analyze, "--user", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert str(unit) not in ran.stderr, ran.stderr


def test_the_agent_of_launchd_is_a_property_list() -> None:
    told = plistlib.loads(LaunchdLauncher().agent_text(SERVER).encode())
    assert told["ProgramArguments"] == list(SERVER.command)
    assert told["StandardErrorPath"] == str(SERVER.log_file)
    assert told["RunAtLoad"] is True


def test_the_task_of_windows_quotes_its_command() -> None:
    command = WindowsTaskLauncher().task_command(SERVER)
    assert command[-1].startswith('"/opt/ü 100%/memolith" serve --data ')
    assert command[command.index("/tn") + 1] == SERVER.name
