"""`memolith doctor`: everything that it finds, with what to do about it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.doors.cli.background_server import RunningServer, write_state
from memolith.doors.cli.findings import (
    clock_findings,
    disk_findings,
    key_findings,
    sqlite_findings,
)
from memolith.ports.client_keys import ClientKey
from memolith.settings import Settings
from tests.programs.children import cli
from tests.programs.pipes import silent_port
from tests.programs.served import thread

KEY = ClientKey("k1", "digest", "laptop", "local", "local", (), "2026-01-01T00:00:00Z")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def problems(data: Path, home: Path, **env: str) -> list[str]:
    """What doctor finds. It fails if that is something."""
    ran = cli(
        data,
        "doctor",
        "--json",
        **{"HOME": str(home), "MEMOLITH_PORT": str(silent_port()), **env},
    )
    found: list[str] = json.loads(ran.stdout)["problems"]
    assert ran.returncode == (1 if found else 0)
    return found


@pytest.fixture
def store(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    assert cli(data, "remember", "Tea at four.").returncode == 0
    return data


@pytest.fixture
def foreign_port() -> Iterator[str]:
    """A port on which a program listens that says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield str(listener.getsockname()[1])


def test_a_healthy_store_has_no_problems(store: Path, home: Path) -> None:
    assert problems(store, home) == []


def test_a_full_disk_is_told_in_sizes_for_people() -> None:
    (found,) = disk_findings(1_500_000)
    assert found.startswith("Only 1.5 MB are free")
    assert "make room" in found


def test_a_disk_with_room_is_no_problem() -> None:
    assert disk_findings(100_000_000) == []


def test_an_old_sqlite_is_told_with_the_command_that_updates_it() -> None:
    (found,) = sqlite_findings("3.46.1")
    assert "pip install --upgrade 'apsw>=3.54'" in found


def test_a_new_sqlite_is_no_problem() -> None:
    assert sqlite_findings("3.54.0") == []


def test_a_clock_behind_the_newest_event_is_told() -> None:
    (found,) = clock_findings("2026-06-01T12:00:00Z", "2026-06-01T11:54:00Z")
    assert "set the clock" in found


def test_a_clock_a_little_behind_is_no_problem() -> None:
    assert clock_findings("2026-06-01T12:00:00Z", "2026-06-01T11:56:00Z") == []


def test_a_key_without_scopes_is_told_by_its_name() -> None:
    (found,) = key_findings([KEY])
    assert "'laptop'" in found
    assert "memolith keys revoke k1" in found


def test_a_revoked_key_without_scopes_is_no_problem() -> None:
    assert key_findings([KEY._replace(revoked=True)]) == []


def test_a_key_without_scopes_in_the_store_is_found(store: Path, home: Path) -> None:
    app = App(Settings(data=store, embedder="none"))
    app.keys.add(KEY)
    app.close()
    assert "'laptop'" in problems(store, home)[0]


def test_failures_of_hooks_are_counted(store: Path, home: Path) -> None:
    (store / "hooks.log").write_text("2026-01-01 hook ['x'] failed with KeyError\n")
    (store / "hooks.log").chmod(0o600)
    (found,) = problems(store, home)
    assert found.startswith("1 call of a hook failed")
    assert str(store / "hooks.log") in found


def test_a_misspelt_variable_is_told_with_the_one_that_was_meant(store: Path, home: Path) -> None:
    assert problems(store, home, MEMOLITH_DATABSE="postgresql://x") == [
        "The variable MEMOLITH_DATABSE is no setting of memolith; did you mean MEMOLITH_DATABASE?"
    ]


def test_a_server_that_is_gone_is_told(store: Path, home: Path) -> None:
    write_state(store, RunningServer(f"http://127.0.0.1:{silent_port()}", "process", None, 0.0))
    (found,) = problems(store, home)
    assert "`memolith down` and `memolith up`" in found


def test_a_port_of_another_program_is_told(store: Path, home: Path, foreign_port: str) -> None:
    (found,) = problems(store, home, MEMOLITH_PORT=foreign_port)
    assert f"port {foreign_port}" in found
    assert "MEMOLITH_PORT" in found


def test_a_port_on_which_memolith_serves_is_no_problem(
    store: Path, home: Path, tmp_path: Path
) -> None:
    with thread(tmp_path / "served") as served:
        assert problems(store, home, MEMOLITH_PORT=str(served.port)) == []


def cursor_file(home: Path, entry: dict[str, Any]) -> Path:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"mcpServers": {"memolith": entry}}))
    return file


def test_a_client_that_starts_a_program_which_is_gone_is_told(store: Path, home: Path) -> None:
    file = cursor_file(home, {"command": "/gone/memolith", "args": ["stdio"]})
    assert problems(store, home) == [
        f"Cursor is told in {file} to start /gone/memolith, which is not there; write it anew with "
        "`memolith install cursor`."
    ]


def test_a_client_that_names_a_folder_which_cannot_be_used_is_told(
    store: Path, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    folder = str(tmp_path / "file" / "data")
    cursor_file(home, {"command": "sh", "args": ["memolith", "--data", folder]})
    (found,) = problems(store, home)
    assert f"use the data folder {folder}, which cannot be used" in found


def test_a_client_whose_folder_is_made_by_the_first_call_is_no_problem(
    store: Path, home: Path, tmp_path: Path
) -> None:
    written = cli(tmp_path / "later", "install", "cursor", "--yes", HOME=str(home))
    assert written.returncode == 0, written
    assert problems(store, home) == []


def test_a_client_of_a_server_that_does_not_run_is_told(store: Path, home: Path) -> None:
    cursor_file(home, {"url": f"http://127.0.0.1:{silent_port()}/mcp"})
    (found,) = problems(store, home)
    assert "`memolith up` starts a server" in found


def test_a_client_with_other_servers_is_no_problem(store: Path, home: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"other": {"command": "/gone/other"}}}')
    assert problems(store, home) == []


def test_what_install_wrote_is_no_problem(store: Path, home: Path) -> None:
    written = cli(store, "install", "cursor", "--yes", HOME=str(home))
    assert written.returncode == 0, written
    assert problems(store, home) == []


def test_a_collector_that_does_not_listen_is_told(store: Path, home: Path) -> None:
    url = f"http://127.0.0.1:{silent_port()}"
    (found,) = problems(store, home, MEMOLITH_TELEMETRY_URL=url)
    assert found.startswith(f"Nothing listens at {url}")


def test_a_database_that_cannot_be_reached_is_told_with_its_setting(
    tmp_path: Path, home: Path
) -> None:
    address = f"postgresql://nobody@127.0.0.1:{silent_port()}/none"
    (found,) = problems(tmp_path / "data", home, MEMOLITH_DATABASE=address)
    assert "cannot be reached" in found
    assert "MEMOLITH_DATABASE" in found
