"""Copies a SQLite database into one new file, and back into a data folder."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from memolith.errors import Conflict, InvalidInput, StoreCorrupt
from memolith.private_files import PRIVATE_FILE, make_private_folder
from memolith.storage.sqlite.connections import translated_errors
from memolith.storage.sqlite.schema import migrate
from memolith.storage.sqlite.statements import SqliteStatements

FILE = "memolith.db"
"""The name of the database in its data folder."""

PAGES_PER_STEP = 500
"""How many pages are copied at once; writers get their turn in between."""

MAX_PROBLEMS_IN_BACKUP = 5
Progress = Callable[[int, int], None]
"""Is told how many of how many pages are done."""


def no_progress(done: int, total: int) -> None:
    """Tells nobody."""


def copy_to_file(source: apsw.Connection, target: Path, progress: Progress = no_progress) -> None:
    """Copy a database into one new file while others go on writing."""
    with _copied(source, target, progress) as copy:
        copy.execute("pragma journal_mode=delete")


def restore_backup(file: Path, folder: Path) -> None:
    """Put a backup into a data folder that has no database yet."""
    if not file.is_file():
        raise InvalidInput(f"There is no file {file}.", field="file")
    if (folder / FILE).exists():
        raise Conflict(f"{folder} holds a database already; restore into an empty folder.")
    with translated_errors(), closing(apsw.Connection(str(file))) as source:
        _check_backup(source)
        make_private_folder(str(folder))
        with _copied(source, folder / FILE, no_progress) as target:
            migrate(target)


def _check_backup(source: apsw.Connection) -> None:
    check = source.execute(f"pragma integrity_check({MAX_PROBLEMS_IN_BACKUP})")
    problems = [text for (text,) in check if text != "ok"]
    if problems:
        raise StoreCorrupt(f"The backup is damaged: {problems[0]}")
    row = SqliteStatements(source).row("count_migration_tables")
    if row is None or not row.tables:
        raise StoreCorrupt("This file is no backup of memolith.")


@contextmanager
def _copied(source: apsw.Connection, file: Path, progress: Progress) -> Iterator[apsw.Connection]:
    """A copy that only its owner can read, to be finished by the caller.

    It appears at its place when the block ends, whole or not at all.
    """
    partial = file.with_name(file.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_WRONLY, PRIVATE_FILE))
        with closing(apsw.Connection(str(partial))) as copy:
            with copy.backup("main", source, "main") as run:
                while not run.done:
                    run.step(PAGES_PER_STEP)
                    progress(run.page_count - run.remaining, run.page_count)
            yield copy
        os.replace(partial, file)
    finally:
        partial.unlink(missing_ok=True)
