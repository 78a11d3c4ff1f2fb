"""The command that ingests files."""

import argparse
import glob
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.doors.cli.command import Command, Options, add_tenant
from memolith.doors.cli.output import progress
from memolith.errors import InvalidInput, TooLarge

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

    def ingest(self, file: Path) -> None:
        """Take in a file that is new or has changed since the last time."""
        modified = file.stat().st_mtime
        if self.modified.get(file) == modified:
            return
        self.modified[file] = modified
        _, is_new = self.app.engine.documents.ingest(self.caller, file, file.name)
        if is_new:
            self.new += 1
        else:
            self.known += 1

    def report(self) -> dict[str, object]:
        problems = [f"{file}: {reason}" for file, reason in self.refused.items()]
        return {"taken": self.new, "known": self.known, "problems": problems}


def ingest(app: App, options: Options) -> object:
    ingestion = Ingestion(app, Caller(options.tenant))
    ingestion.ingest_all(find_files(options.paths))
    while options.watch:
        time.sleep(WATCH_INTERVAL_S)
        ingestion.ingest_all(find_files(options.paths))
    return ingestion.report()


def find_files(patterns: list[str]) -> list[Path]:
    """The files that paths and patterns name, without hidden ones inside folders."""
    files = []
    for pattern in patterns:
        found = glob.glob(pattern, recursive=True)
        if not found:
            raise InvalidInput(f"There is nothing at {pattern}.", field="paths")
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
    add_tenant(parser)


COMMANDS = (Command("ingest", ingest, add_ingest_options),)
