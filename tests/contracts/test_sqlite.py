"""SQLite keeps the promises of the store."""

from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from memolith.domain.callers import Caller
from memolith.storage import terms
from memolith.storage.reader import TERMS_RECORD
from memolith.storage.sqlite.statements import QUERIES
from memolith.storage.sqlite.store import SqliteStore
from tests.conftest import ME, note
from tests.contracts.store import StoreContract, search
from tests.stores import engine_on


@pytest.fixture(scope="module")
def new_address(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """A new folder each time."""
    numbers, folder = count(), tmp_path_factory.mktemp("stores")
    return lambda: str(Path(folder, str(next(numbers))))


class TestSqlite(StoreContract):
    """One file, many processes."""


@pytest.mark.parametrize(
    "name, used",
    [
        ("passages_of_items", "PRIMARY KEY (rowid>? AND rowid<?)"),
        ("text_sizes", "PRIMARY KEY (rowid>? AND rowid<?)"),
        ("events_of_stream", "event_stream (tenant=? AND stream=?)"),
        ("link_streams", "event_source (tenant=? AND <expr>=?)"),
        ("queue_missing_vectors", "event_stream (tenant=? AND stream=?)"),
        ("items_like", "SEARCH s USING PRIMARY KEY (tenant=? AND mark=?)"),
        ("due_jobs", "SEARCH outbox USING PRIMARY KEY (tenant=? AND consumer=?)"),
        ("passages_at", "SEARCH p USING INTEGER PRIMARY KEY (rowid=?)"),
        ("count_blocks", "SEARCH passage USING INTEGER PRIMARY KEY (rowid=?)"),
    ],
)
def test_what_concerns_one_item_is_read_without_a_walk_through_the_tenant(
    tmp_path: Path, name: str, used: str
) -> None:
    with closing(SqliteStore(tmp_path)) as store, store.reading("local") as rows:
        statement = QUERIES[name]
        plan = [
            step
            for *_, step in rows.statements.db.execute(
                "explain query plan " + statement, defaultdict(str)
            )
        ]
    assert any(used in step for step in plan), plan


def test_a_text_index_with_many_earlier_terms_is_filled_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = partial(terms.indexed, terms_of=terms.first_terms)
    with closing(SqliteStore(tmp_path)) as store, monkeypatch.context() as patched:
        patched.setattr("memolith.storage.writer.indexed", earlier)
        for caller in (ME, Caller("globex")):
            engine_on(store).writing.remember(caller, note("plain zebra", id="plain"))
            engine_on(store).writing.remember(caller, note("три яблони", id="trees"))
            engine_on(store).writing.remember(caller, note("две яблони", id="two"))
        with store.writing(None) as rows:
            rows.put_record("", TERMS_RECORD, "1")
    monkeypatch.setattr("memolith.storage.sqlite.writer.MAX_REPLACED_POSTINGS", 2)
    with closing(SqliteStore(tmp_path)) as store:
        assert engine_on(store).maintenance.verify() == []
        assert set(search(store, "яблоня")) == {"trees", "two"}
        assert search(store, "zebra") == ["plain"]
