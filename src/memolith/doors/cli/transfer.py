"""Commands that bring data in and out: exports, imports, chats, and copies of stores."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TextIO

from memolith import store_copy
from memolith.bootstrap import App, open_store_at
from memolith.domain.callers import Caller
from memolith.doors.cli.command import Command, Options, add_tenant, always
from memolith.doors.cli.export_formats import JSON_LINES, add_format, export_notes
from memolith.doors.cli.foreign import add_foreign_options, find_foreign, import_foreign
from memolith.doors.cli.output import note, progress
from memolith.doors.cli.standard_input import (
    STANDARD_STREAM,
    opened_lines,
    refuse_other_encodings,
)
from memolith.doors.cli.vectors import add_no_vectors, make_vectors
from memolith.engine.chat_formats.turns import empty_report
from memolith.errors import InvalidInput
from memolith.private_files import open_private

MAX_LABEL_CHARACTERS = 30


def export(app: App, options: Options) -> object:
    if options.format != JSON_LINES:
        return export_notes(app, options)
    advance = progress("exporting")
    count = 0
    with opened_for_writing(options.file, force=options.force) as file:
        # The first line is a header, so the number of the last line is the number of events.
        for count, line in enumerate(app.engine.maintenance.export(options.tenant)):
            file.write(line + "\n")
            advance(count, 0)
    note(
        f"Exported {count:,} events of {options.tenant!r}. Left out: secrets in the vault, client "
        "keys, vectors."
    )
    if options.file == STANDARD_STREAM:
        return None
    return {"file": options.file, "events": count}


def import_export(app: App, options: Options) -> object:
    foreign = find_foreign(options)
    if foreign is not None:
        foreign_report = import_foreign(app, options, foreign)
        make_vectors(app, options)
        return foreign_report
    source = None if options.again else os.path.basename(options.file)
    with opened_lines(options.file) as lines, file_named(options.file):
        report = app.engine.maintenance.import_(
            Caller(tenant=options.tenant),
            lines,
            progress("importing"),
            source,
            in_parts=options.in_parts,
        )
    if report.known:
        note(f"{report.known:,} lines were imported before; `--again` adds texts once more.")
    make_vectors(app, options)
    return report._asdict()


@contextmanager
def file_named(name: str) -> Iterator[None]:
    """Tell which file has a bad line, and what can be imported instead."""
    try:
        yield
    except InvalidInput as error:
        if error.field != "lines":
            raise
        file = "Standard input" if name == STANDARD_STREAM else name
        raise InvalidInput(
            f"{file} cannot be imported: {error.message} Nothing was imported. It is no file of "
            "another program that memolith knows, and no line of an export; docs/how-to/move.md "
            "says what can be imported.",
            field="file",
        ) from error


@contextmanager
def opened_for_writing(name: str, *, force: bool) -> Iterator[TextIO]:
    """The file of that name, for its owner alone; standard output for `-`, which stays open.

    A file that is there already is only replaced by force, and only once all is written.
    """
    if name == STANDARD_STREAM:
        yield sys.stdout
        return
    target = Path(name)
    if target.exists() and not force:
        raise InvalidInput(
            f"{name} exists already; choose another name, or replace it with --force.", field="file"
        )
    if target.exists() and not target.is_file():
        # A device or a pipe is written as it is.
        with open(name, "w", encoding="utf-8", opener=open_private) as file:
            yield file
        return
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with open(partial, "w", encoding="utf-8", opener=open_private) as file:
            yield file
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def add_export_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", default=STANDARD_STREAM, help="the file to write; `-` or none prints it"
    )
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")
    add_format(parser)
    add_tenant(parser)


def add_import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", default=STANDARD_STREAM, help="the file; `-` or none: standard input"
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="take what an earlier import brought once more, as new items",
    )
    parser.add_argument(
        "--in-parts",
        action="store_true",
        help="let others write in between; if it stops in the middle, run it again to go on",
    )
    add_tenant(parser)
    add_foreign_options(parser)
    add_no_vectors(parser)


def import_chats(app: App, options: Options) -> object:
    report = empty_report()
    for path in options.files:
        refuse_other_encodings(path)
    for path in options.files:
        with path.open(encoding="utf-8") as file:
            app.engine.chat_import.import_chats(
                Caller(options.tenant),
                file,
                path.name,
                options.folder,
                report,
                progress(path.name),
            )
    make_vectors(app, options)
    return dict(report)


def add_chat_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="the exported chats")
    add_tenant(parser)
    parser.add_argument(
        "--folder",
        default="",
        help="the folder to put them in; by default /imported/ and the name of the program",
    )
    add_no_vectors(parser)


def copy(app: App, options: Options) -> object:
    with (
        closing(open_store_at(options.source, app.settings)) as source,
        closing(open_store_at(options.target, app.settings)) as target,
    ):
        return store_copy.copy_everything(source, target, copy_progress)


def copy_progress(tenant: str) -> Callable[[int, int], None]:
    return progress(f"copying {tenant[:MAX_LABEL_CHARACTERS]}")


def add_copy_options(parser: argparse.ArgumentParser) -> None:
    address_help = "sqlite:FOLDER or postgres:URL"
    parser.add_argument(
        "--from", dest="source", required=True, metavar="ADDRESS", help=address_help
    )
    parser.add_argument("--to", dest="target", required=True, metavar="ADDRESS", help=address_help)


COMMANDS = (
    Command("export", export, add_export_options, reads_only=always),
    Command("import", import_export, add_import_options),
    Command("import-chats", import_chats, add_chat_options),
    Command("copy", copy, add_copy_options),
)
