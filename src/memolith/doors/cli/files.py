"""The command that ingests files."""

import argparse
import glob
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.doors.cli.command import Command, Options, add_tenant
from memolith.doors.cli.output import note, progress
from memolith.doors.cli.vectors import add_no_vectors, make_vectors
from memolith.errors import InvalidInput, MemolithError, TooLarge

WATCH_INTERVAL_S = 1.0


@dataclass
class Ingestion:
    """What was done with each file so far."""

    app: App
    caller: Caller
    new: int = 0
    known: int = 0
    refused: dict[Path, str] = field(default_factory=dict)
    modified: dict[Path, float] = field(default_factory=dict)
    """When a file was last modified, as of the last time it was ingested."""

    def ingest_all(self, files: list[Path]) -> None:
        advance = progress("reading")
        for number, file in enumerate(files, 1):
            try:
                self.ingest(file)
            except (InvalidInput, TooLarge, OSError) as error:
                self.refused[file] = str(error)
            advance(number, len(files))

    def look_again(self, files: list[Path]) -> None:
        """Take in what is new or has changed, and tell at once what is refused."""
        for file in files:
            before = self.refused.get(file)
            try:
                self.ingest(file)
            except FileNotFoundError:
                # It was removed since we looked.
                continue
            except (InvalidInput, TooLarge, OSError) as error:
                self.refused[file] = str(error)
            except MemolithError as error:
                # The fault is not the file's, so it gets another chance.
                self.modified.pop(file, None)
                self.refused[file] = str(error)
            if self.refused.get(file, before) != before:
                note(self.problem(file))

    def ingest(self, file: Path) -> None:
        """Take in a file that is new or has changed since the last time."""
        modified = file.stat().st_mtime
        if self.modified.get(file) == modified:
            return
        self.modified[file] = modified
        self.refused.pop(file, None)
        _, is_new = self.app.engine.documents.ingest(self.caller, file, file.name)
        if is_new:
            self.new += 1
        else:
            self.known += 1

    def problem(self, file: Path) -> str:
        return f"{file}: {self.refused[file]}"

    def report(self) -> dict[str, object]:
        problems = [self.problem(file) for file in self.refused]
        return {"taken": self.new, "known": self.known, "problems": problems}


def ingest(app: App, options: Options) -> object:
    ingestion = Ingestion(app, Caller(options.tenant))
    empty = [pattern for pattern in options.paths if not glob.glob(pattern, recursive=True)]
    if not options.watch:
        for pattern in empty:
            raise InvalidInput(f"There is nothing at {pattern}.", field="paths", value=pattern)
        ingestion.ingest_all(find_files(options.paths))
        make_vectors(app, options)
        return ingestion.report()
    for pattern in empty:
        note(f"There is nothing at {pattern} yet.")
    # Whoever ends the command with Ctrl+C gets the report.
    with suppress(KeyboardInterrupt):
        while True:
            new_before = ingestion.new
            ingestion.look_again(find_files(options.paths))
            if ingestion.new > new_before:
                make_vectors(app, options)
            time.sleep(WATCH_INTERVAL_S)
    return ingestion.report()


def find_files(patterns: list[str]) -> list[Path]:
    """The files that paths and patterns name, without hidden ones inside folders."""
    files = []
    for pattern in patterns:
        found = glob.glob(pattern, recursive=True)
        names = set(found)
        for name in found:
            names.update(glob.glob(f"{glob.escape(name)}/**", recursive=True))
        files += [Path(name) for name in sorted(names) if os.path.isfile(name)]
    return files


def add_ingest_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="files, folders, or patterns like 'notes/**/*.md'",
    )
    parser.add_argument(
        "--watch", action="store_true", help="keep running, and ingest files that come or change"
    )
    add_no_vectors(parser)
    add_tenant(parser)


COMMANDS = (Command("ingest", ingest, add_ingest_options),)
