"""Drawings of the graph in Mermaid and DOT, read by the real parsers: every name comes out as it
went in.
"""

import json
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from scripts.conformance import install

from memolith.bootstrap import App
from tests.tools.test_subcog_graph import NAMES, ask, make, tie

SCRIPT = Path(__file__).with_name("drawings.mjs")


@pytest.fixture(scope="module")
def reader() -> list[str]:
    """The command that reads drawings; it lies where Node finds its packages."""
    try:
        node, folder = install("mermaid", "12.3.0", "happy-dom@21.0.4", "@viz-js/viz@3.31.0")
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"the parsers cannot be had from npm: {error}")
    return [node, str(shutil.copy(SCRIPT, str(folder.parents[1])))]


@pytest.mark.full
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(NAMES, id="hostile"),
        pytest.param(["Alone"], id="one"),
        pytest.param([], id="none"),
    ],
)
def test_mermaid_and_dot_are_valid_and_keep_every_name(
    app: App, reader: list[str], names: Any
) -> None:
    make(app, *names)
    pairs = list(pairwise(names))
    for one, two in pairs:
        tie(app, one, two, "ConflictsWith")
    shown = {
        format: ask(app, "graph", operation="visualize", format=format)["content"]
        for format in ("mermaid", "dot")
    }
    ran = subprocess.run(
        reader,
        input=json.dumps(shown),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    for format, seen in json.loads(ran.stdout).items():
        # Mermaid writes a coded character in a way of its own until it draws.
        labels = [
            re.sub(r"ﬂ°°(\d+)¶ß", lambda code: chr(int(code[1])), label) for label in seen["labels"]
        ]
        assert sorted(labels) == sorted(names), format
        numbers = {f"n{number}": label for number, label in enumerate(labels)}
        assert sorted((numbers[a], type, numbers[b]) for a, type, b in seen["edges"]) == sorted(
            (one, "ConflictsWith", two) for one, two in pairs
        ), format
