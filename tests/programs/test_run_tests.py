"""`make test` runs what failed once more, alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import run_tests

UNSTEADY = """
from pathlib import Path

def test_unsteady():
    ran_before = Path("ran").exists()
    Path("ran").touch()
    assert ran_before
"""
BROKEN = "def test_broken():\n    assert False\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with no tests yet, in place of this one."""
    (tmp_path / "pytest.ini").write_text("[pytest]\ncache_dir = cache\n", encoding="utf-8")
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    monkeypatch.setattr(run_tests, "LAST_FAILED", tmp_path / "cache" / "v" / "cache" / "lastfailed")
    return tmp_path


def run(project: Path, capfd: pytest.CaptureFixture[str], tests: str) -> tuple[int, str]:
    (project / "test_sample.py").write_text(tests, encoding="utf-8")
    code = run_tests.main(["-p", "no:schemathesis", "-p", "no:xdist", "."])
    return code, capfd.readouterr().out


def test_a_test_that_passes_alone_is_named_as_unsteady(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, output = run(project, capfd, UNSTEADY)
    assert code == 0
    assert output.splitlines()[-1] == "test_sample.py::test_unsteady"


def test_a_test_that_fails_alone_fails_the_run(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, output = run(project, capfd, UNSTEADY + BROKEN)
    assert code == 1
    assert "1 failed, 1 passed" in output


def test_many_failures_are_not_run_again(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    many = "".join(
        BROKEN.replace("broken", f"broken_{n}") for n in range(run_tests.MAX_UNSTEADY + 1)
    )
    code, output = run(project, capfd, many)
    assert code == 1
    assert "Once more" not in output


def test_a_file_that_cannot_be_read_is_not_run_again(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, output = run(project, capfd, "import nothing_of_this_name\n")
    assert code != 0
    assert "Once more" not in output
