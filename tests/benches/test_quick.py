"""`make bench-quick`: when it fails, when it does not, and when it has nothing to compare with."""

import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest
from bench import quick
from bench.quick import Figures, Line, Side, Sides, Skipped

SOURCE = quick.ROOT / "src"
SLOW_WRITE = """

_quick_remember = Writing.remember


def _slow_remember(self, *arguments, **named):
    import time

    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        pass
    return _quick_remember(self, *arguments, **named)


Writing.remember = _slow_remember
"""
"""10 ms of CPU time on top of the 2 or 3 that a write takes."""


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    return Sides(
        Side("old", SOURCE, tmp_path / "old"),
        Side("new", SOURCE, tmp_path / "new"),
    )


def fake_line(monkeypatch: pytest.MonkeyPatch, *ratios: float) -> list[float]:
    """A line that measures these ratios, one after the other; returns those not measured yet."""
    left = list(ratios)
    line = Line("fake", "ms", lambda _: Figures([1.0], [left.pop(0)]))
    monkeypatch.setitem(quick.LINES, "fake", line)
    return left


def test_some_bad_rounds_of_one_side_do_not_count() -> None:
    steady, disturbed = [2.0, 2.0, 2.1, 2.0, 2.0], [2.0, 9.0, 2.1, 2.0, 8.0]
    assert Figures(steady, disturbed).ratio() <= 1.05


def test_a_shift_of_every_round_counts() -> None:
    assert Figures([2.0, 2.1, 2.2], [3.0, 3.1, 3.3]).ratio() == pytest.approx(3.1 / 2.1)


def test_a_slow_line_that_is_not_confirmed_passes(
    monkeypatch: pytest.MonkeyPatch, sides: Sides
) -> None:
    left = fake_line(monkeypatch, 1.5, 1.5, 1.5, 1.1)
    assert not quick.compare("fake", sides, quick.LIMIT)
    assert not left


def test_a_line_that_is_slow_four_times_fails(
    monkeypatch: pytest.MonkeyPatch, sides: Sides, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_line(monkeypatch, 1.5, 1.5, 1.5, 1.5)
    assert quick.compare("fake", sides, quick.LIMIT)
    assert "4 times out of 4" in capsys.readouterr().out


def test_a_quick_line_is_measured_once(monkeypatch: pytest.MonkeyPatch, sides: Sides) -> None:
    left = fake_line(monkeypatch, 1.1, 1.5)
    assert not quick.compare("fake", sides, quick.LIMIT)
    assert left == [1.5]


def test_a_commit_that_is_not_in_the_history_is_skipped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(quick, "CACHE", tmp_path)
    with pytest.raises(Skipped):
        quick.baseline_source("0" * 40)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_a_deliberate_slowdown_is_caught(tmp_path: Path) -> None:
    slowed = tmp_path / "src"
    copytree(SOURCE, slowed, ignore=ignore_patterns("__pycache__", "*.onnx"))
    with (slowed / "memolith" / "engine" / "writing.py").open("a", encoding="utf-8") as file:
        file.write(SLOW_WRITE)
    command = [sys.executable, "-m", "bench.quick", "--lines", "write"]
    ran = subprocess.run(
        [*command, "--old", str(SOURCE), "--new", str(slowed)],
        cwd=quick.ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "SLOWER: write" in ran.stdout
