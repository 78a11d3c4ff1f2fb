"""The vector stage against exact search: snapshot and tail, masks, roll-over, and files that cannot
be trusted.
"""

import json
import os
import random
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import ORDINAL_BITS, Block
from memolith.domain.queries import Condition, Filter
from memolith.engine.validation import Intake, Limits
from memolith.errors import Unavailable
from memolith.retrieval.embedding.minilm import MiniLM
from memolith.retrieval.vectors.encoding import quantised, sign_bits
from memolith.retrieval.vectors.index import VectorIndex
from memolith.retrieval.vectors.snapshot import HEADER_BYTES, snapshot_header
from memolith.retrieval.vectors.tail import MAX_SHORT_TAIL
from memolith.settings import Settings
from memolith.storage.sqlite.vector_slots import SqliteSlotReader
from memolith.storage.sqlite.writer import SqliteWriter
from tests.checked import present
from tests.conftest import ME, note

MODEL, DIMENSION = "test/model", 384
BOB = Caller(user="bob")


def unit(rows: np.ndarray) -> np.ndarray:
    normed: np.ndarray = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype("<f4")
    return normed


def random_rows(count: int, seed: int = 1, dimension: int = DIMENSION) -> np.ndarray:
    """Vectors around a few centres, as those of texts are."""
    pick = np.random.default_rng(seed)
    centres = pick.normal(size=(20, dimension))
    return unit(centres[pick.integers(0, 20, count)] + 1.2 * pick.normal(size=(count, dimension)))


class Shelf:
    """Items with given vectors, and the exact answer to compare with."""

    def __init__(self, app: App, model: str = MODEL) -> None:
        self.app = app
        self.model = model
        self.rows: dict[str, np.ndarray] = {}
        self.unrounded: dict[str, np.ndarray] = {}

    def put(self, rows: np.ndarray, caller: Caller = ME, **fields: object) -> list[str]:
        """Remember one item per vector."""
        with self.app.store.writing(caller.tenant) as store:
            ids = [
                self.app.engine.writing.remember_in(
                    store,
                    caller,
                    note(f"text {len(self.rows) + n}", **fields),
                    Intake(Limits(), "allow"),
                ).item.id
                for n in range(len(rows))
            ]
        self.give(dict(zip(ids, rows, strict=True)), caller)
        return ids

    def give(self, rows: dict[str, np.ndarray], caller: Caller = ME) -> None:
        """Set the vectors of items."""
        with self.app.store.writing(caller.tenant) as store:
            for id, row in rows.items():
                for ref, _, _ in store.unembedded(caller.tenant, id, self.model):
                    store.put_vector(ref, self.model, os.urandom(16), quantised(row.tobytes()))
        self.rows |= {
            id: unit(np.frombuffer(quantised(row.tobytes()), "i1").astype("f4"))
            for id, row in rows.items()
        }
        self.unrounded |= rows

    def exact(self, query: np.ndarray, limit: int, among: set[str] | None = None) -> list[str]:
        ids = [id for id in self.rows if among is None or id in among]
        scores = np.stack([self.rows[id] for id in ids]) @ query
        return [ids[n] for n in np.argsort(-scores, kind="stable")[:limit]]

    def ask(
        self,
        index: VectorIndex,
        query: np.ndarray,
        limit: int = 10,
        chosen: Filter = Filter(),
        caller: Caller = ME,
    ) -> list[str]:
        with self.app.store.reading(caller.tenant) as store:
            found = index.nearest(store, caller, chosen, query.tobytes(), limit)
            items = store.passages_at([one[0] for one in found])
        assert [one[1] for one in found] == sorted((one[1] for one in found), reverse=True)
        assert len({one[0] for one in found}) == len(found), "the same passage twice"
        return [items[one[0]][0].id for one in found]

    def snapshot(self, index: VectorIndex) -> Path:
        with self.app.store.reading(None) as store:
            assert isinstance(store, SqliteSlotReader)
            return index.snapshot(store)

    def index(self, dimension: int = DIMENSION) -> VectorIndex:
        return VectorIndex(self.app.settings.data, self.model, dimension)

    def agrees(self, index: VectorIndex, queries: int = 20, seed: int = 9) -> float:
        """The share of the exact ten best that the index finds."""
        pick = np.random.default_rng(seed)
        known = np.stack(list(self.rows.values()))
        asked = unit(
            known[pick.integers(0, len(known), queries)]
            + 0.04 * pick.normal(size=(queries, known.shape[1]))
        )
        found = sum(len(set(self.exact(q, 10)) & set(self.ask(index, q))) for q in asked)
        return found / (min(10, len(known)) * queries)


@pytest.fixture
def shelf(app: App) -> Shelf:
    return Shelf(app)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    """4,000 vectors, one in forty of another kind, one in a thousand with a rare attribute."""
    made = open_app(Settings(data=tmp_path_factory.mktemp("large"), embedder="none"))
    shelf = Shelf(made)
    for start in range(0, 4000, 1000):
        rows = random_rows(1000, start)
        shelf.put(rows[:975])
        shelf.put(rows[975:999], kind="concept", tags=("few",))
        shelf.put(rows[999:], attributes={"rare": True})
    yield shelf
    made.close()


# Against exact search


def test_an_empty_index_finds_nothing(shelf: Shelf) -> None:
    assert shelf.ask(shelf.index(), random_rows(1)[0]) == []
    shelf.snapshot(shelf.index())
    assert shelf.ask(shelf.index(), random_rows(1)[0]) == []


@pytest.mark.parametrize("count", [1, 9, 10, 300, 790])
def test_a_small_set_is_searched_exactly(shelf: Shelf, count: int) -> None:
    shelf.put(random_rows(count))
    index = shelf.index()
    for query in random_rows(10, 5):
        assert set(shelf.ask(index, query)) == set(shelf.exact(query, 10))


def test_real_vectors_are_searched_as_exactly_as_the_model_tells_them_apart(shelf: Shelf) -> None:
    pick = random.Random(2)
    who, what, where = (
        ("my sister", "the auditor", "Jonas", "a pilot"),
        (
            "lost a key",
            "paid the rent",
            "baked bread",
            "broke a leg",
            "read the contract",
            "sold the car",
        ),
        ("in Rome", "at home", "by the sea"),
    )
    texts = [f"{a} {b} {c}" for a in who for b in what for c in where]
    pick.shuffle(texts)
    rows = np.stack(
        [
            np.frombuffer(present(vector), "<f4")
            for vector in MiniLM().embed([*texts, "who had an accident?"])
        ]
    )
    shelf.put(rows[:-1])
    assert set(shelf.ask(shelf.index(), rows[-1])) == set(shelf.exact(rows[-1], 10))


def test_a_large_set_keeps_98_of_100_exact_neighbours_of_the_unrounded_vectors(
    large: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "rows", large.unrounded)
    assert large.agrees(large.index(), 40) >= 0.98


def test_scores_are_cosines(large: Shelf) -> None:
    index, query = large.index(), random_rows(1, 3)[0]
    with large.app.store.reading(ME.tenant) as store:
        found = index.nearest(store, ME, Filter(), query.tobytes(), 10)
        exact = index.cosines(store, query.tobytes(), [one[0] for one in found])
        items = store.passages_at([one[0] for one in found])
    for one in found:
        assert one[1] == pytest.approx(exact[one[0]], abs=1e-5)
        assert one[1] == pytest.approx(float(large.rows[items[one[0]][0].id] @ query), abs=0.01)


@pytest.mark.parametrize(
    "chosen",
    [Filter(kinds=("concept",)), Filter(tags_all=("few",)), Filter(tags_any=("few", "none"))],
)
def test_a_filter_is_applied_before_the_search_and_not_after(large: Shelf, chosen: Any) -> None:
    wanted = {item.id for item in large.app.engine.reading.list_items(ME, chosen, limit=1000).items}
    assert len(wanted) == 96
    for query in random_rows(5, 8):
        assert set(large.ask(large.index(), query, 10, chosen)) == set(
            large.exact(query, 10, wanted)
        )


def test_one_in_thousands_is_found_whatever_the_query(large: Shelf) -> None:
    chosen = Filter(where=(Condition("rare", "eq", True),))
    wanted = {item.id for item in large.app.engine.reading.list_items(ME, chosen).items}
    assert len(wanted) == 4
    for query in random_rows(3, 4):
        assert set(large.ask(large.index(), query, 10, chosen)) == wanted
        one = next(iter(wanted))
        assert large.ask(large.index(), query, 10, Filter(ids=(one,))) == [one]


@pytest.mark.parametrize("dimension", [8, 100, 384, 500, 768])
def test_any_dimension_can_be_searched(shelf: Shelf, dimension: int) -> None:
    rows = random_rows(50, 1, dimension)
    shelf.put(rows)
    index = shelf.index(dimension)
    assert shelf.ask(index, rows[7], 1) == shelf.exact(rows[7], 1)
    shelf.snapshot(index)
    assert shelf.ask(shelf.index(dimension), rows[7], 1) == shelf.exact(rows[7], 1)
    assert sign_bits(rows).shape == (50, -(-dimension // 64))


# Snapshot and tail


def test_snapshot_and_tail_together_answer_as_the_table_does(shelf: Shelf) -> None:
    shelf.put(random_rows(500, 1))
    writer = shelf.index()
    shelf.snapshot(writer)
    shelf.put(random_rows(200, 2))
    reader = shelf.index()
    assert shelf.agrees(reader) == 1.0
    assert reader.followed.tail.count == 200
    assert shelf.agrees(writer) == 1.0


def removed(shelf: Shelf, ids: list[str]) -> None:
    for id in ids:
        shelf.app.engine.writing.forget(ME, id)
        del shelf.rows[id]


def erased(shelf: Shelf, ids: list[str]) -> None:
    for id in ids[:2]:
        shelf.app.engine.writing.erase(ME, id)
        del shelf.rows[id]


def edited(shelf: Shelf, ids: list[str]) -> None:
    """An edited text has no vector until it gets a new one."""
    for id in ids:
        shelf.app.engine.writing.revise(ME, id, Patch(blocks=(Block("other words"),)))
        del shelf.rows[id]


def edited_and_embedded(shelf: Shelf, ids: list[str]) -> None:
    edited(shelf, ids)
    shelf.give(dict(zip(ids, random_rows(len(ids), 77), strict=True)))


CHANGES: list[Callable[[Shelf, list[str]], None]] = [removed, erased, edited, edited_and_embedded]


@pytest.mark.parametrize("where", ["snapshot", "tail"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_has_gone_or_changed_is_masked_at_once(shelf: Shelf, change: Any, where: str) -> None:
    shelf.put(random_rows(60, 1))
    index = shelf.index()
    if where == "snapshot":
        shelf.snapshot(index)
    query = random_rows(1, 6)[0]
    best = shelf.ask(index, query, 5)
    change(shelf, best)
    for one in (index, shelf.index()):
        assert set(shelf.ask(one, query, 10)) == set(shelf.exact(query, 10))


@pytest.mark.parametrize("where", ["snapshot", "tail"])
def test_changes_of_status_and_scope_move_items_between_filters(shelf: Shelf, where: str) -> None:
    ids = shelf.put(
        random_rows(30, 1), audience=Audience.ORG, status="active", project="p1", namespace="n1"
    )
    index, query = shelf.index(), random_rows(1, 6)[0]
    if where == "snapshot":
        shelf.snapshot(index)
    shelf.ask(index, query)
    moved = set(ids[:7])
    for id in moved:
        shelf.app.engine.writing.revise(
            ME, id, Patch(status="done", project="p2", namespace="n2", audience=Audience.USER)
        )
    for name, old, new in (
        ("statuses", "active", "done"),
        ("projects", "p1", "p2"),
        ("namespaces", "n1", "n2"),
    ):
        was: dict[str, Any] = {name: (old,)}
        now: dict[str, Any] = {name: (new,)}
        assert set(shelf.ask(index, query, 30, Filter(**now))) == moved
        assert set(shelf.ask(index, query, 30, Filter(**was))) == set(ids) - moved
    assert set(shelf.ask(index, query, 30, caller=BOB)) == set(ids) - moved
    assert set(shelf.ask(index, query, 30, caller=replace(BOB, admin=True))) == set(ids)
    assert shelf.ask(index, query, 30, caller=Caller(tenant="other")) == []


def test_a_forgotten_item_is_found_where_asked_for_and_again_after_its_return(shelf: Shelf) -> None:
    ids = shelf.put(random_rows(20, 1))
    index, query = shelf.index(), random_rows(1, 6)[0]
    shelf.snapshot(index)
    shelf.app.engine.writing.forget(ME, ids[3])
    assert shelf.ask(index, query, 20, Filter(forgotten=True)) == [ids[3]]
    shelf.app.engine.writing.restore(ME, ids[3])
    assert set(shelf.ask(index, query, 20)) == set(ids)


def test_models_do_not_see_each_others_vectors(shelf: Shelf) -> None:
    shelf.put(random_rows(20, 1))
    other = Shelf(shelf.app, "another/model")
    assert other.ask(other.index(), random_rows(1)[0]) == []
    some = dict(zip(list(shelf.rows)[:5], random_rows(5, 3), strict=True))
    other.give(some)
    assert set(other.ask(other.index(), random_rows(1)[0])) == set(some)
    assert len(shelf.ask(shelf.index(), random_rows(1)[0], 20)) == 20


# Roll-over


def test_a_reader_keeps_its_mapping_while_snapshots_roll_over(shelf: Shelf) -> None:
    shelf.put(random_rows(200, 1))
    writer = shelf.index()
    first = shelf.snapshot(writer)
    reader = shelf.index()
    assert shelf.agrees(reader) == 1.0
    shelf.put(random_rows(100, 2))
    second = shelf.snapshot(writer)
    writer.tidy()
    assert second != first
    assert [path.name for path in shelf.app.settings.data.glob("vectors-*")] == [second.name]
    assert shelf.agrees(reader) == 1.0, "the old mapping still serves"
    assert reader.followed.tail.count == 100


def test_a_second_reader_follows_to_the_new_snapshot_once_its_tail_is_long(shelf: Shelf) -> None:
    shelf.put(random_rows(100, 1))
    writer, reader = shelf.index(), shelf.index()
    shelf.snapshot(writer)
    shelf.ask(reader, random_rows(1)[0])
    shelf.put(random_rows(MAX_SHORT_TAIL + 1, 2))
    shelf.ask(reader, random_rows(1)[0])
    assert reader.wants_snapshot
    shelf.snapshot(writer)
    writer.tidy()
    shelf.put(random_rows(1, 3))
    assert shelf.agrees(reader, 5) >= 0.98
    assert reader.followed.tail.count == 1


def test_a_name_never_comes_back_even_after_all_files_were_removed(shelf: Shelf) -> None:
    shelf.put(random_rows(20, 1))
    index = shelf.index()
    names = {(path := shelf.snapshot(index)).name}
    names.add(shelf.snapshot(index).name)
    assert len(names) == 2
    assert int(path.stem.rsplit("-", 1)[1]) > 1_700_000_000


def test_the_data_can_go_back_in_time_under_a_snapshot(shelf: Shelf, tmp_path: Path) -> None:
    """A database put back from a backup must not meet the vectors of its own future."""
    shelf.put(random_rows(50, 1))
    shelf.app.store.backup(tmp_path / "backup.db")
    shelf.put(random_rows(50, 2))
    snapshot = shelf.snapshot(shelf.index())
    shelf.app.close()
    (tmp_path / "again").mkdir()
    (tmp_path / "backup.db").rename(tmp_path / "again" / "memolith.db")
    snapshot.rename(tmp_path / "again" / snapshot.name)
    again = Shelf(open_app(Settings(data=tmp_path / "again", embedder="none")))
    again.rows = dict(list(shelf.rows.items())[:50])
    again.put(random_rows(10, 3))
    assert again.agrees(again.index()) == 1.0
    again.app.close()


# Files that cannot be trusted


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0x01
    path.write_bytes(data)


def make_a_folder_of_it(path: Path) -> None:
    path.unlink()
    path.mkdir()


def of_another(path: Path, name: str, value: object) -> None:
    """The same file with another mark and, as a hostile or odd program would leave it, a fitting
    checksum.
    """
    data = path.read_bytes()
    marks = json.loads(data[:HEADER_BYTES])
    del marks["crc"]
    path.write_bytes(
        snapshot_header(marks | {name: value}, zlib.crc32(data[HEADER_BYTES:]))
        + data[HEADER_BYTES:]
    )


SPOILED: dict[str, Callable[[Path], object]] = {
    "a wrong first byte": lambda path: flip(path, 0),
    "a header without sense": lambda path: flip(path, 16),
    "a wrong digit in the header": lambda path: flip(
        path, path.read_bytes().index(b'"vector": ') + 10
    ),
    "a wrong change mark": lambda path: flip(path, path.read_bytes().index(b'"change": ') + 10),
    "a wrong row": lambda path: flip(path, path.stat().st_size - 100),
    "a wrong column": lambda path: flip(path, HEADER_BYTES + 3),
    "cut off": lambda path: os.truncate(path, path.stat().st_size // 2),
    "cut off in the header": lambda path: os.truncate(path, 100),
    "no bytes": lambda path: path.write_bytes(b""),
    "other bytes": lambda path: path.write_bytes(os.urandom(9000)),
    "too long": lambda path: path.write_bytes(path.read_bytes() + bytes(64)),
    "of another database": lambda path: of_another(path, "database", "f" * 32),
    "of another model": lambda path: of_another(path, "model", "someone/else"),
    "of another dimension": lambda path: of_another(path, "dimension", 768),
    "of another format": lambda path: of_another(path, "format", 99),
    "from the future": lambda path: of_another(path, "vector", 10**9),
    "from a later change": lambda path: of_another(path, "change", 10**9),
    "a folder": make_a_folder_of_it,
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_spoiled_snapshot_is_ignored_and_the_table_answers(shelf: Shelf, how: Any) -> None:
    shelf.put(random_rows(50, 1))
    path = shelf.snapshot(shelf.index())
    removed(shelf, list(shelf.rows)[:3])
    SPOILED[how](path)
    index = shelf.index()
    assert shelf.agrees(index) == 1.0
    assert index.followed.tail.count >= 47
    fresh = shelf.snapshot(index)
    if path.is_file():
        index.tidy()
        assert not path.exists()
    reader = shelf.index()
    assert shelf.agrees(reader) == 1.0
    assert (reader.followed.tail.count, fresh.is_file()) == (0, True)


def test_an_older_good_snapshot_serves_where_the_newest_is_spoiled(shelf: Shelf) -> None:
    shelf.put(random_rows(50, 1))
    shelf.snapshot(shelf.index())
    shelf.put(random_rows(20, 2))
    flip(shelf.snapshot(shelf.index()), HEADER_BYTES + 50)
    reader = shelf.index()
    assert shelf.agrees(reader) == 1.0
    assert reader.followed.tail.count == 20


def test_files_of_others_with_such_a_name_do_no_harm(shelf: Shelf) -> None:
    shelf.put(random_rows(50, 1))
    path = shelf.snapshot(shelf.index())
    strange = path.with_name(path.name.replace(path.stem.rsplit("-", 1)[1], "copy"))
    strange.write_bytes(path.read_bytes())
    shelf.snapshot(shelf.index())
    assert shelf.agrees(shelf.index()) == 1.0
    assert strange.exists()


def test_what_a_killed_writer_left_is_ignored_and_removed_in_time(shelf: Shelf) -> None:
    shelf.put(random_rows(50, 1))
    index = shelf.index()
    path = shelf.snapshot(index)
    old, new = path.with_suffix(".99999.partial"), path.with_suffix(".99998.partial")
    for left in (old, new):
        left.write_bytes(path.read_bytes()[:5000])
    os.utime(old, (1, 1))
    assert shelf.agrees(shelf.index()) == 1.0
    index.tidy()
    assert (old.exists(), new.exists()) == (False, True)


def test_a_snapshot_that_cannot_be_written_leaves_nothing_behind(shelf: Shelf) -> None:
    shelf.put(random_rows(50, 1))
    folder = shelf.app.settings.data
    index = VectorIndex(folder / "no such folder", MODEL, DIMENSION)
    with pytest.raises(Unavailable):
        shelf.snapshot(index)
    assert not list(folder.rglob("*.partial"))


# The feed of changes


def prune(shelf: Shelf) -> None:
    with shelf.app.store.reading(None) as rows:
        assert isinstance(rows, SqliteSlotReader)
        newest = rows.slot_marks().change
    with shelf.app.store.writing(None) as writer:
        assert isinstance(writer, SqliteWriter)
        while writer.prune_slots(newest):
            pass


@pytest.mark.parametrize("snapshot", ["none", "old", "new"])
def test_a_reader_that_missed_part_of_the_feed_loads_anew(shelf: Shelf, snapshot: str) -> None:
    shelf.put(random_rows(60, 1))
    reader = shelf.index()
    if snapshot == "old":
        shelf.snapshot(reader)
    shelf.ask(reader, random_rows(1)[0])
    removed(shelf, list(shelf.rows)[:20])
    if snapshot == "new":
        shelf.snapshot(shelf.index())
    prune(shelf)
    removed(shelf, list(shelf.rows)[:5])
    shelf.put(random_rows(10, 2))
    for index in (reader, shelf.index()):
        assert shelf.agrees(index) == 1.0
        with shelf.app.store.reading(None) as store:
            assert isinstance(store, SqliteSlotReader)
            _, change, _ = store.slot_marks()
        assert index.followed.position is not None
        assert index.followed.position.change == change


def test_a_reader_of_an_earlier_moment_does_not_turn_the_index_back(shelf: Shelf) -> None:
    shelf.put(random_rows(30, 1))
    index, query = shelf.index(), random_rows(1, 4)[0]
    shelf.ask(index, query)
    with shelf.app.store.reading(None) as early:
        early.statements.row("slot_marks")
        later = shelf.put(random_rows(10, 2))
        assert len(shelf.ask(index, query, 50)) == 40
        found = index.nearest(early, ME, Filter(), query.tobytes(), 50)
        assert len(found) == 30, "the earlier moment has no later items"
    assert set(shelf.ask(index, query, 50)) == set(shelf.rows)
    assert index.followed.tail.count == 40
    assert set(later) <= set(shelf.ask(index, query, 50))


def test_a_second_index_sees_every_write_at_its_next_search(shelf: Shelf) -> None:
    writer, reader = shelf.index(), shelf.index()
    for n in range(12):
        shelf.put(random_rows(3, n))
        if n % 4 == 1:
            removed(shelf, list(shelf.rows)[:1])
        if n % 5 == 2:
            shelf.snapshot(writer)
        assert shelf.agrees(reader, 2) == 1.0


def test_many_threads_search_while_others_write_and_roll_over(shelf: Shelf) -> None:
    shelf.put(random_rows(300, 1))
    index, asked = shelf.index(), random_rows(40, 5)
    stable = {n: shelf.exact(query, 1)[0] for n, query in enumerate(asked)}
    keep = set(stable.values())
    wrong: list[object] = []
    done = threading.Event()

    def search() -> None:
        try:
            while not done.is_set():
                for n, query in enumerate(asked):
                    found = shelf.ask(index, query, 10)
                    if stable[n] not in found or len(found) != 10:
                        wrong.append((n, found))
        except BaseException as error:
            wrong.append(error)
            raise

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    other = shelf.index()
    far = -unit(np.stack([shelf.rows[id] for id in keep]).sum(axis=0))
    for n in range(6):
        noise = np.random.default_rng(n).normal(size=(20, DIMENSION)) * 0.02
        shelf.put(unit(far + noise))
        removed(shelf, [id for id in list(shelf.rows)[:40] if id not in keep][:3])
        shelf.snapshot(other)
        other.tidy()
    done.set()
    for thread in threads:
        thread.join(120)
    assert not wrong
    assert shelf.agrees(index, 5) == 1.0


def test_a_long_item_with_many_passages_is_one_item_with_many_places(shelf: Shelf) -> None:
    draft = Draft(
        kind="conversation", blocks=tuple(Block(f"message {n}", speaker="Ann") for n in range(50))
    )
    id = shelf.app.engine.writing.remember(ME, draft).item.id
    rows = random_rows(50, 1)
    with shelf.app.store.writing(ME.tenant) as store:
        refs = [ref for ref, _, _ in store.unembedded(ME.tenant, id, MODEL)]
        for ref, row in zip(refs, rows, strict=True):
            store.put_vector(ref, MODEL, os.urandom(16), quantised(row.tobytes()))
    index = shelf.index()
    with shelf.app.store.reading(None) as store:
        found = index.nearest(store, ME, Filter(), rows[31].tobytes(), 50)
    assert found[0][0] == refs[31]
    assert {one[0] & 2**ORDINAL_BITS - 1 for one in found} == set(range(50))
    shelf.app.engine.writing.forget(ME, id)
    with shelf.app.store.reading(None) as store:
        assert index.nearest(store, ME, Filter(), rows[31].tobytes(), 50) == []
