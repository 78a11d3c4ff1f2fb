"""The parser of the command line, made from the tables of commands."""

import argparse

from memolith import __version__
from memolith.doors.cli import files, keys, maintenance, memories, server, tenants, transfer
from memolith.doors.cli.command import Command, add_data, add_json
from memolith.doors.cli.tool_commands import TOOL_COMMANDS
from memolith.doors.install import commands as install

COMMANDS: tuple[Command, ...] = (
    *memories.COMMANDS,
    *maintenance.COMMANDS,
    *keys.COMMANDS,
    *transfer.COMMANDS,
    *files.COMMANDS,
    *server.COMMANDS,
    *tenants.COMMANDS,
    *install.COMMANDS,
)
"""Every command that is not a tool, in the order of the help."""

HOOK_HELP = (
    "Answer a hook of a coding agent: session-start, prompt, pre-compact or stop, with its JSON on "
    "standard input."
)


def parser() -> argparse.ArgumentParser:
    """The parser of every command; the options of tools are parsed by `tool_commands`."""
    top = argparse.ArgumentParser(prog="memolith", description="One memory server for AI agents.")
    top.add_argument("--version", action="version", version=f"memolith {__version__}")
    subparsers = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, tool_command in TOOL_COMMANDS.items():
        subparsers.add_parser(name, help=tool_command.help, add_help=False)
    for command in COMMANDS:
        subparser = subparsers.add_parser(command.name, help=command.help)
        add_command(subparser, command)
    # `memolith hook` has a start of its own and is listed here for the help only.
    subparsers.add_parser("hook", add_help=False, help=HOOK_HELP)
    return top


def command_parser(command: Command) -> argparse.ArgumentParser:
    """The parser of one command alone, for its help."""
    alone = argparse.ArgumentParser(prog=f"memolith {command.name}")
    add_command(alone, command)
    return alone


def add_command(subparser: argparse.ArgumentParser, command: Command) -> None:
    subparser.description = command.help
    subparser.set_defaults(run=command.run)
    add_data(subparser)
    add_json(subparser)
    command.add_options(subparser)
