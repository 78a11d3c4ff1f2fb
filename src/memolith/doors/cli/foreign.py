"""Importing what other programs remembered, for the command `import`."""

import argparse
import io
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.doors.cli.command import Options
from memolith.doors.cli.output import note, progress
from memolith.engine.chat_formats.turns import empty_report
from memolith.engine.foreign_data import ForeignData
from memolith.engine.foreign_import import ForeignReport
from memolith.errors import InvalidInput
from memolith.interchange.importers.files import unpacking
from memolith.interchange.programs import (
    AUTO,
    CHAT_EXPORT,
    CHAT_PROGRAMS,
    OWN,
    PROGRAMS,
    Source,
    find_source,
)

MAX_EXAMPLES = 3
SKIPPED = "skipped: "
REDACTED = "redacted: "
OTHER_SUFFIXES = (".json", ".af", ".zip", ".gz", ".db", ".sqlite", ".sqlite3")
"""How files of other programs end, and never lines of JSON."""


class _Preview(Exception):
    """Rolls back an import that was made only to see its report."""


def add_foreign_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="program",
        default=AUTO,
        choices=(AUTO, *PROGRAMS),
        help="the program whose file or folder this is; by default it is recognised",
    )
    parser.add_argument(
        "--project",
        default="",
        metavar="NAME",
        help="the project of notes and memories that name none; the name of the folder for notes "
        "of basic-memory",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show the report, and change nothing"
    )
    parser.add_argument(
        "--all-examples",
        action="store_true",
        help=f"name all that did not come, not {MAX_EXAMPLES} of each reason",
    )


def find_foreign(options: Options) -> Source | None:
    """What the file is if another program wrote it; None for exports of memolith."""
    source = _source(options)
    if source is None and options.dry_run:
        raise InvalidInput(
            "--dry-run is for files of other programs, and this is not one of them.",
            field="dry_run",
        )
    if source is None:
        _refuse_project(options)
    return source


def _source(options: Options) -> Source | None:
    if options.file == "-":
        if options.program != AUTO:
            raise InvalidInput("Give the file or folder to import with --from.", field="file")
        return None
    path = Path(options.file)
    try:
        source = find_source(path, options.program)
    except InvalidInput:
        if options.program == AUTO and _may_be_lines(path):
            # The plain import tells what is wrong with it, and in which line.
            return None
        raise
    return None if source.program == OWN else source


def _refuse_project(options: Options) -> None:
    if options.project:
        raise InvalidInput(
            "--project is for notes and memories of other programs, not for chats and exports of "
            "memolith; leave it out.",
            field="project",
        )


def _named(data: ForeignData, project: str) -> ForeignData:
    """The data with the project that the caller chose."""
    if not project:
        return data
    folder = data.folder and replace(data.folder, name=project, is_named=True)
    return replace(data, project=project, folder=folder)


def _may_be_lines(path: Path) -> bool:
    """Whether the plain import may read it: whatever is not clearly something else."""
    return path.exists() and not path.is_dir() and path.suffix.lower() not in OTHER_SUFFIXES


def import_foreign(app: App, options: Options, source: Source) -> object:
    """Import everything or nothing; returns what came, and what did not and why."""
    note(f"{options.file} is from {source.program}.")
    if source.program in CHAT_PROGRAMS:
        _refuse_project(options)
        return _import_chats(app, options, source)
    assert source.read is not None
    data = _named(source.read(source.files[0]), options.project)
    report = app.engine.foreign_import.bring_in(
        Caller(options.tenant),
        data,
        again=options.again,
        dry_run=options.dry_run,
        progress=progress("importing"),
    )
    return _shown(report, options)


def _shown(report: ForeignReport, options: Options) -> dict[str, object]:
    left_out = report.left_out
    most = None if options.all_examples else MAX_EXAMPLES
    shown: dict[str, object] = report._asdict()
    shown["dry_run"] = options.dry_run
    shown["left_out"] = [
        {"count": count, "why": why, "for_example": left_out.examples[why][:most]}
        for why, count in left_out.counts.most_common()
    ]
    return shown


def _import_chats(app: App, options: Options, source: Source) -> object:
    if options.again:
        raise InvalidInput(
            "--again does not go with chats: a chat that has grown is extended, and one that is "
            "known is left alone.",
            field="again",
        )
    report = empty_report()
    with suppress(_Preview), app.engine.chat_import.store.writing(options.tenant):
        for path in source.files:
            with _chat_file(path) as file:
                app.engine.chat_import.import_chats(
                    Caller(options.tenant), file, _chat_name(path), "", report
                )
        if options.dry_run:
            raise _Preview
    return _chats_shown(source.program, report, options.dry_run)


def _chat_name(path: Path) -> str:
    return CHAT_EXPORT if path.suffix.lower() == ".zip" else path.name


@contextmanager
def _chat_file(path: Path) -> Iterator[TextIO]:
    if path.suffix.lower() != ".zip":
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            yield file
        return
    with unpacking(path), zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if Path(name).name == CHAT_EXPORT)
        with archive.open(name) as raw:
            yield io.TextIOWrapper(raw, "utf-8", errors="replace")


def _chats_shown(program: str, report: Counter[str], dry_run: bool) -> dict[str, object]:
    shown: dict[str, object] = {"program": program, "dry_run": dry_run}
    redactions: dict[str, int] = {}
    left_out: list[dict[str, object]] = []
    for name, count in report.items():
        if name.startswith(SKIPPED):
            left_out.append({"count": count, "why": name.removeprefix(SKIPPED)})
        elif name.startswith(REDACTED):
            redactions[name.removeprefix(REDACTED)] = count
        else:
            shown[name] = count
    return {**shown, "redactions": redactions, "left_out": left_out}
