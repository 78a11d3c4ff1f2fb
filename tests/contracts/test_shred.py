"""Blanking unused bytes touches pages of trees only, also in a file of many gigabytes."""

import os
import struct
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memolith.storage.sqlite.shred import blank_some_pages, blank_unused_bytes, tree_page

PAGE_SIZE = 512
LOOKS_LIKE_A_TREE_PAGE = 0x0200_0000
"""The number of a page whose first byte is that of an interior page of an index."""

PAGE_COUNT_OFFSET = 28
"""Where the header of a SQLite file has the number of its pages."""

LOCK_BYTE = 1 << 30


def connect(file: Path) -> apsw.Connection:
    db = apsw.Connection(str(file))
    db.execute(f"pragma page_size={PAGE_SIZE}")
    return db


def roots(db: apsw.Connection) -> list[int]:
    return [page for (page,) in db.execute("select rootpage from sqlite_schema where rootpage > 0")]


def shred(file: Path) -> None:
    with closing(connect(file)) as db:
        found = roots(db)
    blank_unused_bytes(file, PAGE_SIZE, found)


def pretend_to_be_large(file: Path, pages: int) -> None:
    """Let the next new page have a number beyond these; the file has a hole, which costs nothing."""
    os.truncate(file, pages * PAGE_SIZE)
    with file.open("r+b") as raw:
        raw.seek(PAGE_COUNT_OFFSET)
        raw.write(struct.pack(">I", pages))


@pytest.mark.skipif(sys.platform == "win32", reason="files have no holes there")
def test_overflow_pages_of_a_very_large_file_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "large.db"
    value = bytes(range(1, 256)) * 40
    with closing(connect(file)) as db:
        db.execute("create table thing(id integer primary key, value blob)")
        db.execute("insert into thing(value) values (?)", (b"small",))
    pretend_to_be_large(file, LOOKS_LIKE_A_TREE_PAGE)
    with closing(connect(file)) as db:
        for _ in range(20):
            db.execute("insert into thing(value) values (?)", (value,))
    assert os.path.getsize(file) > LOOKS_LIKE_A_TREE_PAGE * PAGE_SIZE > LOCK_BYTE
    with file.open("rb") as raw:
        raw.seek(LOOKS_LIKE_A_TREE_PAGE * PAGE_SIZE)
        pages = [raw.read(PAGE_SIZE) for _ in range(300)]
    # What was wrong: by its first byte such a page could be one of a tree.
    mistaken = [page for page in pages if page and tree_page(page, is_first=False)]
    assert mistaken
    shred(file)
    with closing(connect(file)) as db:
        found = [kept for (kept,) in db.execute("select value from thing order by id")]
    assert found == [b"small", *[value] * 20]


def test_every_page_of_every_tree_is_reached(tmp_path: Path) -> None:
    file = tmp_path / "trees.db"
    secret = b"a secret that was moved"
    with closing(connect(file)) as db:
        db.execute("create table thing(id integer primary key, value text)")
        db.execute("create index by_value on thing(value)")
        db.execute("create table pair(a text primary key, b text) without rowid")
        for number in range(3000):
            text = f"value {number * 7919 % 3000:06d}"
            db.execute("insert into thing(value) values (?)", (text,))
            db.execute("insert into pair values (?, ?)", (text, text))
        pages = db.pragma("page_count")
        free = db.pragma("freelist_count")
        trees = roots(db)
    planted = plant(file, secret)
    assert planted == pages - free > 300
    blank_unused_bytes(file, PAGE_SIZE, trees)
    assert secret[:4] not in file.read_bytes()
    with closing(connect(file)) as db:
        assert db.pragma("integrity_check") == "ok"
        assert db.execute("select count(*) from thing").get == 3000


def test_with_a_map_of_pages_the_file_is_blanked_in_steps(tmp_path: Path) -> None:
    file = tmp_path / "mapped.db"
    secret = b"a secret that was moved"
    large = bytes(range(1, 256)) * 20
    with closing(connect(file)) as db:
        db.execute("pragma auto_vacuum=incremental")
        db.execute("create table thing(id integer primary key, value text)")
        db.execute("create table pair(a text primary key, b blob) without rowid")
        for number in range(600):
            text = f"value {number * 7919 % 600:06d}"
            db.execute("insert into thing(value) values (?)", (text,))
            db.execute("insert into pair values (?, ?)", (text, large if number % 9 == 0 else b""))
        db.execute("delete from pair where a > 'value 000500'")
        trees = walked(file, [1, *roots(db)])
    planted = bytearray(file.read_bytes())
    for number in trees:
        start = (number - 1) * PAGE_SIZE
        page = tree_page(bytes(planted[start : start + PAGE_SIZE]), is_first=number == 1)
        assert page is not None
        room = min(len(secret), page.gap.end - page.gap.start)
        planted[start + page.gap.start : start + page.gap.start + room] = secret[:room]
    file.write_bytes(planted)
    assert planted.count(secret) > 20
    steps = 0
    next_page: int | None = 1
    while next_page is not None:
        next_page = blank_some_pages(file, PAGE_SIZE, next_page, 7)
        steps += 1
    assert steps == -(-len(planted) // PAGE_SIZE // 7)
    assert secret not in file.read_bytes()
    with closing(connect(file)) as db:
        assert db.pragma("integrity_check") == "ok"
        kept = [value for (value,) in db.execute("select b from pair where b <> x''")]
    assert set(kept) == {large}


def walked(file: Path, waiting: list[int]) -> set[int]:
    """The pages that are reached from the roots of trees."""
    data = file.read_bytes()
    found: set[int] = set()
    while waiting:
        number = waiting.pop()
        found.add(number)
        page = tree_page(data[(number - 1) * PAGE_SIZE : number * PAGE_SIZE], is_first=number == 1)
        assert page is not None
        waiting += page.children
    return found


def plant(file: Path, secret: bytes) -> int:
    """Put bytes into the gap of every page; returns how many pages there were.

    Every page of this file is one of a tree, as no row is large.
    """
    data = bytearray(file.read_bytes())
    count = 0
    for start in range(0, len(data), PAGE_SIZE):
        page = tree_page(bytes(data[start : start + PAGE_SIZE]), is_first=start == 0)
        assert page is not None
        gap = page.gap
        room = min(len(secret), gap.end - gap.start)
        data[start + gap.start : start + gap.start + room] = secret[:room]
        count += 1
    file.write_bytes(data)
    return count


def test_a_damaged_file_ends_the_walk(tmp_path: Path) -> None:
    file = tmp_path / "damaged.db"
    with closing(connect(file)) as db:
        db.execute("create table thing(id integer primary key, value text)")
        for number in range(500):
            db.execute("insert into thing(value) values (?)", (f"value {number}",))
        (root,) = roots(db)
    data = bytearray(file.read_bytes())
    page = tree_page(bytes(data[(root - 1) * PAGE_SIZE : root * PAGE_SIZE]), is_first=False)
    assert page is not None
    assert page.children
    # The last child is the root itself: a circle.
    data[(root - 1) * PAGE_SIZE + 8 : (root - 1) * PAGE_SIZE + 12] = struct.pack(">I", root)
    file.write_bytes(data)
    blank_unused_bytes(file, PAGE_SIZE, [root, 10**9, 0])
    assert tree_page(bytes(PAGE_SIZE), is_first=False) is None
    assert tree_page(b"\x0d\x00\x00\xff\xff\x00\x00" + bytes(500), is_first=False) is None
