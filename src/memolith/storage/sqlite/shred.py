"""Leaves no byte of what was erased in a SQLite file."""

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
MAX_PAGE_BYTES = 65536
LOCK_BYTE = 2**30
"""SQLite uses this byte for locks and never writes its page."""


class Gap(NamedTuple):
    """The unused bytes of a page, between its cell pointers and its cells."""

    start: int
    end: int


def blank_unused_bytes(file: Path, page_size: int) -> None:
    """Blank the unused middle of pages, where SQLite leaves old copies of rows that it moved.

    The caller holds the write lock and has emptied the write-ahead log.
    """
    # Through SQLite's own file layer: closing the file by other means would drop the locks that
    # this process holds on it.
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0]
    raw = apsw.VFSFile("", str(file), flags)
    try:
        for page_start in range(0, raw.xFileSize(), page_size):
            if page_start <= LOCK_BYTE < page_start + page_size:
                continue
            page = raw.xRead(page_size, page_start)
            gap = _gap(page, is_first=page_start == 0)
            if gap is not None and page[gap.start : gap.end].strip(b"\0"):
                raw.xWrite(bytes(gap.end - gap.start), page_start + gap.start)
        raw.xSync(apsw.SQLITE_SYNC_FULL)
    finally:
        raw.xClose()


def _gap(page: bytes, is_first: bool) -> Gap | None:
    """The unused bytes of a page; None if it is not part of a tree."""
    header = FILE_HEADER_BYTES if is_first else 0
    kind = page[header]
    if kind not in TREE_PAGES:
        return None
    cells = int.from_bytes(page[header + 3 : header + 5], "big")
    header_bytes = INTERIOR_HEADER_BYTES if kind in INTERIOR_PAGES else LEAF_HEADER_BYTES
    # SQLite writes 0 for an offset of 65536.
    end = int.from_bytes(page[header + 5 : header + 7], "big") or MAX_PAGE_BYTES
    return Gap(start=header + header_bytes + CELL_POINTER_BYTES * cells, end=end)
