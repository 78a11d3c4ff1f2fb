"""The official MCP conformance suite: every scenario that a revision requires, without a list of expected failures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from scripts.conformance import REQUIRED, install_suite, run_revision, serving


@pytest.fixture(scope="module")
def command() -> list[str]:
    return install_suite()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.mark.parametrize("revision", REQUIRED)
def test_every_required_scenario_passes(command, url, revision):
    report = run_revision(command, url, revision)
    assert report.failed == [], report.output
    assert report.exit_code == 0, report.output
    assert len(report.passed) == REQUIRED[revision]
