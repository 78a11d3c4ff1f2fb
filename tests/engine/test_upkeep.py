"""Upkeep: verify names every tampering and rebuild mends it; migrations, backup and import keep
their word.
"""

import hashlib
import json
import shutil
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import pytest

from memolith.bootstrap import App, open_app, restore_backup
from memolith.domain.attributes import Json
from memolith.domain.callers import Caller
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.engine import maintenance
from memolith.engine.maintenance import LINES_PER_PART
from memolith.engine.validation import InputRules
from memolith.errors import Conflict, InvalidInput, MemolithError, SchemaTooNew, StoreCorrupt
from memolith.settings import Settings
from memolith.storage.migrations import all_migrations
from memolith.storage.sqlite.backup import FILE
from memolith.storage.sqlite.shred import blank_some_pages
from memolith.storage.terms import indexed
from tests.checked import erased_wholly, sqlite_file
from tests.conftest import ME, At, engine_of, note
from tests.stores import dump, each_store

OTHER = Caller("globex", "ann")


def raw(file: Path, *statements: str) -> list[tuple[object, ...]]:
    """Run statements behind the back of the store."""
    db = apsw.Connection(str(file))
    try:
        return [row for statement in statements for row in db.execute(statement)]
    finally:
        db.close()


def opened(folder: Path) -> App:
    return open_app(Settings(data=folder, embedder="none"))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with two tenants that have a bit of everything."""
    app = opened(tmp_path_factory.mktemp("template"))
    filled(app).close()
    return app.settings.data


def filled(app: App) -> App:
    for caller in (ME, OTHER):
        app.engine.writing.remember(
            caller,
            note("zebra one. " * 60, id="a", title="A", tags=("x", "y"), attributes={"n": 1}),
        )
        app.engine.writing.remember(
            caller,
            Draft(
                "conversation",
                "",
                (Block("hi zebra", "ann", "2026-01-01", "l", {"m": 1}), Block("bye", "bot")),
                ("x",),
                id="b",
            ),
        )
        app.engine.writing.remember(caller, Draft("entity", "Zebra", id="c"))
        app.engine.writing.link(caller, "a", "b", "about", 0.5, {"k": 1}, id="rel-1")
        app.engine.writing.revise(caller, "b", Patch(title="B"))
        app.engine.writing.forget(caller, "c")
        app.engine.reading.note_access(caller, "a")
    app.engine.reading.flush_accesses()
    return app


@pytest.fixture
def full(template: Path, tmp_path: Path) -> Iterator[App]:
    """An app on a copy of the template."""
    shutil.copytree(template, tmp_path / "full")
    app = opened(tmp_path / "full")
    yield app
    app.close()


@pytest.fixture
def busy(app: App) -> App:
    """The same on any store."""
    return filled(app)


@pytest.fixture
def target(at: At, tmp_path: Path) -> Iterator[App]:
    """An empty app on the same store."""
    made = open_app(at(tmp_path / "target"))
    yield made
    made.close()
    at.drop(tmp_path / "target")


# Verify and rebuild

MINE = "tenant = 'local'"
ROW = f"(select row from item where {MINE} and id = 'a')"
ONE = f"item = {ROW} and ordinal = 0"
TAMPERINGS: dict[str, tuple[str, str]] = {
    **{
        f"item {column}": (f"update item set {column} = {value} where {MINE} and id = 'a'", "a")
        for column, value in {
            "title": "'forged'",
            "kind": "'concept'",
            "status": "'done'",
            "owner": "'eve'",
            "audience": "'org'",
            "project": "'p'",
            "namespace": "'n'",
            "tags": "'[]'",
            "attributes": "'{}'",
            "version": "9",
            "seq": "9",
            "created_at": "'2020'",
            "updated_at": "'2020'",
            "blocks": "9",
            "passages": "9",
            "forgotten": "1",
        }.items()
    },
    "item number to truth": (
        f"update item set attributes = '{{\"n\":true}}' where {MINE} and id = 'a'",
        "a",
    ),
    "item gone": (f"delete from item where {MINE} and id = 'a'", "a"),
    "item too many": (
        "insert into item select 99, tenant, 'ghost', kind, title, status, owner, audience, project, "
        "namespace, tags, attributes, version, seq, created_at, updated_at, blocks, passages, "
        f"forgotten, reads, last_read from item where {MINE} and id = 'a'",
        "ghost",
    ),
    **{
        f"passage {column}": (f"update passage set {column} = {value} where {ONE}", "a")
        for column, value in {
            "text": "'forged'",
            "block": "5",
            "at": "'2020-01-01'",
            "speaker": "'eve'",
            "locator": "'x'",
            "attributes": "'{\"a\":1}'",
            "ordinal": "7",
            "tenant": "'globex'",
        }.items()
    },
    "passage number to truth": (
        f"update passage set attributes = '{{\"m\":true}}' where {MINE} and speaker = 'ann'",
        "b",
    ),
    "passage gone": (f"delete from passage where {ONE}", "a"),
    "passage too many": (
        "insert into passage (id, tenant, item, ordinal, block, text, at) select "
        f"(item << 20) + 9, tenant, item, 9, 0, text, at from passage where {ONE}",
        "a",
    ),
    "passage of no item": (
        "insert into passage (id, tenant, item, ordinal, block, text, at) select "
        f"98765 << 20, tenant, 98765, 0, 0, text, at from passage where {ONE}",
        "passage",
    ),
    "mark gone": (f"delete from sketch where item = {ROW}", "a"),
    "tag gone": (f"delete from tag where item = {ROW} and tag = 'x'", "a"),
    "tag too many": (f"insert into tag select 'local', 'forged', {ROW}", "a"),
    "tag of no item": ("insert into tag values ('local', 'forged', 98765)", "tag"),
    **{
        f"link {column}": (f"update link set {column} = {value} where {MINE}", "rel-1")
        for column, value in {
            "source": "'c'",
            "target": "'c'",
            "type": "'not'",
            "strength": "0.9",
            "attributes": "'{}'",
            "version": "4",
            "created_at": "'2020'",
        }.items()
    },
    "link gone": (f"delete from link where {MINE}", "rel-1"),
    "link too many": (
        "insert into link select tenant, 'ghost', target, source, type, strength, attributes, version, "
        f"seq, created_at, updated_at from link where {MINE}",
        "ghost",
    ),
    "index too much": (
        "insert into passage_fts (rowid, body) values (987654, '1qforged')",
        "index",
    ),
    "index of no tenant": (
        "insert into passage_fts (rowid, body) values (987654, '77qforged')",
        "index",
    ),
    "index of another's passage": (
        f"insert into passage_fts (rowid, body) select id, '2qforged' from passage where {ONE}",
        "index",
    ),
    "index empty": ("insert into passage_fts (passage_fts) values ('delete-all')", "index"),
    "head passages": (f"update head set passages = 99 where {MINE}", "sums"),
    "head terms": (f"update head set terms = 1 where {MINE}", "sums"),
    "head seq too low": (f"update head set seq = 2 where {MINE}", "local"),
    "head seq too high": (f"update head set seq = 99 where {MINE}", "local"),
    "head gone": (f"delete from head where {MINE}", "local"),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_verify_names_what_was_tampered_with_and_rebuild_mends_it(full: App, name: Any) -> None:
    sql, word = TAMPERINGS[name]
    before = dump(full.store)
    assert full.engine.maintenance.verify() == []
    raw(sqlite_file(full), sql)
    problems = full.engine.maintenance.verify()
    assert any(word in problem for problem in problems), problems
    full.engine.maintenance.rebuild()
    assert full.engine.maintenance.verify() == []
    assert dump(full.store) == before
    assert full.engine.writing.remember(ME, note("life goes on")).seq == 7


@pytest.mark.parametrize("column", ["body", "extra", "scope"])
def test_verify_sees_a_wrong_column_of_the_text_index(full: App, column: str) -> None:
    with full.store.reading(None) as rows:
        item, passages = rows.item("local", "b"), rows.passages("local", "b")
    assert item is not None
    right = dict(zip(("body", "extra", "scope"), indexed(1, item, passages[0]), strict=True))
    ((ref,),) = raw(sqlite_file(full), f"select id from passage where {MINE} and speaker = 'ann'")
    for command, columns in (("'delete'", right), ("null", right | {column: "1qforged"})):
        raw(
            sqlite_file(full),
            "insert into passage_fts (passage_fts, rowid, body, extra, scope) values "
            f"({command}, {ref}, '{columns['body']}', '{columns['extra']}', '{columns['scope']}')",
        )
    assert any(
        "index" in problem and " b" in problem for problem in full.engine.maintenance.verify()
    )
    full.engine.maintenance.rebuild()
    assert full.engine.maintenance.verify() == []


@pytest.mark.parametrize(
    "sql",
    [
        f"delete from event where {MINE} and seq = 1",
        f"delete from event where {MINE} and seq = 5",
        f"delete from event where {MINE} and seq = 6",
        f"update event set version = 7 where {MINE} and seq = 6",
        f"update event set data = '{{}}' where {MINE} and seq = 1",
        f"update event set data = '{{' where {MINE} and seq = 2",
        f"update event set type = 'sung' where {MINE} and seq = 5",
        f"update event set seq = 80 where {MINE} and seq = 6",
    ],
)
def test_verify_names_the_tenant_of_a_damaged_log_and_goes_on_with_the_others(
    full: App, sql: str
) -> None:
    raw(
        sqlite_file(full),
        sql,
        "update item set title = 'forged' where tenant = 'globex' and id = 'a'",
    )
    problems = full.engine.maintenance.verify()
    assert {problem.partition(":")[0] for problem in problems} == {"local", "globex"}


def test_rebuild_leaves_log_access_counts_settings_and_other_tables_as_they_are(full: App) -> None:
    before = dump(full.store)
    seen: list[tuple[int, int]] = []
    assert full.engine.maintenance.rebuild(lambda *step: seen.append(step)) == 12
    assert dump(full.store) == before
    assert seen[-1][0] == 12


def test_a_rebuild_holds_only_a_few_long_histories_at_once(
    full: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dump(full.store)
    parts: list[int] = []
    full.engine.maintenance.rebuild(lambda done, of: parts.append(done))
    monkeypatch.setattr(maintenance, "CHARACTERS_PER_BATCH", 20)
    smaller: list[int] = []
    full.engine.maintenance.rebuild(lambda done, of: smaller.append(done))
    assert dump(full.store) == before
    assert smaller[-1] == parts[-1]
    assert len(smaller) > len(parts)


# Migrations


def test_a_fresh_folder_has_every_migration_with_its_checksum_and_keeps_them(
    tmp_path: Path,
) -> None:
    for _ in range(2):
        opened(tmp_path).close()
        assert raw(tmp_path / FILE, "select number, name, checksum, oldest from migration") == [
            (file.number, file.name, hashlib.sha256(file.text.encode()).hexdigest(), file.oldest)
            for file in all_migrations("sqlite")
        ]


def test_a_folder_opened_first_by_many_at_once_works_for_all(tmp_path: Path) -> None:
    for attempt in range(5):
        folder, start = tmp_path / str(attempt), threading.Barrier(8)

        def work(n: int, folder: Path = folder, start: threading.Barrier = start) -> None:
            start.wait()
            app = opened(folder)
            app.engine.writing.remember(ME, note(f"text {n}"))
            app.close()

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        app = opened(folder)
        assert (app.engine.reading.list_items(ME).total, app.engine.maintenance.verify()) == (8, [])
        app.close()


@pytest.mark.parametrize(
    "error, sql",
    [
        (SchemaTooNew, "insert into migration values (99, 'mood', 'x', 99)"),
        (StoreCorrupt, "update migration set checksum = 'other'"),
    ],
)
def test_a_schema_from_elsewhere_is_refused_and_stays_as_it_is(
    tmp_path: Path, sql: str, error: Any
) -> None:
    opened(tmp_path).close()
    raw(tmp_path / FILE, *sql.split("; "))
    before = (tmp_path / FILE).read_bytes()
    for _ in range(2):
        with pytest.raises(error):
            opened(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"this is no database" * 100, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_damaged_file_is_refused_by_name_and_stays_as_it_is(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(StoreCorrupt):
        opened(tmp_path)
    assert (tmp_path / FILE).read_bytes() == content


# Backup


def test_a_backup_made_while_others_write_is_whole(app: App, tmp_path: Path) -> None:
    app.engine.writing.remember(
        ME, Draft(blocks=(Block("A sentence about zebras. " * 30_000),) * 2)
    )
    stop, wrote = threading.Event(), threading.Semaphore(0)

    def work() -> int:
        count = 0
        while not stop.is_set():
            app.engine.writing.remember(ME, note(f"text {count}"))
            count += 1
            wrote.release()
        return count

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(work)
        wrote.acquire()
        steps: list[tuple[int, int]] = []
        app.store.backup(tmp_path / "copy.db", lambda *step: steps.append(step))
        stop.set()
    assert steps[-1][0] == steps[-1][1] > 500
    restore_backup(tmp_path / "copy.db", tmp_path / "new")
    copy = opened(tmp_path / "new")
    assert copy.engine.maintenance.verify() == []
    assert 2 <= copy.engine.reading.list_items(ME).total <= written.result() + 1
    lines = list(copy.engine.maintenance.export("local"))[1:]
    assert list(app.engine.maintenance.export("local"))[1:][: len(lines)] == lines
    copy.engine.writing.remember(ME, note("life goes on"))
    copy.close()


def test_a_restored_backup_is_equal_in_every_table(full: App, tmp_path: Path) -> None:
    full.store.backup(tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.glob("copy.db*")) == ["copy.db"]
    restore_backup(tmp_path / "copy.db", tmp_path / "new")
    copy = opened(tmp_path / "new")
    assert dump(copy.store) == dump(full.store)
    copy.close()
    with pytest.raises(Conflict):
        restore_backup(tmp_path / "copy.db", tmp_path / "new")


def spoiled(file: Path) -> Iterable[tuple[Path, type[MemolithError]]]:
    yield file.with_name("missing.db"), InvalidInput
    garbage, torn, newer = (file.with_name(f"{name}.db") for name in ("garbage", "torn", "newer"))
    garbage.write_bytes(b"nothing" * 1000)
    torn.write_bytes(file.read_bytes()[:40_000] + bytes(20_000) + file.read_bytes()[60_000:])
    shutil.copy(file, newer)
    raw(newer, "update migration set oldest = 99")
    foreign = file.with_name("foreign.db")
    raw(foreign, "create table letters (text)")
    yield from (
        (garbage, StoreCorrupt),
        (torn, StoreCorrupt),
        (newer, SchemaTooNew),
        (foreign, MemolithError),
    )


def test_a_spoiled_backup_is_refused_and_the_folder_stays_empty(full: App, tmp_path: Path) -> None:
    full.store.backup(tmp_path / "copy.db")
    for file, error in spoiled(tmp_path / "copy.db"):
        with pytest.raises(error):
            restore_backup(file, tmp_path / file.stem)
        assert not list((tmp_path / file.stem).glob("*")), file.stem


# Export and import


def lines(app: App) -> list[str]:
    return list(app.engine.maintenance.export("local"))


def refused(app: App, text: Iterable[str], error: type[MemolithError] = MemolithError) -> str:
    before = dump(app.store)
    with pytest.raises(error) as caught:
        app.engine.maintenance.import_(ME, text)
    assert dump(app.store) == before
    return str(caught.value)


def changed(line: str, **fields: object) -> str:
    record = json.loads(line)
    return json.dumps({"event": record["event"] | fields})


@each_store
def test_an_import_that_meets_what_is_here_already_is_refused_by_line(busy: App) -> None:
    copy = lines(busy)
    assert "ine 2" in refused(busy, copy, Conflict)
    keyed = [changed(copy[1], stream=stream, key="k") for stream in ("new", "newer")]
    assert "ine 2" in refused(busy, keyed, Conflict)
    assert "ine 3" in refused(
        busy, [changed(copy[1], stream="new"), "", changed(copy[1], stream="new")]
    )


@each_store
def test_a_line_that_comes_as_text_and_as_event_in_one_import_comes_once(
    app: App, target: App
) -> None:
    text = json.dumps({"content": "tea is green"})
    app.engine.maintenance.import_(ME, [text], source="s")
    events = [line for line in lines(app) if '"event"' in line]

    with pytest.raises(Conflict, match="Line 2: "):
        target.engine.maintenance.import_(ME, [text, *events], source="s")
    report = target.engine.maintenance.import_(ME, [*events, text], source="s")

    assert (report.items, report.known) == (1, 1)
    assert dump(target.store) == dump(app.store)


@each_store
def test_a_torn_export_and_one_of_another_format_are_refused(busy: App, target: App) -> None:
    copy = lines(busy)
    assert "6" in refused(target, copy[:-2])
    assert refused(target, ['{"memolith": 99, "tenant": "x"}', *copy[1:]], InvalidInput)
    assert target.engine.maintenance.import_(ME, copy)[0] == 6


@each_store
def test_what_can_be_remembered_can_be_exported_and_imported(app: App, target: App) -> None:
    deep: dict[str, Json] = {}
    for _ in range(98):
        deep = {"a": deep}
    app.engine.writing.remember(
        ME,
        Draft(
            blocks=(Block("x" * 999_999, "é" * 500, attributes=deep),),
            tags=("t" * 100,),
            attributes={"password policy": "long", "n": 2**70, **deep},
            title="é" * 500,
        ),
    )
    app.engine.writing.remember(ME, note("for guests the wifi password: sunshine,"))
    assert target.engine.maintenance.import_(ME, lines(app))[2] == {}
    assert dump(target.store) == dump(app.store)


@each_store
def test_secrets_of_an_import_are_redacted_and_named(app: App, target: App) -> None:
    token = "gh" + "p_" + "Ab3" * 12
    engine_of(app, input_rules=InputRules(secrets="allow")).writing.remember(
        ME, note(f"key {token}", tags=(token,))
    )
    assert target.engine.maintenance.import_(ME, lines(app))[2] == {"github-token": 2}
    assert token not in "".join(lines(target))
    assert target.engine.maintenance.verify() == []


@each_store
def test_an_import_in_parts_goes_on_where_it_stopped(app: App) -> None:
    texts = [f"zebra {number}" for number in range(2 * LINES_PER_PART)]
    good = [json.dumps({"content": text}) for text in texts]
    bad = [*good[: LINES_PER_PART + 5], json.dumps({"mood": "fine"})]
    import_ = app.engine.maintenance.import_
    with pytest.raises(InvalidInput, match="Line 56"):
        import_(ME, bad, source="zebras", in_parts=True)
    assert app.engine.reading.list_items(ME).total == LINES_PER_PART
    assert import_(ME, good, source="zebras", in_parts=True).known == LINES_PER_PART
    assert app.engine.reading.list_items(ME).total == 2 * LINES_PER_PART
    with pytest.raises(InvalidInput, match="source"):
        import_(ME, good, in_parts=True)


def test_others_write_between_the_parts_of_an_import(full: App) -> None:
    other = opened(full.settings.data)

    def write(done: int, total: int) -> None:
        other.engine.writing.remember(OTHER, note(f"while {done} of {total}"))

    lines = [json.dumps({"content": f"okapi {number}"}) for number in range(LINES_PER_PART + 2)]
    full.engine.maintenance.import_(ME, lines, write, source="okapis", in_parts=True)
    assert full.engine.reading.list_items(ME).total == 2 + len(lines)
    assert other.engine.reading.list_items(OTHER).total == 2 + len(lines)
    other.close()


# Compacting


@pytest.mark.stores("sqlite")
def test_upkeep_goes_through_the_file_only_where_something_was_erased(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans: list[Path] = []

    def count(file: Path, page_size: int, first: int, pages: int) -> int | None:
        if first == 1:
            scans.append(file)
        return blank_some_pages(file, page_size, first, pages)

    monkeypatch.setattr("memolith.storage.sqlite.store.blank_some_pages", count)
    app.engine.writing.remember(ME, note("A zebra.", id="zebra"))
    app.store.compact()
    assert len(scans) == 1, "what an earlier version erased is not known"
    app.engine.writing.remember(ME, note("An okapi.", id="okapi"))
    app.engine.writing.forget(ME, "okapi")
    app.store.compact()
    assert len(scans) == 1
    monkeypatch.setattr(app.store, "shred", lambda: False)
    assert not erased_wholly(app, "zebra"), "somebody still reads"
    monkeypatch.undo()
    monkeypatch.setattr("memolith.storage.sqlite.store.blank_some_pages", count)
    app.store.compact()
    assert len(scans) == 2
    app.store.compact()
    assert len(scans) == 2


@pytest.mark.stores("sqlite")
def test_a_file_gives_free_pages_back_in_steps(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memolith.storage.sqlite.store.MIN_FREE_PAGES", 100)
    for number in range(12):
        text = f"{number} " + "zebra " * 20_000
        app.engine.writing.remember(ME, note(text, id=str(number)))
    before = sqlite_file(app).stat().st_size
    for number in range(11):
        erased_wholly(app, str(number))
    app.store.compact()
    assert sqlite_file(app).stat().st_size < before / 2
    assert app.engine.maintenance.verify() == []


@pytest.mark.stores("sqlite")
def test_a_file_of_an_earlier_version_gets_a_map_of_its_pages_when_it_is_compacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memolith.storage.sqlite.store.MIN_FREE_PAGES", 100)
    app = opened(tmp_path)
    file = sqlite_file(app)
    secret = "a striped secret"
    for number in range(10):
        text = f"{number} " + f"{secret} " * 4_000
        app.engine.writing.remember(ME, note(text, id=str(number)))
    app.close()
    raw(file, "pragma auto_vacuum=none", "vacuum")
    assert raw(file, "pragma auto_vacuum") == [(0,)]
    app = opened(tmp_path)
    for number in range(10):
        assert erased_wholly(app, str(number))
    assert secret.encode() not in file.read_bytes()
    app.store.compact()
    assert app.engine.maintenance.verify() == []
    app.close()
    assert raw(file, "pragma auto_vacuum") == [(2,)]
