"""A folder with the items that the examples of all tools are about, made once and copied for each test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from memolith.bootstrap import App
from memolith.settings import Settings
from tests.conftest import At
from tests.tools.stock import fill, open_quick

Copy = Callable[[Path], Settings]


@pytest.fixture(scope="module")
def stock(at: At, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that is copied."""
    folder = tmp_path_factory.mktemp("stock")
    fill(at(folder))
    return folder


@pytest.fixture
def copy(at: At, stock: Path) -> Iterator[Copy]:
    """Copies the folder to another place."""
    with ExitStack() as cleanup:

        def copied(folder: Path) -> Settings:
            cleanup.callback(at.drop, folder)
            return at.copy(stock, folder)

        yield copied


@pytest.fixture
def stocked(copy: Copy, tmp_path: Path) -> Iterator[App]:
    """An app on a copy of its own."""
    with closing(open_quick(copy(tmp_path / "stocked"))) as app:
        yield app


@pytest.fixture(scope="module")
def shared(at: At, stock: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """One app for all calls that must not change anything."""
    with closing(open_quick(at.copy(stock, tmp_path_factory.mktemp("shared")))) as app:
        yield app
