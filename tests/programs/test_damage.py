"""A database file that is damaged, newer or somebody else's is told in plain words, and never by a
traceback.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.domain.queries import Query
from memolith.errors import SchemaTooNew, StoreCorrupt
from memolith.settings import Settings
from tests.programs.children import cli

ME = Caller()


def opened(folder: Path) -> App:
    return open_app(Settings(data=folder, embedder="none"))


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of some hundred items in one file, to be copied and damaged."""
    folder = tmp_path_factory.mktemp("healthy")
    app = opened(folder)
    lines = (
        json.dumps(
            {"title": f"Title {n}", "content": f"line number {n} with some words", "tags": ["t"]}
        )
        for n in range(200)
    )
    app.engine.maintenance.import_(ME, lines)
    app.close()
    return folder / "memolith.db"


def pages(file: Path, table: str) -> int:
    """A page in the middle of a table."""
    db = apsw.Connection(str(file))
    found: list[int] = [
        page
        for (page,) in db.execute(
            "select pageno from dbstat where name = ? and pagetype = 'leaf'", (table,)
        )
    ]
    db.close()
    return found[len(found) // 2]


def page_of(table: str, content: bytes) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        page, data = pages(file, table), bytearray(file.read_bytes())
        data[(page - 1) * 4096 : page * 4096] = content
        file.write_bytes(data)

    return damage


def bytes_of(old: bytes, new: bytes) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        data = file.read_bytes()
        assert old in data
        assert len(old) == len(new)
        file.write_bytes(data.replace(old, new, 1))

    return damage


def cut(share: float) -> Callable[[Path], None]:
    return lambda file: os.truncate(file, int(file.stat().st_size * share))


def foreign(sql: str) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        file.unlink()
        db = apsw.Connection(str(file))
        db.execute(sql)
        db.close()

    return damage


NOISE = random.Random(5).randbytes(4096)
DAMAGES = {
    "random bytes": lambda file: file.write_bytes(NOISE * 20),
    "cut in half": cut(0.5),
    "cut somewhere": cut(0.333),
    "only the header": lambda file: os.truncate(file, 100),
    "one page": lambda file: os.truncate(file, 4096),
    "noise in the log": page_of("event", NOISE),
    "noise in the items": page_of("item", NOISE),
    "noise in the text index": page_of("passage_fts_data", NOISE),
    "zeros in the log": page_of("event", bytes(4096)),
    "broken JSON in the log": bytes_of(b'"audience":"user"', b'"audience":#user"'),
    "a wrong word in the log": bytes_of(b'"audience":"user"', b'"audience":"usex"'),
    "broken UTF-8": bytes_of(b"line number 150 w", b"line number \xff\xfe0 w"),
    "a changed letter": bytes_of(b"line number 150 w", b"line bumber 150 w"),
    "another program's file": foreign("create table item (a); insert into item values (1)"),
    "another program's file of our version": foreign("pragma user_version = 1; create table a (b)"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_told_in_plain_words(tmp_path: Path, healthy: Path, damage: Any) -> None:
    shutil.copy(healthy, tmp_path / "memolith.db")
    DAMAGES[damage](tmp_path / "memolith.db")
    assert complaints(tmp_path), "nobody has noticed"


def complaints(folder: Path) -> list[str]:
    """What is said about the file by whoever works with it; any other error than ours goes through."""
    try:
        app = opened(folder)
    except StoreCorrupt as error:
        return [error.message]
    found: list[str] = []
    for work in (
        app.engine.maintenance.verify,
        app.store.check,
        lambda: app.engine.reading.list_items(ME, limit=200),
        lambda: app.engine.recall.search(ME, Query("line number", mode="text", limit=200)),
        lambda: app.engine.writing.remember(ME, Draft(blocks=(Block("one more"),))),
        app.engine.maintenance.rebuild,
    ):
        try:
            told = work()
        except StoreCorrupt as error:
            told = [error.message]
        found += told if isinstance(told, list) else []
    app.close()
    return found


@pytest.mark.parametrize(
    "damage", ["noise in the log", "broken JSON in the log", "another program's file"]
)
def test_verify_and_doctor_tell_damage_without_a_traceback(
    tmp_path: Path, healthy: Path, damage: str
) -> None:
    shutil.copy(healthy, tmp_path / "memolith.db")
    DAMAGES[damage](tmp_path / "memolith.db")
    told = cli(tmp_path, "verify")
    assert told.returncode == 1, told
    assert "Traceback" not in told.stderr
    assert told.stdout + told.stderr
    examined = cli(tmp_path, "doctor")
    assert "Traceback" not in examined.stderr


def test_a_newer_schema_is_refused_and_left_as_it_is(tmp_path: Path, healthy: Path) -> None:
    shutil.copy(healthy, tmp_path / "memolith.db")
    foreign_version(tmp_path / "memolith.db", 99)
    before = (tmp_path / "memolith.db").read_bytes()
    with pytest.raises(SchemaTooNew, match="update"):
        opened(tmp_path)
    assert (tmp_path / "memolith.db").read_bytes() == before


def foreign_version(file: Path, version: int) -> None:
    db = apsw.Connection(str(file))
    db.execute("update migration set oldest = ?", (version,))
    db.execute("pragma wal_checkpoint(truncate)").fetchall()
    db.close()
