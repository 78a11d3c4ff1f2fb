"""The toolset and the histories of Pydantic AI, with the real package in an environment of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations.environments import examples, outputs, run, run_checks
from tests.programs.served import thread

pytestmark = pytest.mark.full


def test_the_examples_print_what_the_page_says(tmp_path: Path) -> None:
    printed = [run("pydantic-ai", ["-c", program], tmp_path) for program in examples("Pydantic AI")]
    assert printed == outputs("Pydantic AI")


def test_it_works_on_a_folder(tmp_path: Path) -> None:
    run_checks("pydantic-ai", "pydantic_ai_checks.py", tmp_path, None)


def test_it_works_on_a_server(tmp_path: Path) -> None:
    with thread(tmp_path / "server") as served:
        run_checks("pydantic-ai", "pydantic_ai_checks.py", tmp_path, served)
