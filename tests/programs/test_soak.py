"""A short time of what `make soak` does for ten minutes: many clients of every kind on one folder
at once.
"""

from pathlib import Path
from typing import Any

import pytest
from bench.soak import FLAT, Plan, run


@pytest.mark.parametrize(
    "plan",
    [
        Plan(seconds=8, sessions=4, rest=4, stdio=4),
        pytest.param(Plan(seconds=20), marks=pytest.mark.full),
        pytest.param(Plan(seconds=120), marks=pytest.mark.full),
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
    assert len(tally.kept) > 5 * (plan.rest + plan.sessions + plan.stdio)
    if plan.seconds > 60:
        # In less time than that the caches of the server are still filling.
        assert tally.growth < FLAT
