"""Commands that serve, and that call tools as a client would."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from memolith.app import App, families, open_app, wait_for_app
from memolith.doors.commands import Command, Options, into, option
from memolith.doors.show import note, out, table, tell
from memolith.engine.intake import json_object, when
from memolith.engine.model import Caller
from memolith.errors import InvalidInput, NotFound
from memolith.registry import Call, Registry, Tool
from memolith.settings import load

COMMANDS: list[Command] = []
READ_ONLY = option("--read-only", action="store_true", help="hide and refuse every writing tool")


@into(COMMANDS, option("--host", help="the address to bind to (127.0.0.1)"),
      option("--port", type=int, help="the port (8724); 0 takes a free one"), READ_ONLY,
      option("--conformance", action="store_true", help="offer /conformance for the official MCP suite"), bare=True)
def serve(_: None, options: Options) -> None:
    """Serve MCP and REST over HTTP."""
    # The server's parts cost half a second to import, and no other command needs them.
    from memolith.doors.auth import local_key
    from memolith.doors.serve import listen, run
    app = wait_for_app(load({"data": options.data, "host": options.host, "port": options.port}))
    try:
        listener = listen(app.settings.host, app.settings.port)
        key = local_key(app.settings.data, app.keys, app.clock.now())
        host, port = listener.getsockname()[:2]
        url = f"http://{'[' + host + ']' if ':' in host else host}:{port}"
        run(app, listener, lambda: _announce(url, key, app.settings.data, options), read_only=options.read_only,
            conformance=options.conformance)
    finally:
        app.close()


def _announce(url: str, key: str, data: Path, options: Options) -> None:
    if options.json:
        out(json.dumps({"url": url, "key_file": str(data / "local.key")}))
        sys.stdout.flush()
        return
    out(f"memolith serves {data}")
    out(f"  MCP    {url}/mcp   (also {url}/mcp/core and one path per family)")
    out(f"  REST   {url}/mcp/tools/NAME   pages: {url}/docs")
    out(f"  key    {key}")
    out("\nPaste into a client, for example:")
    out(f'  claude mcp add --transport http memolith {url}/mcp --header "Authorization: Bearer {key}"')
    out("or let `memolith install CLIENT` write the configuration. Stop with Ctrl-C.")
    sys.stdout.flush()


@into(COMMANDS, option("--tools", default="all", help="all, families or tools by name, separated by commas"),
      READ_ONLY, option("--connect", nargs="?", const="", metavar="URL", help="be a thin client of the server at this "
                        "address (or SEKHA_API_URL), with the key in SEKHA_API_KEY"), bare=True)
def stdio(_: None, options: Options) -> None:
    """Serve MCP over standard input and output."""
    if options.connect is not None:
        from memolith.doors.stdio_remote import connect  # another way altogether
        connect(options.connect, options.tools, options.read_only)
        return
    # The quick front imports next to nothing; the rest follows when it is needed.
    from memolith.doors.stdio_front import serve as serve_stdio
    Registry(families()).choose(options.tools, read_only=options.read_only)
    serve_stdio(lambda: App(load({"data": options.data}), background=True), options.tools, read_only=options.read_only)


def cost(tool: Tool) -> int:
    """About how many tokens a model spends on seeing the tool."""
    seen = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    return len(json.dumps(seen, separators=(",", ":"))) // 4


@into(COMMANDS, bare=True)
def tools(_: None, options: Options) -> None:
    """List families, tools and what each costs a model to see."""
    head = ("family", "tool", "effect", "tokens", "description")
    rows = [(tool.family, tool.name, "reads" if tool.read_only else tool.effect, cost(tool), tool.description)
            for family in families() for tool in family.tools]
    profiles = {name: Registry(families()).choose(name).tools
                for name in ["all", *(family.name for family in families() if family.listed_over_mcp)]}
    tell(options, [dict(zip(head, row, strict=True)) for row in rows],
         *table((*head[:4], "what it does"), [(*row[:3], str(row[3]), row[4]) for row in rows]), "",
         *(f"--tools {name:12} {len(chosen):3} tools, about {sum(map(cost, chosen)):,} tokens"
           for name, chosen in profiles.items()))


@into(COMMANDS, option("action", choices=["create", "list", "revoke"]),
      option("name", nargs="?", default="", help="a name for a new key, or the id of one to revoke"),
      option("--user", default="local"), option("--tenant", default="local"),
      option("--scope", action="append", dest="scopes", help="read, write, admin, run (read and write)"),
      option("--expires", metavar="TIME"))
def keys(app: App, options: Options) -> None:
    """Make, list and revoke the keys of HTTP clients."""
    # The access layer brings the HTTP parts with it.
    from memolith.doors.auth import make_key
    if options.action == "create":
        expires = when("expires", options.expires) if options.expires else None
        secret, record = make_key(app.keys, app.clock.now(), options.name or "key", options.user, options.tenant,
                                  options.scopes or ["read", "write"], expires)
        tell(options, {"id": record.id, "key": secret, "scopes": list(record.scopes)}, secret, "",
             aside="This is shown once; only its hash is kept.")
    elif options.action == "revoke":
        if not app.keys.revoke(options.name):
            raise NotFound("There is no such key; `memolith keys list` shows them.", field="name")
        tell(options, {"revoked": options.name}, f"Revoked {options.name}.")
    else:
        found = [(key.id, key.name, key.tenant, key.user, ",".join(key.scopes), key.expires_at or "never",
                  key.last_used or "never", "revoked" if key.revoked else "valid") for key in app.keys.all()]
        head = ("id", "name", "tenant", "user", "scopes", "expires", "last used", "state")
        tell(options, [dict(zip(head, row, strict=True)) for row in found], *table(head, found))


def call_parser(name: str) -> tuple[Tool, argparse.ArgumentParser]:
    """A parser with a flag for each argument of the tool."""
    tool = Registry(families()).find(name)
    if tool is None:
        raise NotFound(f"There is no tool {name[:60]!r}; `memolith tools` lists them.", field="tool")
    parser = argparse.ArgumentParser(prog=f"memolith call {name}", description=tool.description)
    parser.add_argument("--data", metavar="DIR", type=Path)
    parser.add_argument("--json", dest="object", metavar="OBJECT", help="all arguments as one JSON object")
    for argument, schema in tool.input_schema["properties"].items():
        if argument not in ("data", "json"):
            parser.add_argument(f"--{argument.replace('_', '-')}", dest=f"argument {argument}",
                                help=schema.get("description"), metavar=schema.get("type", "json"))
    return tool, parser


def call(arguments: list[str]) -> int:
    """Run one tool as the local user: the result on standard output, an error on standard error."""
    if not arguments or arguments[0].startswith("-"):
        raise InvalidInput("Say which tool to call; `memolith tools` lists them.", field="tool")
    tool, parser = call_parser(arguments[0])
    options = parser.parse_args(arguments[1:])
    given = json_object(options.object, "--json", "json") if options.object else {}
    for name, value in vars(options).items():
        if name.startswith("argument ") and value is not None:
            argument = name.removeprefix("argument ")
            given[argument] = _typed(value, tool.input_schema["properties"][argument])
    app = open_app(load({"data": options.data}))
    try:
        outcome = app.registry.run(tool.name, given, Call(Caller(), app.engine))
    finally:
        app.close()
    out(outcome.text) if outcome.ok else note(outcome.text)
    return 0 if outcome.ok else 1


def _typed(text: str, schema: dict[str, Any]) -> Any:
    """The text of a flag as the schema wants it; lists may be written with commas."""
    kind = schema.get("type")
    if kind == "string":
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text.split(",") if kind == "array" else text
