"""SQLite keeps the promises of the store."""

from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from contracts.store import StoreContract
from memolith.storage.sqlite import SqliteStore


@pytest.fixture(scope="module")
def new_address(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """A new folder each time."""
    numbers, folder = count(), tmp_path_factory.mktemp("stores")
    return lambda: str(Path(folder, str(next(numbers))))


class TestSqlite(StoreContract):
    """One file, many processes."""


@pytest.mark.parametrize("name", ["passages_of_items", "passages_from", "text_bytes"])
def test_the_passages_of_an_item_are_read_by_their_row_and_not_from_the_index_of_the_whole_tenant(tmp_path, name):
    with closing(SqliteStore(tmp_path)) as store, store.reading("local") as rows:
        values = {"tenant": "local", "ids": '["a"]', "id": "a", "item": 1, "ordinal": 0}
        plan = [step for *_, step in rows.run("explain query plan " + rows.queries[name], values)]
    assert any("USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)" in step for step in plan), plan
