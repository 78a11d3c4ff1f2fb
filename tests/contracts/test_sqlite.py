"""SQLite keeps the promises of the store."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from contracts.store import StoreContract


@pytest.fixture(scope="module")
def new_address(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """A new folder each time."""
    numbers, folder = count(), tmp_path_factory.mktemp("stores")
    return lambda: str(Path(folder, str(next(numbers))))


class TestSqlite(StoreContract):
    """One file, many processes."""
