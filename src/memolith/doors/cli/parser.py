"""Parses the command line: finds the command, imports its file, parses its options."""

import argparse
from difflib import get_close_matches
from importlib import import_module

from memolith import __version__
from memolith.doors.cli.command import Command, Options, add_data, add_json
from memolith.doors.cli.commands import LISTED_COMMANDS, TOOLS, ListedCommand
from memolith.doors.cli.examples import (
    FIRST_STEPS,
    ExamplesFormatter,
    examples_text,
    listed_examples,
)
from memolith.errors import InvalidInput, NotFound

MAX_SHOWN_CHARACTERS = 60


def parse(arguments: list[str]) -> Options:
    """The options of the command; `options.run` carries it out."""
    for listed in LISTED_COMMANDS:
        if arguments[:1] == [listed.name]:
            return parse_command(listed, arguments[1:])
    if arguments and not arguments[0].startswith("-"):
        raise unknown_command(arguments[0])
    # Help or version, which end the program; whoever types nothing wants help.
    options: Options = top_parser().parse_args(arguments or ["--help"])
    return options


def unknown_command(name: str) -> InvalidInput:
    if is_tool(name):
        return InvalidInput(
            f"{name!r} is a tool and no command of its own: `memolith call {name}` calls it.",
            field="command",
        )
    near = get_close_matches(name, [listed.name for listed in LISTED_COMMANDS], n=1)
    hint = f" Did you mean `memolith {near[0]}`?" if near else ""
    return InvalidInput(
        f"There is no command {name[:MAX_SHOWN_CHARACTERS]!r}.{hint} `memolith --help` lists them.",
        field="command",
    )


def is_tool(name: str) -> bool:
    # The tools take a while to import, which commands need not wait for.
    from memolith.doors.cli.tool_commands import find_tool

    try:
        find_tool(name)
    except NotFound:
        return False
    return True


def parse_command(listed: ListedCommand, arguments: list[str]) -> Options:
    if listed.module == TOOLS:
        # The options of a tool come from its schema.
        from memolith.doors.cli.tool_commands import tool_options

        return tool_options(listed.name, arguments)
    options: Options = command_parser(listed).parse_args(arguments)
    return options


def top_parser() -> argparse.ArgumentParser:
    """Knows the names of the commands and their help, and none of their options."""
    parser = argparse.ArgumentParser(
        prog="memolith",
        description="One memory server for AI agents.",
        epilog=listed_examples(FIRST_STEPS),
        formatter_class=ExamplesFormatter,
    )
    parser.add_argument("--version", action="version", version=f"memolith {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for listed in LISTED_COMMANDS:
        commands.add_parser(listed.name, help=listed.help, add_help=False)
    return parser


def command_parser(listed: ListedCommand) -> argparse.ArgumentParser:
    """The parser of a command that is not a tool."""
    command = find_command(listed)
    parser = argparse.ArgumentParser(
        prog=f"memolith {listed.name}",
        description=listed.help,
        epilog=examples_text(listed.name),
        formatter_class=ExamplesFormatter,
    )
    parser.set_defaults(
        run=command.run,
        command=listed.name,
        reads_only=command.reads_only,
        item_ids=command.item_ids,
        shows_items=command.shows_items,
    )
    add_data(parser)
    add_json(parser)
    command.add_options(parser)
    return parser


def find_command(listed: ListedCommand) -> Command:
    commands: tuple[Command, ...] = import_module(listed.module).COMMANDS
    for command in commands:
        if command.name == listed.name:
            return command
    raise LookupError(f"{listed.module} has no command {listed.name!r}")
