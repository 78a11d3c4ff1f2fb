"""Leaves no byte of what was erased in a SQLite file."""

import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw

INTERIOR_INDEX_PAGE = 2
INTERIOR_TABLE_PAGE = 5
LEAF_INDEX_PAGE = 10
LEAF_TABLE_PAGE = 13
"""The kinds of pages that hold trees, as their first byte tells."""

INTERIOR_PAGES = (INTERIOR_INDEX_PAGE, INTERIOR_TABLE_PAGE)
TREE_PAGES = (*INTERIOR_PAGES, LEAF_INDEX_PAGE, LEAF_TABLE_PAGE)
INTERIOR_HEADER_BYTES = 12
LEAF_HEADER_BYTES = 8
FILE_HEADER_BYTES = 100
"""The first page begins with the header of the file."""

CELL_POINTER_BYTES = 2
PAGE_NUMBER_BYTES = 4
LAST_CHILD_OFFSET = 8
"""Where the header of an interior page has the number of its last child."""

MAX_PAGE_BYTES = 65536
LOCK_BYTE = 1 << 30
"""The page with this byte is used for locks alone."""

FIRST_MAP_PAGE = 2
MAP_ENTRY_BYTES = 5
MAPPED_ROOT = 1
MAPPED_TREE_PAGE = 5
MAPPED_TREE_PAGES = (MAPPED_ROOT, MAPPED_TREE_PAGE)
"""How the map of pages, which a file with `auto_vacuum` has, calls pages of trees."""

SCHEMA_PAGE = 1
"""The root of the tree that names the roots of all others."""


class Gap(NamedTuple):
    """The unused bytes of a page, between its cell pointers and its cells."""

    start: int
    end: int


class TreePage(NamedTuple):
    """A page of a tree, and where its header begins."""

    data: bytes
    header: int

    @property
    def kind(self) -> int:
        return self.data[self.header]

    @property
    def cells(self) -> int:
        return int.from_bytes(self.data[self.header + 3 : self.header + 5], "big")

    @property
    def first_cell_pointer(self) -> int:
        is_interior = self.kind in INTERIOR_PAGES
        return self.header + (INTERIOR_HEADER_BYTES if is_interior else LEAF_HEADER_BYTES)

    @property
    def gap(self) -> Gap:
        # SQLite writes 0 for an offset of 65536.
        end = int.from_bytes(self.data[self.header + 5 : self.header + 7], "big") or MAX_PAGE_BYTES
        return Gap(self.first_cell_pointer + CELL_POINTER_BYTES * self.cells, end)

    @property
    def children(self) -> list[int]:
        """The numbers of the pages below an interior page."""
        if self.kind not in INTERIOR_PAGES:
            return []
        last = self.header + LAST_CHILD_OFFSET
        cells = struct.unpack_from(f">{self.cells}H", self.data, self.first_cell_pointer)
        places = (last, *cells)
        return [
            int.from_bytes(self.data[place : place + PAGE_NUMBER_BYTES], "big") for place in places
        ]


def blank_unused_bytes(file: Path, page_size: int, roots: Iterable[int]) -> None:
    """Blank the unused middle of pages, where SQLite leaves old copies of rows that it moved.

    The caller holds the write lock, has emptied the write-ahead log, and knows the root pages of
    all trees.
    """
    with _opened(file) as raw:
        _blank_trees(raw, page_size, [SCHEMA_PAGE, *roots])


def blank_some_pages(file: Path, page_size: int, first: int, count: int) -> int | None:
    """Blank the unused middle of so many pages; returns the number of the next page, if any.

    The file has a map of its pages. The caller holds the write lock, and the file has everything
    that is in the write-ahead log.
    """
    with _opened(file) as raw:
        page_count = raw.xFileSize() // page_size
        end = min(first + count, page_count + 1)
        for number in range(first, end):
            if number == SCHEMA_PAGE or _kind_in_map(raw, page_size, number) in MAPPED_TREE_PAGES:
                page_start = (number - 1) * page_size
                page = tree_page(raw.xRead(page_size, page_start), is_first=number == SCHEMA_PAGE)
                if page is not None:
                    _blank_gap(raw, page, page_start, page_size)
    return end if end <= page_count else None


@contextmanager
def _opened(file: Path) -> Iterator[apsw.VFSFile]:
    # Through SQLite's own file layer: closing the file by other means would drop the locks that
    # this process holds on it.
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0]
    raw = apsw.VFSFile("", str(file), flags)
    try:
        yield raw
        raw.xSync(apsw.SQLITE_SYNC_FULL)
    finally:
        raw.xClose()


def _kind_in_map(raw: apsw.VFSFile, page_size: int, number: int) -> int:
    """What the map of pages says of a page; 0 for the pages of the map itself.

    A page of the map tells of the pages that follow it, in five bytes each. The page with the byte
    that SQLite locks is never used, also not for the map.
    """
    lock_page = LOCK_BYTE // page_size + 1
    mapped_pages = page_size // MAP_ENTRY_BYTES
    map_page = (number - FIRST_MAP_PAGE) // (mapped_pages + 1) * (mapped_pages + 1) + FIRST_MAP_PAGE
    if map_page == lock_page:
        map_page += 1
    if number <= map_page or number == lock_page:
        return 0
    entry = (map_page - 1) * page_size + MAP_ENTRY_BYTES * (number - map_page - 1)
    return raw.xRead(1, entry)[0]


def _blank_trees(raw: apsw.VFSFile, page_size: int, roots: list[int]) -> None:
    """Follow the trees from their roots, so that no other page is taken for one of a tree.

    What a page is cannot be told from its bytes: an overflow page, or a page of the list of free
    ones, begins with the number of another page, and in a file of 137 GB that looks like the kind
    of a tree page. The page with the byte that SQLite locks (at 1 GiB) belongs to no tree.
    """
    page_count = raw.xFileSize() // page_size
    seen = bytearray(page_count + 1)
    waiting = roots
    while waiting:
        number = waiting.pop()
        if not 0 < number <= page_count or seen[number]:
            # Only in a damaged file.
            continue
        seen[number] = True
        page_start = (number - 1) * page_size
        page = tree_page(raw.xRead(page_size, page_start), is_first=number == SCHEMA_PAGE)
        if page is None:
            continue
        waiting += page.children
        _blank_gap(raw, page, page_start, page_size)


def _blank_gap(raw: apsw.VFSFile, page: TreePage, page_start: int, page_size: int) -> None:
    gap = page.gap
    if gap.end <= page_size and page.data[gap.start : gap.end].strip(b"\0"):
        raw.xWrite(bytes(gap.end - gap.start), page_start + gap.start)


def tree_page(data: bytes, is_first: bool) -> TreePage | None:
    """The page with these bytes, to which a tree leads; None if it is damaged."""
    page = TreePage(data, FILE_HEADER_BYTES if is_first else 0)
    if page.kind not in TREE_PAGES or page.gap.start > len(data):
        return None
    return page
