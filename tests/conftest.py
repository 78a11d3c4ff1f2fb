"""What every test may use: a fresh data folder with the real engine on real SQLite."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memolith.app import App, open_app
from memolith.engine.model import Block, Caller, Draft
from memolith.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))
pytest_plugins = ["postgres"]
ME = Caller()


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """An app on an empty folder, searching by words only."""
    made = open_app(Settings(data=tmp_path / "data", embedder="none"))
    yield made
    made.close()


@pytest.fixture
def smart(tmp_path: Path) -> Iterator[App]:
    """An app on an empty folder with the real model."""
    made = open_app(Settings(data=tmp_path / "data"))
    yield made
    made.close()


def note(text: str, **fields: object) -> Draft:
    """A draft of a memory with one text."""
    return Draft(blocks=(Block(text),), **fields)  # type: ignore[arg-type]
