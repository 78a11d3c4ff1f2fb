"""The commands that are tools: `memolith remember`, `memolith call TOOL` and the like.

Their options come from the schema of the tool: one flag per argument. For the commands of their own
what is required needs no flag.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

from memolith.bootstrap import App, families
from memolith.domain.callers import Caller
from memolith.domain.items import KINDS
from memolith.doors.cli.command import (
    Options,
    add_data,
    add_json,
    add_repo,
    add_yes,
    choices_metavar,
    list_flags,
    split_words,
)
from memolith.doors.cli.examples import ExamplesFormatter, examples_text
from memolith.doors.cli.item_ids import whole_ids
from memolith.doors.cli.output import confirm, note, out
from memolith.doors.cli.standard_input import text_or_input
from memolith.doors.cli.times import PAST_TIMES, TIME_FORMS, time_ago
from memolith.engine.validation import json_object
from memolith.errors import InvalidInput, NotFound
from memolith.tools.call import Call
from memolith.tools.family import Tool
from memolith.tools.registry import Registry

ME = Caller()
CALL = "call"
REVISE = "revise"
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

DECIDE_HINT = (
    'on the page "To decide": `memolith up` starts the server, `memolith page` prints a link to it'
)

ARGUMENT_HELP = {
    "as_of": f"as it was at a time {TIME_FORMS}",
    "budget_tokens": "how many tokens the passages may have together (1000)",
    "content": "the text; `-` reads it from standard input",
    "depth": "how many links to follow from the hits; `deep` lets a second network read them",
    "expected_version": "refuse the change if the item has another version by now",
    "id": "the id of an item, or its beginning",
    "idempotency_key": "a key of your own: the same call with it again changes nothing",
    "kind": f"what it is (memory): {', '.join(KINDS)}",
    "kinds": f"only items of these kinds: {', '.join(KINDS)}",
    "limit": "how many hits to return",
    "metadata": 'more fields as a JSON object, like \'{"source": "wiki"}\'',
    "min_score": "leave out hits below this score, from 0 to 1",
    "mode": "search by words and meaning together, or by one of them",
    "offset": "how many hits to skip",
    "project": "the project it belongs to; an empty one for none",
    "query": "what you want to know, in your own words; `-` reads it from standard input",
    "seq": "the number of the event, as `memolith history` shows it",
    "since": f"not before a time {TIME_FORMS}",
    "status": "only items with this status, like active or forgotten",
    "tags": "labels, separated by commas or each with a flag of its own",
    "title": "a short title",
    "until": f"not after a time {TIME_FORMS}",
}
"""What the schema leaves out, because every word there costs a model tokens."""

METAVARS = {
    "as_of": "TIME",
    "content": "TEXT",
    "id": "ITEM",
    "kind": "KIND",
    "kinds": "KIND",
    "metadata": "OBJECT",
    "project": "PROJECT",
    "query": "QUESTION",
    "seq": "EVENT",
    "since": "TIME",
    "source": "ITEM",
    "tags": "TAG",
    "target": "ITEM",
    "until": "TIME",
}
"""What the value of an argument is called in the help; `completion.py` knows some of them."""

METAVARS_OF_TYPES = {
    "string": "TEXT",
    "integer": "NUMBER",
    "number": "NUMBER",
    "array": "A,B",
    "object": "OBJECT",
    "boolean": "{true,false}",
}

OLD_ARGUMENTS_FLAG = (
    "--json OBJECT is the old name of --arguments OBJECT and will go away; --json alone prints "
    "JSON."
)


def tool_options(command: str, arguments: list[str]) -> Options:
    """Parse a command of this file; `options.arguments` are the arguments of the tool."""
    if command == CALL:
        if arguments in (["-h"], ["--help"]):
            call_parser().parse_args(arguments)
        if not arguments or arguments[0].startswith("-"):
            raise InvalidInput("Say which tool to call; `memolith tools` lists them.", field="tool")
        tool_name, *arguments = arguments
    else:
        tool_name = TOOL_OF_COMMAND[command]
    tool = find_tool(tool_name)
    options: Options = tool_parser(command, tool).parse_args(arguments)
    options.run = run_tool
    options.reads_only = lambda _: tool.read_only
    options.item_ids = ()
    options.shows_items = True
    options.command = command
    options.tool = tool_name
    options.arguments = object_argument(options) if command == CALL else {}
    for name, schema in tool.input_schema["properties"].items():
        text = getattr(options, DESTINATION.format(name), None)
        if text is not None:
            options.arguments[name] = parsed(name, text, schema.get("type"))
    if command == REVISE and options.new_text is not None:
        if "content" in options.arguments:
            raise InvalidInput("Give the new text once: as TEXT or as --content.", field="content")
        options.arguments["content"] = parsed("content", options.new_text, "string")
    return options


def object_argument(options: Options) -> dict[str, Any]:
    """What `--arguments` gives, or `--json` in its old meaning."""
    if isinstance(options.json, str):
        note(OLD_ARGUMENTS_FLAG)
        if options.object is None:
            options.object = options.json
    options.json = options.json is True
    if options.object is None:
        return {}
    return dict(json_object(text_or_input(options.object), "--arguments", "arguments"))


def find_tool(name: str) -> Tool:
    tool = Registry(families()).find(name)
    if tool is None:
        raise NotFound(
            f"There is no tool {name[:60]!r}; `memolith tools` lists them.", field="tool"
        )
    return tool


def call_parser() -> argparse.ArgumentParser:
    """The parser that shows the help of `call` without a tool."""
    parser = argparse.ArgumentParser(
        prog="memolith call",
        usage="memolith call TOOL [--arguments OBJECT] [--NAME VALUE ...] [--json]",
        description="Call any tool. `memolith tools` lists them; `memolith call TOOL --help` shows "
        "the arguments of one.",
        epilog=examples_text(CALL),
        formatter_class=ExamplesFormatter,
    )
    parser.add_argument("tool", metavar="TOOL", help="the name of a tool")
    add_data(parser)
    add_repo(parser)
    add_call_options(parser)
    return parser


def add_call_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--arguments",
        dest="object",
        metavar="OBJECT",
        help="all arguments as one JSON object; `-` reads it from standard input",
    )
    parser.add_argument("--json", nargs="?", const=True, default=False, help="print JSON")


def tool_parser(command: str, tool: Tool) -> argparse.ArgumentParser:
    """The parser of a command that calls this tool."""
    program = f"memolith {command}"
    if command == CALL:
        program += f" {tool.name}"
    parser = argparse.ArgumentParser(
        prog=program,
        description=tool.description,
        epilog=examples_text(command),
        formatter_class=ExamplesFormatter,
    )
    add_data(parser)
    add_repo(parser)
    if command == CALL:
        add_call_options(parser)
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
    if command == REVISE:
        parser.add_argument(
            "new_text", nargs="?", metavar="TEXT", help="the new text; the same as --content"
        )
    return parser


def add_flag(
    parser: argparse.ArgumentParser, name: str, schema: dict[str, Any], default: str | None
) -> None:
    is_list = schema.get("type") == "array"
    flags = list_flags(name) if is_list else [f"--{name.replace('_', '-')}"]
    taken = set(parser._option_string_actions)
    parser.add_argument(
        *[flag for flag in flags if flag not in taken],
        dest=DESTINATION.format(name),
        default=default,
        action="append" if is_list else "store",
        help=help_of(name, schema),
        metavar=metavar_of(name, schema),
    )


def add_positional(parser: argparse.ArgumentParser, name: str, schema: dict[str, Any]) -> None:
    parser.add_argument(
        DESTINATION.format(name),
        action="append" if schema.get("type") == "array" else "store",
        help=help_of(name, schema),
        metavar=metavar_of(name, schema),
    )


def help_of(name: str, schema: dict[str, Any]) -> str | None:
    text: str | None = schema.get("description") or ARGUMENT_HELP.get(name)
    if text is None:
        return None
    # argparse fills in what stands behind a percent sign.
    return text.replace("%", "%%")


def metavar_of(name: str, schema: dict[str, Any]) -> str:
    """The choices of an argument, or what kind of value it takes."""
    choices = schema.get("enum") or schema.get("items", {}).get("enum")
    if choices:
        return choices_metavar(tuple(choice for choice in choices if choice is not None))
    kind = schema.get("type", "json")
    return METAVARS.get(name) or METAVARS_OF_TYPES.get(str(kind), "JSON")


def parsed(name: str, text: str | list[str], kind: str | None) -> object:
    """What was typed, as the schema wants it; the tool refuses what does not fit."""
    if isinstance(text, list):
        return parsed_list(text)
    if name in PAST_TIMES:
        return time_ago(name, text)
    if kind == "string":
        return text_or_input(text)
    return json_or_text(text)


def parsed_list(texts: list[str]) -> object:
    """A list: one JSON array, or words that are repeated or separated by commas."""
    if texts[0].startswith("["):
        return json_or_text(texts[0])
    return split_words(texts)


def json_or_text(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def run_tool(app: App, options: Options) -> object:
    """Call the tool as the local user. `call` prints the very text that a client would get."""
    arguments = whole_ids(app, options.arguments)
    if options.command == "erase":
        confirm(options, f"Erase {arguments['id']} for good?")
    call = Call(ME, app.engine, local=True, in_working_folder=True, door="cli")
    outcome = app.registry.run(options.tool, arguments, call)
    if options.command == CALL and not options.json:
        if not outcome.ok:
            note(outcome.text)
            sys.exit(1)
        out(outcome.text)
        return None
    if outcome.error:
        raise outcome.error
    if options.json:
        return outcome.body
    return with_hint(outcome.body)


def with_hint(body: Mapping[str, Any]) -> dict[str, Any]:
    """A result for people, which says where to decide about what contradicts each other."""
    return {**body, "decide": DECIDE_HINT} if body.get("conflicts") else dict(body)
