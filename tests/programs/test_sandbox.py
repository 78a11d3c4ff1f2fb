"""Nothing gets out of the sandbox, and without it the same attempts would get through."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memolith.sandbox.constants import NOBODY
from memolith.sandbox.launch import ENVIRONMENT
from tests.programs.escapes import ATTEMPTS, HARMLESS, LEAKS

ORDINARY_USER = 12345
BATTERY = Path(__file__).with_name("battery.py")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the sandbox is made of what Linux offers"
)


def battery(mode: str, user: str) -> dict[str, Any]:
    if user == "root" and os.getuid():
        pytest.skip("only root can show what root may do")
    ran = subprocess.run(
        [sys.executable, str(BATTERY), mode, user], capture_output=True, text=True, timeout=600
    )
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout))


@pytest.mark.parametrize("user", ["root", "user"])
@pytest.mark.parametrize("mode", ["namespace", "landlock"])
def test_nothing_gets_out_and_the_runner_answers_after_every_attempt(mode: str, user: str) -> None:
    found = battery(mode, user)
    assert found["state"][0] == mode, found["state"]
    assert found["attempts"] == len(ATTEMPTS) >= 90
    assert set(found["escaped"]) == LEAKS[mode]
    assert (found["silent"], found["damage"]) == ([], [])
    # Other users of the machine see nothing, and no folder is left, however it was filled.
    assert (found["exposed"], found["left"]) == ([], [])


def test_without_a_sandbox_the_attempts_get_through() -> None:
    assert battery("no", "none")["escaped"] == HARMLESS


@pytest.mark.parametrize("user", ["root", "user"])
def test_a_hostile_file_that_is_read_unfenced_finds_no_secret_and_no_root(user: str) -> None:
    found = battery("unfenced", user)
    # Python itself may set the one that is not ours.
    assert set(found["environment"]) - {"LC_CTYPE"} == set(ENVIRONMENT)
    assert found["user"] == (NOBODY if user == "root" else ORDINARY_USER)
    assert (found["may_fork"], found["handles"]) == (False, [])
