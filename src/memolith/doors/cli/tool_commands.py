"""The commands that are tools: `memolith remember`, `memolith call TOOL` and the like.

Their options come from the schema of the tool: one flag per argument. For the commands of their own
what is required needs no flag.
"""

import argparse
import json
import sys
from typing import Any

from memolith.bootstrap import App, families
from memolith.domain.callers import Caller
from memolith.doors.cli.command import Options, add_data, add_json, add_repo, add_yes
from memolith.doors.cli.output import confirm, note, out
from memolith.doors.cli.standard_input import text_or_input
from memolith.engine.validation import json_object
from memolith.errors import InvalidInput, NotFound
from memolith.tools.call import Call
from memolith.tools.family import Tool
from memolith.tools.registry import Registry

ME = Caller()
CALL = "call"
DESTINATION = "argument {}"
"""Where the parser puts an argument of the tool; no option of ours has a space in its name."""

DEFAULTS = {"budget_tokens": "1000"}
"""What the tool requires but a person need not say."""


TOOL_OF_COMMAND = {
    "remember": "remember",
    "recall": "recall",
    "context": "context",
    "history": "history",
    "revise": "revise",
    "forget": "forget",
    "restore": "restore",
    "undo": "undo_event",
    "erase": "erase_item",
}
"""The tool that a command calls; `call` names it in its first argument."""


def tool_options(command: str, arguments: list[str]) -> Options:
    """Parse a command of this file; `options.arguments` are the arguments of the tool."""
    if command == CALL:
        if not arguments or arguments[0].startswith("-"):
            raise InvalidInput("Say which tool to call; `memolith tools` lists them.", field="tool")
        tool_name, *arguments = arguments
    else:
        tool_name = TOOL_OF_COMMAND[command]
    tool = find_tool(tool_name)
    options: Options = tool_parser(command, tool).parse_args(arguments)
    options.run = run_tool
    options.command = command
    options.tool = tool_name
    options.arguments = {}
    if command == CALL:
        # `--json` gives the arguments here, and the answer is JSON anyway.
        options.json = True
        if options.object:
            options.arguments = json_object(options.object, "--json", "json")
    for name, schema in tool.input_schema["properties"].items():
        text = getattr(options, DESTINATION.format(name), None)
        if text is not None:
            options.arguments[name] = parsed(text, schema.get("type"))
    return options


def find_tool(name: str) -> Tool:
    tool = Registry(families()).find(name)
    if tool is None:
        raise NotFound(
            f"There is no tool {name[:60]!r}; `memolith tools` lists them.", field="tool"
        )
    return tool


def tool_parser(command: str, tool: Tool) -> argparse.ArgumentParser:
    """The parser of a command that calls this tool."""
    program = f"memolith {command}"
    if command == CALL:
        program += f" {tool.name}"
    parser = argparse.ArgumentParser(prog=program, description=tool.description)
    add_data(parser)
    add_repo(parser)
    if command == CALL:
        parser.add_argument(
            "--json", dest="object", metavar="OBJECT", help="all arguments as one JSON object"
        )
    else:
        add_json(parser)
    if command == "erase":
        add_yes(parser)
    for name, schema in tool.input_schema["properties"].items():
        is_required = name in tool.input_schema.get("required", ())
        if command == CALL:
            add_flag(parser, name, schema, default=None)
        elif name in DEFAULTS:
            add_flag(parser, name, schema, default=DEFAULTS[name])
        elif is_required:
            add_positional(parser, name, schema)
        else:
            add_flag(parser, name, schema, default=None)
    return parser


def add_flag(
    parser: argparse.ArgumentParser, name: str, schema: dict[str, Any], default: str | None
) -> None:
    parser.add_argument(
        f"--{name.replace('_', '-')}",
        dest=DESTINATION.format(name),
        default=default,
        action="append" if schema.get("type") == "array" else "store",
        help=schema.get("description"),
        metavar=schema.get("type", "json"),
    )


def add_positional(parser: argparse.ArgumentParser, name: str, schema: dict[str, Any]) -> None:
    parser.add_argument(
        DESTINATION.format(name),
        action="append" if schema.get("type") == "array" else "store",
        help=schema.get("description"),
        metavar=name,
    )


def parsed(text: str | list[str], kind: str | None) -> object:
    """What was typed, as the schema wants it; the tool refuses what does not fit."""
    if isinstance(text, list):
        return parsed_list(text)
    if kind == "string":
        return text_or_input(text)
    return json_or_text(text)


def parsed_list(texts: list[str]) -> object:
    """A list: one JSON array, or words that are repeated or separated by commas."""
    if texts[0].startswith("["):
        return json_or_text(texts[0])
    words = []
    for text in texts:
        words += text.split(",")
    return words


def json_or_text(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def run_tool(app: App, options: Options) -> object:
    """Call the tool as the local user. `call` prints the very text that a client would get."""
    if options.command == "erase":
        confirm(options, f"Erase {options.arguments['id']} for good?")
    call = Call(ME, app.engine, local=True)
    outcome = app.registry.run(options.tool, options.arguments, call)
    if options.command == CALL:
        if not outcome.ok:
            note(outcome.text)
            sys.exit(1)
        out(outcome.text)
        return None
    if outcome.error:
        raise outcome.error
    return outcome.body
