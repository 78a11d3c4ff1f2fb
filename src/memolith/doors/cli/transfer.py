"""Commands that bring data in and out: exports, imports, chats, and copies of stores."""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TextIO

from memolith import store_copy
from memolith.bootstrap import App, open_store_at
from memolith.domain.callers import Caller
from memolith.doors.cli.command import Command, Options, add_tenant
from memolith.doors.cli.output import note, progress
from memolith.doors.cli.vectors import add_no_vectors, make_vectors
from memolith.engine.chat_formats.turns import empty_report
from memolith.errors import InvalidInput, translated
from memolith.private_files import open_private

MAX_LABEL_CHARACTERS = 30
STANDARD_STREAM = "-"


def export(app: App, options: Options) -> object:
    advance = progress("exporting")
    count = 0
    with opened_for_writing(options.file) as file:
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
    not_text = translated(
        UnicodeDecodeError, InvalidInput, f"{options.file} is not UTF-8 text.", "file"
    )
    with not_text, opened_for_reading(options.file) as file:
        report = app.engine.maintenance.import_(
            Caller(tenant=options.tenant), file, progress("importing")
        )
    make_vectors(app, options)
    return report._asdict()


@contextmanager
def opened_for_reading(name: str) -> Iterator[TextIO]:
    """The file of that name; standard input for `-`, which stays open."""
    if name == STANDARD_STREAM:
        yield sys.stdin
        return
    with open(name, encoding="utf-8") as file:
        yield file


@contextmanager
def opened_for_writing(name: str) -> Iterator[TextIO]:
    """The file of that name, for its owner alone; standard output for `-`, which stays open."""
    if name == STANDARD_STREAM:
        yield sys.stdout
        return
    with open(name, "w", encoding="utf-8", opener=open_private) as file:
        yield file


def add_stream_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default=STANDARD_STREAM)
    add_tenant(parser)


def add_import_options(parser: argparse.ArgumentParser) -> None:
    add_stream_options(parser)
    add_no_vectors(parser)


def import_chats(app: App, options: Options) -> object:
    report = empty_report()
    for path in options.files:
        with path.open(encoding="utf-8", errors="replace") as file:
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
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
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
    Command("export", export, add_stream_options),
    Command("import", import_export, add_import_options),
    Command("import-chats", import_chats, add_chat_options),
    Command("copy", copy, add_copy_options),
)
