"""Runs one command of `memolith`: parses it, opens the app, prints the result or the failure."""

import argparse
import json
import logging
import os
import sys
from contextlib import closing

from memolith.doors.cli.command import Options
from memolith.doors.cli.output import note, print_result
from memolith.doors.cli.parser import parse
from memolith.errors import FULL_DISK, DiskFull, MemolithError, Unavailable

SETTING_FLAGS = ("data", "repo", "host", "port")
"""The flags that are settings too."""

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


def run(arguments: list[str]) -> int:
    """Run one command and return its exit status; a failure is told on standard error."""
    # Until the arguments are parsed nobody knows whether people or a program are reading.
    options = argparse.Namespace(json=True)
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
    configure_logging(settings.log_level)
    with closing(App(settings)) as app:
        result = options.run(app, options)
        if result is not None:
            print_result(options, result)
    found_problems = isinstance(result, dict) and bool(result.get("problems"))
    return EXIT_FAILED if found_problems else 0


def configure_logging(level: str) -> None:
    logging.basicConfig(
        stream=sys.stderr, level="WARNING", format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    # Only our own messages: libraries that log whole answers would log people's memories.
    logging.getLogger("memolith").setLevel(level.upper())


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
    elif failure.field:
        note(f"memolith: {failure.message} ({failure.field})")
    else:
        note(f"memolith: {failure.message}")
    return EXIT_BAD_INPUT if failure.status == 400 else EXIT_FAILED
