"""The command line: nouns and verbs, tables for people, `--json` for programs."""

from __future__ import annotations

import argparse
import errno
import json
import os
import sys

from memolith import __version__
from memolith.app import App
from memolith.doors import cli_care, cli_items, cli_server, install
from memolith.doors.cli_items import TOOLS, tool_options
from memolith.doors.commands import DATA, JSON, end_bars, note, start_logging, tell
from memolith.errors import DiskFull, MemolithError, Unavailable
from memolith.registry import PLAIN
from memolith.settings import load


def parser() -> argparse.ArgumentParser:
    """Every command with its options."""
    top = argparse.ArgumentParser(prog="memolith", description="One memory server for AI agents.")
    top.add_argument("--version", action="version", version=f"memolith {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (_, text) in TOOLS.items():
        commands.add_parser(name, help=text, add_help=False)
    for run, options in (cli_items.COMMANDS | cli_care.COMMANDS | cli_server.COMMANDS | install.COMMANDS).items():
        name = run.__name__.rstrip("_").replace("_", "-")
        one = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        one.set_defaults(run=run)
        for names, details in (DATA, JSON, *options):
            one.add_argument(*names, **details)
    commands.add_parser("hook", add_help=False, help="Answer a hook of a coding agent: session-start, prompt, "
                        "pre-compact or stop, with its JSON on standard input.")
    return top


def run(arguments: list[str]) -> int:
    """Run one command; a failure is told on standard error in plain words."""
    options = argparse.Namespace(json=True)
    try:
        is_tool = bool(arguments) and arguments[0] in TOOLS
        options = tool_options(arguments) if is_tool else parser().parse_args(arguments)
        return command(options)
    except MemolithError as error:
        return fail(error, options.json)
    except KeyboardInterrupt:
        note("Stopped.")
        return 130
    except BrokenPipeError:
        # The reader of our output went away; that is his right, and nothing may be written at the end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        told = Unavailable(f"{error.filename or 'A file'} cannot be used: {error.strerror}.")
        return fail(DiskFull() if error.errno in (errno.ENOSPC, errno.EDQUOT) else told, options.json)
    finally:
        end_bars()


def command(options: argparse.Namespace) -> int:
    """Run what was asked for, with an app that it may use."""
    settings = load({name: getattr(options, name, None) for name in ("data", "repo", "host", "port")})
    start_logging(settings.log_level)
    app = App(settings)
    try:
        if (told := options.run(app, options)) is not None:
            tell(options, told)
    finally:
        app.close()
    sys.stdout.flush()
    return 1 if isinstance(told, dict) and told.get("problems") else 0


def fail(error: MemolithError, as_json: bool) -> int:
    """Tell an error and give the exit code that fits it."""
    field = f" ({error.field})" if error.field else ""
    note(json.dumps(PLAIN.failure(error), ensure_ascii=False) if as_json else f"memolith: {error.message}{field}")
    return 2 if error.status == 400 else 1
