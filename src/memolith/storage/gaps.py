"""Blanks the unused middle of database pages, where SQLite leaves stale copies of rows that it moved elsewhere."""

from __future__ import annotations

from pathlib import Path

import apsw

from memolith.storage.faults import transaction

INTERIOR, LEAF = (2, 5), (10, 13)
FIRST_HEADER = 100
TRIES = 20
# The page that SQLite never uses, because it locks bytes there.
LOCKED_BYTE = 2**30


def shred(db: apsw.Connection, file: Path) -> bool:
    """Leave no byte of deleted rows in the file or its log; False if a reader held the log open too long.

    The connection must be a new one: pages that it had cached would bring the old bytes back.
    """
    log = file.with_name(file.name + "-wal")
    for _ in range(TRIES):
        if db.pragma("wal_checkpoint", "truncate")[0]:
            return False
        with transaction(db):
            if log.exists() and log.stat().st_size:
                # Somebody wrote in between, so the file is not the whole truth yet.
                continue
            _blank(file, db.pragma("page_size"))
            # A change of any kind makes every other connection drop the pages it has cached.
            db.execute("update setting set value = value where tenant = '' and name = 'database'")
        return not db.pragma("wal_checkpoint", "truncate")[0]
    return False


def _blank(file: Path, size: int) -> None:
    # Through SQLite's own file layer: to close the file by other means would drop the locks of this process.
    raw = apsw.VFSFile("", str(file), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])
    try:
        for start in range(0, raw.xFileSize(), size):
            if start <= LOCKED_BYTE < start + size:
                continue
            page = raw.xRead(size, start)
            first, last = _gap(page, FIRST_HEADER if start == 0 else 0)
            if page[first:last].strip(b"\0"):
                raw.xWrite(bytes(last - first), start + first)
        raw.xSync(apsw.SQLITE_SYNC_FULL)
    finally:
        raw.xClose()


def _gap(page: bytes, header: int) -> tuple[int, int]:
    """Where the unused middle of a b-tree page begins and ends; nothing for any other page."""
    kind = page[header]
    if kind not in (*INTERIOR, *LEAF):
        return 0, 0
    cells = int.from_bytes(page[header + 3:header + 5], "big")
    content = int.from_bytes(page[header + 5:header + 7], "big") or 65536
    return header + (12 if kind in INTERIOR else 8) + 2 * cells, content
