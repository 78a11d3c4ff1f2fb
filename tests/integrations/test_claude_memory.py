"""Claude's memory tool with the real package, whose runner talks to a stand-in for the API."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations.environments import examples, outputs, run, run_checks
from tests.integrations.messages_stand_in import messages_stand_in
from tests.programs.served import thread

pytestmark = pytest.mark.full


def test_the_examples_print_what_the_page_says(tmp_path: Path) -> None:
    with messages_stand_in() as environment:
        printed = [
            run("anthropic", ["-c", program], tmp_path, **environment)
            for program in examples("Claude's memory tool")
        ]
    assert printed == outputs("Claude's memory tool")


def test_it_works_on_a_folder(tmp_path: Path) -> None:
    with messages_stand_in() as environment:
        run_checks("anthropic", "claude_memory_checks.py", tmp_path, None, **environment)


def test_it_works_on_a_server(tmp_path: Path) -> None:
    with messages_stand_in() as environment, thread(tmp_path / "server") as served:
        run_checks("anthropic", "claude_memory_checks.py", tmp_path, served, **environment)
