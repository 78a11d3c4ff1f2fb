"""Sekha's SDK and its MCP server, in the versions that are published, against memolith."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from memolith.doors.http.auth.keys import NewKey, make_key
from tests.conftest import At
from tests.integrations.environments import RUN_S, clean_environment, environment
from tests.programs.served import Served, thread
from tests.stores import each_store

pytestmark = [each_store, pytest.mark.full]
SOURCES = [("Gate", "active"), ("Fence", "archived")]
SAID_AT = "2026-02-03T04:05:06.000000Z"
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "switch.md"
CHECKS = Path(__file__).with_name("sekha_checks.py")
# Its MCP server uses names that version 2 of `mcp` no longer has, and allows that version.
PACKAGES = ["sekha-python-sdk==0.2.0", "sekha-mcp==0.2.0", "mcp<2"]


def sekha_key(served: Served) -> str:
    key, _ = make_key(served.app.keys, served.app.clock.now(), NewKey("sekha", like="sekha"))
    return key


def blocks_of_page() -> list[str]:
    """The programs in the section on Sekha, and what they print."""
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition("## Sekha\n")[2].partition("\n## ")[0]
    return re.findall(r"^```(?:py|text)\n(.*?)^```", section, re.M | re.S)


def printed_by(program: str) -> str:
    """What a program prints where Sekha's packages are installed; it must end well."""
    done = subprocess.run(
        [environment("sekha", PACKAGES), "-c", program],
        capture_output=True,
        encoding="utf-8",
        timeout=RUN_S,
        env=clean_environment(PYTHONPATH=""),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def stored_in(served: Served, label: str, status: str) -> str:
    """The id of a new conversation."""
    message = {"role": "user", "content": "The gate opens.", "timestamp": SAID_AT}
    arguments = {"label": label, "folder": "/old", "importance_score": 7, "messages": [message]}
    stored: str = served.tool("memory_store", arguments).json()["data"]["id"]
    served.tool("memory_update", {"conversation_id": stored, "status": status})
    return stored


def run_checks(served: Served, prefix: str) -> None:
    key = sekha_key(served)
    done = subprocess.run(
        [environment("sekha", PACKAGES), str(CHECKS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=RUN_S,
        env=clean_environment(
            CHECK_URL=served.url, CHECK_PREFIX=prefix, CHECK_KEY=key, PYTHONPATH=""
        ),
        check=False,
    )
    defined = re.findall(r"^(?:async )?def (check_\w+)", CHECKS.read_text(encoding="utf-8"), re.M)
    passed = [line for line in done.stdout.splitlines() if line.startswith("check_")]
    assert (done.returncode, passed) == (0, defined), done.stdout


@pytest.mark.parametrize("prefix", ["/sekha", ""])
def test_every_public_method_works_with_another_address_and_key(
    at: At, tmp_path: Path, prefix: str
) -> None:
    settings = at(tmp_path / "data", "minilm")
    with thread(
        tmp_path / "data",
        embedder="minilm",
        database=settings.database,
        calls_per_minute=1_000_000,
    ) as served:
        run_checks(served, prefix)


def test_the_program_on_the_page_prints_what_the_page_says(at: At, tmp_path: Path) -> None:
    program, shown, _ = blocks_of_page()
    settings = at(tmp_path / "data", "minilm")
    with thread(tmp_path / "data", embedder="minilm", database=settings.database) as served:
        key = sekha_key(served)
        program = program.replace("http://127.0.0.1:8724", served.url)
        assert printed_by(program.replace("sk-sekha-...", key)) == shown


def test_the_copy_on_the_page_brings_everything_once(at: At, tmp_path: Path) -> None:
    _, _, program = blocks_of_page()
    settings = at(tmp_path / "new")
    # The routes of Sekha's controller that the program reads are documented tools and lists here.
    with (
        thread(tmp_path / "old") as old,
        thread(tmp_path / "new", database=settings.database) as new,
    ):
        ids = [stored_in(old, label, status) for label, status in SOURCES]
        program = program.replace("http://localhost:8080", old.url)
        program = program.replace("OLD_KEY", old.admin)
        program = program.replace("http://127.0.0.1:8724", new.url)
        program = program.replace("sk-sekha-...", sekha_key(new))
        for _ in range(2):
            printed_by(program)
        found = new.ask("GET", "/sekha/api/v1/conversations", new.admin).json()["results"]
        copies = [
            new.ask("GET", f"/sekha/api/v1/conversations/{entry['id']}", new.admin).json()
            for entry in found
        ]
    assert {(copy["label"], copy["status"]) for copy in copies} == set(SOURCES)
    assert {copy["metadata"]["sekha_id"] for copy in copies} == set(ids)
    assert {copy["messages"][0]["timestamp"] for copy in copies} == {SAID_AT}
    assert {(copy["folder"], copy["importance_score"]) for copy in copies} == {("/old", 7)}
