"""Runs one command of `memolith`: parses it, opens the app, prints the result or the failure."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from memolith.doors.cli.command import Options
from memolith.doors.cli.output import note, print_result
from memolith.doors.cli.parser import parse
from memolith.doors.cli.style import RED, styled
from memolith.doors.logs import configure_logging
from memolith.doors.mcp.data_check import DATABASE_FILE
from memolith.errors import FULL_DISK, DiskFull, MemolithError, NotFound, Unavailable

if TYPE_CHECKING:
    from memolith.bootstrap import App


SETTING_FLAGS = ("data", "repo", "host", "port")
"""The flags that are settings too."""

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


def run(arguments: list[str]) -> int:
    """Run one command and return its exit status; a failure is told on standard error."""
    # Until the arguments are parsed nobody knows whether people or a program are reading.
    options = argparse.Namespace(json="--json" in arguments)
    try:
        options = parse(arguments)
        return run_command(options)
    except MemolithError as error:
        return report_failure(options, error)
    except KeyboardInterrupt:
        note("Stopped.")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away, so nothing may be flushed to it at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return report_failure(options, failure_of(error))


def run_command(options: Options) -> int:
    """Run the parsed command and print its result; problems that it found make it fail."""
    # `memolith --help` needs neither, and they take a fifth of a second to import.
    from memolith.bootstrap import App
    from memolith.settings import load

    settings = load({name: getattr(options, name, None) for name in SETTING_FLAGS})
    configure_logging(settings.log_level, settings.log_format)
    if options.reads_only(options) and not settings.database:
        refuse_missing_store(settings.data)
    with closing(App(settings)) as app:
        complete_ids(app, options)
        result = options.run(app, options)
        if result is not None:
            print_result(options, shown(app, options, result))
    found_problems = isinstance(result, dict) and bool(result.get("problems"))
    return EXIT_FAILED if found_problems else 0


def refuse_missing_store(folder: Path) -> None:
    """Tell that there is nothing to read, rather than make an empty store at a mistyped place."""
    if not (folder / DATABASE_FILE).exists():
        raise NotFound(
            f"There is no memory in {folder}. Check --data and MEMOLITH_DATA, or begin one with "
            "`memolith remember TEXT`.",
            field="data",
        )


def complete_ids(app: App, options: Options) -> None:
    """Put whole ids where the beginning of one was typed."""
    if not options.item_ids:
        return
    # Commands without items need no store.
    from memolith.doors.cli.item_ids import whole_id

    for name in options.item_ids:
        setattr(options, name, whole_id(app, getattr(options, name)))


def shown(app: App, options: Options, result: object) -> object:
    """The result as it is printed: whole for programs, with short ids for people."""
    if options.json or not options.shows_items:
        return result
    # Commands without items need no store.
    from memolith.doors.cli.item_ids import with_short_ids

    return with_short_ids(app, result)


def failure_of(error: OSError) -> MemolithError:
    """What an error of the file system means outside the data folder."""
    if error.errno in FULL_DISK:
        return DiskFull()
    return Unavailable(f"{error.filename or 'A file'} cannot be used: {error.strerror}.")


def report_failure(options: Options, failure: MemolithError) -> int:
    if options.json:
        # A failure while arguments are parsed may come before anything of tools is imported.
        from memolith.tools.dialect import PLAIN

        note(json.dumps(PLAIN.failure(failure), ensure_ascii=False))
    else:
        field = f" ({failure.field})" if failure.field else ""
        note(f"{styled('memolith:', RED, sys.stderr)} {failure.message}{field}")
    return EXIT_BAD_INPUT if failure.status == 400 else EXIT_FAILED
