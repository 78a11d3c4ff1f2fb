"""Sessions and tools of the OpenAI Agents SDK, with the real package in an environment of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations.environments import examples, outputs, run, run_checks
from tests.integrations.model_stand_in import model_stand_in
from tests.programs.served import thread

pytestmark = pytest.mark.full


def test_the_examples_print_what_the_page_says(tmp_path: Path) -> None:
    with model_stand_in() as environment:
        printed = [
            run("openai-agents", ["-c", program], tmp_path, **environment)
            for program in examples("OpenAI Agents SDK")
        ]
    assert printed == outputs("OpenAI Agents SDK")


def test_the_example_of_deep_research_prints_what_the_page_says(tmp_path: Path) -> None:
    heading = "OpenAI deep research"
    with model_stand_in() as environment, thread(tmp_path / "server") as served:
        served.tool("remember", {"content": "Maria prefers tea.", "title": "Drinks"})
        where = {
            "MEMOLITH_URL": served.url,
            "MEMOLITH_KEY": served.key("local", "local", "read"),
        }
        printed = [
            run("openai-agents", ["-c", program], tmp_path, **environment, **where)
            for program in examples(heading)
        ]
    assert printed == outputs(heading)


def test_it_works_on_a_folder(tmp_path: Path) -> None:
    run_checks("openai-agents", "openai_agents_checks.py", tmp_path, None)


def test_it_works_on_a_server(tmp_path: Path) -> None:
    with thread(tmp_path / "server") as served:
        run_checks("openai-agents", "openai_agents_checks.py", tmp_path, served)
