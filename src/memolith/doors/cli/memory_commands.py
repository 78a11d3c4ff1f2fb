"""The command line, and the commands about what is remembered; most are tools, as through every other door."""

import argparse
import errno
import json
import logging
import os
import sys
from contextlib import closing
from typing import Any

from memolith import __version__
from memolith.bootstrap import App, families
from memolith.domain.blocks import block_data
from memolith.domain.callers import Caller
from memolith.domain.queries import Filter
from memolith.doors.cli import server_commands as cli_server
from memolith.doors.cli.parser import (
    DATA,
    JSON,
    REPO,
    YES,
    Commands,
    Options,
    confirm,
    into,
    note,
    option,
    out,
    tell,
)
from memolith.doors.install import clients as install
from memolith.engine.graph.drawing import FORMATS, draw
from memolith.engine.graph.walking import Traversal
from memolith.engine.validation import json_object
from memolith.errors import DiskFull, InvalidInput, MemolithError, NotFound, Unavailable
from memolith.settings import load
from memolith.tools.call import Call
from memolith.tools.dialect import PLAIN
from memolith.tools.registry import Registry

ME = Caller()
COMMANDS: Commands = {}
# Said here once more, because the families cost more to import than most commands to run.
TOOLS = {
    "remember": ("remember", "Keep a text."),
    "recall": ("recall", "Find what was remembered, by words and by meaning."),
    "context": ("context", "The best passages within a budget of tokens, with their sources."),
    "history": ("history", "What happened to an item."),
    "revise": ("revise", "Change an item."),
    "forget": ("forget", "Forget an item; it can be restored."),
    "restore": ("restore", "Bring a forgotten item back."),
    "undo": ("undo_event", "Take one event back by its number."),
    "erase": ("erase_item", "Remove every byte of an item for good."),
    "call": ("", "Call a tool: memolith call TOOL --json '{…}', or a flag per argument."),
}
OBJECT = option("--json", dest="object", metavar="OBJECT", help="all arguments as one JSON object")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="memolith", description="One memory server for AI agents.")
    top.add_argument("--version", action="version", version=f"memolith {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (_, text) in TOOLS.items():
        commands.add_parser(name, help=text, add_help=False)
    for run, options in (COMMANDS | cli_server.COMMANDS | install.COMMANDS).items():
        name = run.__name__.rstrip("_").replace("_", "-")
        one = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        one.set_defaults(run=run)
        for names, details in (DATA, JSON, *options):
            one.add_argument(*names, **details)
    commands.add_parser(
        "hook",
        add_help=False,
        help="Answer a hook of a coding agent: session-start, prompt, "
        "pre-compact or stop, with its JSON on standard input.",
    )
    return top


def run(arguments: list[str]) -> int:
    """Run one command; a failure is told on standard error in plain words."""
    options = argparse.Namespace(json=True)
    try:
        options = (
            tool_options(arguments)
            if arguments and arguments[0] in TOOLS
            else parser().parse_args(arguments)
        )
        return command(options)
    except MemolithError as error:
        failure = error
    except KeyboardInterrupt:
        note("Stopped.")
        return 130
    except BrokenPipeError:
        # The reader of our output went away; that is his right, and nothing may be written at the end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        told = Unavailable(f"{error.filename or 'A file'} cannot be used: {error.strerror}.")
        failure = DiskFull() if error.errno in (errno.ENOSPC, errno.EDQUOT) else told
    field = f" ({failure.field})" if failure.field else ""
    note(
        json.dumps(PLAIN.failure(failure), ensure_ascii=False)
        if options.json
        else f"memolith: {failure.message}{field}"
    )
    return 2 if failure.status == 400 else 1


def command(options: argparse.Namespace) -> int:
    settings = load(
        {name: getattr(options, name, None) for name in ("data", "repo", "host", "port")}
    )
    # Only our own words: libraries that log whole answers would write people's memories into the log.
    logging.basicConfig(
        stream=sys.stderr, level="WARNING", format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    logging.getLogger("memolith").setLevel(settings.log_level.upper())
    with closing(App(settings)) as app:
        if (told := options.run(app, options)) is not None:
            tell(options, told)
    return 1 if isinstance(told, dict) and told.get("problems") else 0


def tool_parser(command: str, tool_name: str) -> argparse.ArgumentParser:
    """A flag for each argument of the tool; of a command of its own, what is required needs none."""
    if (tool := Registry(families()).find(tool_name)) is None:
        raise NotFound(
            f"There is no tool {tool_name[:60]!r}; `memolith tools` lists them.", field="tool"
        )
    calling, schema = command == "call", tool.input_schema
    made = argparse.ArgumentParser(
        prog=f"memolith {command}" + f" {tool_name}" * calling, description=tool.description
    )
    made.set_defaults(
        run=run_tool, command=command, tool=tool_name, schema=schema, json=calling, object=None
    )
    for names, details in (
        DATA,
        REPO,
        OBJECT if calling else JSON,
        *([YES] if command == "erase" else []),
    ):
        made.add_argument(*names, **details)
    for name, entry in schema["properties"].items():
        # What the tool wants to be told, and a person need not say.
        assumed = "1000" if name == "budget_tokens" and not calling else None
        bare = not calling and not assumed and name in schema.get("required", ())
        made.add_argument(
            *([] if bare else [f"--{name.replace('_', '-')}"]),
            dest=f"argument {name}",
            default=assumed,
            action="append" if entry.get("type") == "array" else "store",
            help=entry.get("description"),
            metavar=name if bare else entry.get("type", "json"),
        )
    return made


def tool_options(arguments: list[str]) -> Options:
    command, *rest = arguments
    if command == "call" and (not rest or rest[0].startswith("-")):
        raise InvalidInput("Say which tool to call; `memolith tools` lists them.", field="tool")
    name = TOOLS[command][0] or rest.pop(0)
    options = tool_parser(command, name).parse_args(rest)
    options.given = json_object(options.object, "--json", "json") if options.object else {}
    for argument, schema in options.schema["properties"].items():
        if (text := getattr(options, f"argument {argument}", None)) is not None:
            options.given[argument] = typed(text, schema.get("type"))
    return options


def typed(text: Any, kind: str | None) -> Any:
    """The text of a flag as the schema wants it: `-` is standard input, a list may be written with commas."""
    if kind == "string":
        return sys.stdin.buffer.read().decode("utf-8", errors="replace") if text == "-" else text
    if kind == "array" and not text[0].startswith("["):
        return [part for one in text for part in one.split(",")]
    whole = text[0] if kind == "array" else text
    try:
        return json.loads(whole)
    except (ValueError, RecursionError):
        return whole


def run_tool(app: App, options: Options) -> object:
    """What the tool gives to the local user; `call` prints it byte for byte, and an error as its family words it."""
    if options.command == "erase":
        confirm(options, f"Erase {options.given['id']} for good?")
    outcome = app.registry.run(options.tool, options.given, Call(ME, app.engine, local=True))
    if options.command == "call":
        (out if outcome.ok else note)(outcome.text)
        return None if outcome.ok else sys.exit(1)
    if outcome.error:
        raise outcome.error
    return outcome.body


@into(
    COMMANDS,
    option("text", help="the text, or `-` for standard input"),
    option("--threshold", type=float, default=0.9),
)
def similar(app: App, options: Options) -> object:
    """Find items that say nearly the same as a text."""
    return [
        {
            "similarity": round(same.similarity, 3),
            "id": same.id,
            "exact": same.exact,
            "title": same.title,
        }
        for same in app.engine.recall.similar(ME, typed(options.text, "string"), options.threshold)
    ]


@into(
    COMMANDS,
    *(
        option(f"--{one}", nargs="+", action="extend", default=[])
        for one in ("kinds", "tags", "projects")
    ),
    option("--since", metavar="TIME"),
    option("--until", metavar="TIME"),
    option("--limit", type=int, default=10),
    option("--offset", type=int, default=0),
    option("--forgotten", action="store_true", help="what was forgotten"),
)
def list_(app: App, options: Options) -> object:
    """List what was remembered, newest first."""
    chosen = Filter(
        kinds=tuple(options.kinds),
        tags_all=tuple(options.tags),
        projects=tuple(options.projects),
        since=options.since,
        until=options.until,
        forgotten=options.forgotten,
    )
    page = app.engine.reading.list_items(ME, chosen, limit=options.limit, offset=options.offset)
    whole = app.engine.reading.read_many(ME, [item.id for item in page.items], forgotten=True)
    return {
        "items": [
            {
                "id": item.id,
                "kind": item.kind,
                "tags": list(item.tags),
                "title": item.title or " ".join(block.text[:80] for block in blocks[:1]),
                "created_at": item.created_at,
            }
            for item, blocks in whole
        ],
        "total": page.total,
    }


@into(COMMANDS, option("id"), option("--as-of", metavar="TIME", help="as it was at that time"))
def show(app: App, options: Options) -> object:
    """Show an item."""
    if options.as_of:
        item, blocks = app.engine.history.as_of(ME, options.id, options.as_of)
    else:
        item, blocks = app.engine.reading.read(ME, options.id, forgotten=True)
        app.engine.reading.note_access(ME, item.id)
    return {
        "id": item.id,
        "kind": item.kind,
        "title": item.title,
        "status": item.status,
        "tags": list(item.tags),
        "metadata": dict(item.attributes),
        "owner": item.owner,
        "audience": item.audience,
        "project": item.project,
        "namespace": item.namespace,
        "version": item.version,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "forgotten": item.forgotten,
        "blocks": [*map(block_data, blocks)],
    }


@into(
    COMMANDS,
    option("id", metavar="CONCEPT", help="its id, or the exact name of a concept"),
    option("--format", default="mermaid", choices=FORMATS),
    option("--depth", type=int, default=1, help="how many links to follow"),
)
def graph(app: App, options: Options) -> object:
    """Draw what is linked to a concept or any other item."""
    concept = app.engine.concepts.named(ME, options.id)
    around = app.engine.graph.explore(
        ME, concept.id if concept else options.id, Traversal(options.depth)
    )
    picture = draw(around, options.format)
    return {"format": options.format, "content": picture} if options.json else picture.rstrip()
