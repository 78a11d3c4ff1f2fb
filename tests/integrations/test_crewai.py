"""CrewAI uses memolith over MCP: the two cannot be in one environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.integrations.environments import examples, outputs, python_with, run

pytestmark = pytest.mark.full

QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
    "OPENAI_API_KEY": "not-used",
}


def test_the_example_prints_what_the_page_says(tmp_path: Path) -> None:
    # The page says that `memolith` is installed by itself: here it is that of another environment.
    programs = python_with("langgraph").parent
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    [program] = examples("CrewAI")
    printed = run("crewai", ["-c", program], tmp_path, PATH=path, **QUIET)
    # CrewAI draws boxes about the connection before that.
    assert printed.splitlines()[-1:] == outputs("CrewAI")[0].splitlines()
