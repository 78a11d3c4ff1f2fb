"""mem0's client, in the version that is published, against memolith."""

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
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "switch.md"
CHECKS = Path(__file__).with_name("mem0_checks.py")
PACKAGES = ["mem0ai==2.2.1"]


def run(served: Served, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python where the package is installed, with a key that its client accepts."""
    return subprocess.run(
        [environment("mem0", PACKAGES), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=RUN_S,
        env=clean_environment(
            CHECK_URL=served.url,
            CHECK_KEY=mem0_key(served),
            MEM0_TELEMETRY="False",
            MEM0_DIR=str(folder),
            PYTHONPATH="",
        ),
        check=False,
    )


def mem0_key(served: Served) -> str:
    key, _ = make_key(served.app.keys, served.app.clock.now(), NewKey("mem0", like="mem0"))
    return key


def test_every_public_method_works_with_another_address_and_key(at: At, tmp_path: Path) -> None:
    settings = at(tmp_path / "data", "minilm")
    with thread(
        tmp_path / "data",
        embedder="minilm",
        database=settings.database,
        calls_per_minute=1_000_000,
    ) as served:
        done = run(served, tmp_path / "mem0", str(CHECKS))
    defined = re.findall(r"^(?:async )?def (check_\w+)", CHECKS.read_text(encoding="utf-8"), re.M)
    passed = [line for line in done.stdout.splitlines() if line.startswith("check_")]
    assert (done.returncode, passed) == (0, defined), done.stdout


def test_the_program_on_the_page_prints_what_the_page_says(at: At, tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition("## mem0\n")[2].partition("\n## ")[0]
    program, shown = re.findall(r"^```(?:py|text)\n(.*?)^```", section, re.M | re.S)
    settings = at(tmp_path / "data", "minilm")
    with thread(tmp_path / "data", embedder="minilm", database=settings.database) as served:
        program = program.replace("http://127.0.0.1:8724", served.url)
        program = program.replace("m0-...", mem0_key(served))
        done = run(served, tmp_path / "mem0", "-c", program)
    assert done.stdout == shown
