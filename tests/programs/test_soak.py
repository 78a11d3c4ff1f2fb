"""A short time of what `make soak` does for ten minutes: many clients of every kind on one folder
at once.
"""

from pathlib import Path
from typing import Any

import pytest
from bench.soak import FLAT, Plan, Tally, conclude, run


@pytest.mark.parametrize(
    "plan",
    [
        Plan(seconds=5, sessions=4, rest=4, stdio=4, items_per_client=6),
        # Long enough to tell whether memory grows; `make soak` takes ten minutes.
        pytest.param(Plan(seconds=75), marks=pytest.mark.full),
    ],
    ids=lambda plan: f"{plan.seconds:.0f} s",
)
def test_many_clients_on_one_folder_make_no_error_and_lose_no_write(
    tmp_path: Path, plan: Any
) -> None:
    tally = run(plan, tmp_path)
    assert tally.errors == []
    assert tally.lost == []
    assert tally.problems == []
    # Every client has come through, and none of them only once.
    assert len(tally.kept) > 5 * plan.clients
    if plan.seconds > 60:
        # In less time than that the caches of the server are still filling.
        assert tally.growth < FLAT


def test_the_last_line_of_a_soak_without_faults_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert conclude(Tally(memory=[(0.4, 1), (1.0, 1)]).faults) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "soak: passed"


def test_the_last_line_of_a_soak_counts_its_faults(capsys: pytest.CaptureFixture[str]) -> None:
    tally = Tally(
        errors=["an error"], lost=["x"], problems=["a difference"], memory=[(0.4, 1), (1.0, 2)]
    )
    assert conclude(tally.faults) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "soak: failed, 4 faults"
