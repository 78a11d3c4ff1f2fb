"""The official MCP conformance suite: all required scenarios, without expected failures."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripts.conformance import REQUIRED, install_suite, run_revision, serving

from tests.programs.children import CLI, SRC, environment


@pytest.fixture(scope="module")
def command() -> list[str]:
    return install_suite()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.mark.parametrize("revision", REQUIRED)
def test_every_required_scenario_passes(command: list[str], url: str, revision: Any) -> None:
    report = run_revision(command, url, revision)
    assert report.failed == [], report.output
    assert report.exit_code == 0, report.output
    assert len(report.passed) == REQUIRED[revision]


def test_a_package_without_the_checkout_says_that_the_fixtures_are_missing(tmp_path: Path) -> None:
    installed = tmp_path / "lib"
    installed.mkdir()
    (installed / "memolith").symlink_to(Path(SRC, "memolith"), target_is_directory=True)
    ran = subprocess.run(
        [*CLI, "serve", "--conformance", "--port", "0", "--data", str(tmp_path / "data")],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(PYTHONPATH=str(installed)),
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "needs a checkout" in ran.stderr
