"""Leaving: the formats of `export` beside JSON Lines, and `sync`, which keeps a folder in step."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.doors.cli.command import Command, Options, add_tenant
from memolith.doors.cli.output import note, progress
from memolith.doors.cli.vectors import add_no_vectors, make_vectors
from memolith.errors import InvalidInput
from memolith.interchange.exporters.csv_table import write_csv
from memolith.interchange.exporters.folder import export_folder
from memolith.interchange.exporters.mem0 import write_mem0
from memolith.interchange.exporters.official import write_official
from memolith.interchange.folder_sync import sync_folder
from memolith.interchange.note_files import Style
from memolith.private_files import open_private

JSON_LINES = "jsonl"
STYLES: dict[str, Style] = {"markdown": "markdown", "obsidian": "wiki"}
"""The formats that are a folder, and how notes link to each other in them."""
FORMATS = (JSON_LINES, *STYLES, "mem0", "official", "csv")
STANDARD_STREAM = "-"
LEFT_BEHIND = {
    "csv": "without their history and links",
    "mem0": "without their history and links",
    "official": "with the relations between them and without their history",
}
"""What does not fit into the file of a format."""
ONLY_KIND = {
    "mem0": "memories, which is all that mem0 has",
    "official": "entities, which is all that the reference memory server has",
}
"""The one kind of items that a format has."""


def add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default=JSON_LINES,
        help="jsonl has everything and can be imported again; markdown and obsidian are a folder "
        "of notes; mem0, official (the file of the reference memory server) and csv are one file",
    )


def export_notes(app: App, options: Options) -> object:
    """Write the live items in a format of other programs."""
    caller = Caller(options.tenant)
    if options.format in STYLES:
        if options.file == STANDARD_STREAM:
            raise InvalidInput("Name the folder to write the notes to.", field="file")
        style = STYLES[options.format]
        advance = progress("exporting")
        count = export_folder(app.engine, caller, Path(options.file), style, advance)
        return {"folder": options.file, "notes": count}
    with _opened(options.file, force=options.force) as file:
        count, left_out = _write_file(app, caller, options.format, file)
    note(f"Exported {count:,} items of {options.tenant!r}, {LEFT_BEHIND[options.format]}.")
    if left_out:
        note(f"Left out: {left_out:,} items that are no {ONLY_KIND[options.format]}.")
    if options.file == STANDARD_STREAM:
        return None
    return {"file": options.file, "items": count, "left_out": left_out}


def _write_file(app: App, caller: Caller, format: str, file: TextIO) -> tuple[int, int]:
    """Write the one file of a format; returns how many items, and how many stayed out."""
    if format == "csv":
        return write_csv(app.engine, caller, file), 0
    if format == "official":
        return write_official(app.engine, caller, file)
    return write_mem0(app.engine, caller, file)


@contextmanager
def _opened(name: str, *, force: bool) -> Iterator[TextIO]:
    if name == STANDARD_STREAM:
        yield sys.stdout
        return
    if Path(name).exists() and not force:
        raise InvalidInput(f"{name} exists already; choose another name, or --force.", field="file")
    with open(name, "w", encoding="utf-8", newline="", opener=open_private) as file:
        yield file


def sync(app: App, options: Options) -> object:
    report = sync_folder(
        app.engine,
        Caller(options.tenant),
        options.folder,
        accept_removals=options.accept_removals,
    )
    make_vectors(app, options)
    shown: dict[str, object] = {"folder": str(options.folder)}
    for name, paths in asdict(report).items():
        shown[name] = paths
    # A conflict or a refused file makes the command fail, so that a script notices.
    shown["problems"] = [*report.conflicts, *report.refused]
    return {key: value for key, value in shown.items() if key not in ("conflicts", "refused")}


def add_sync_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of notes")
    parser.add_argument(
        "--accept-removals",
        action="store_true",
        help="forget the items of removed files even if most files were removed",
    )
    add_tenant(parser)
    add_no_vectors(parser)


COMMANDS = (Command("sync", sync, add_sync_options),)
