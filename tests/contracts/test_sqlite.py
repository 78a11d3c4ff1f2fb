"""SQLite keeps the promises of the store."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import ClassVar

import pytest

from contracts.store import StoreContract


@pytest.fixture(scope="module")
def new_address(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """A new folder each time."""
    numbers, folder = count(), tmp_path_factory.mktemp("stores")
    return lambda: str(Path(folder, str(next(numbers))))


class TestSqlite(StoreContract):
    """One file, many processes."""

    faults: ClassVar[dict[str, str]] = {
        "test_a_filter_keeps_the_same_in_a_listing_a_count_and_both_searches[a tag named twice]":
            "the vector stage counts a tag that is asked for twice as two",
    }
