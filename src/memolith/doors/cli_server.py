"""Commands that serve, and that call tools as a client would."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memolith.app import App, families, open_app
from memolith.doors.show import as_json, note, out, table
from memolith.engine.intake import when
from memolith.engine.model import Caller
from memolith.errors import InvalidInput, NotFound
from memolith.registry import Call, Registry, Tool
from memolith.settings import load

Options = argparse.Namespace
Add = Callable[[str, Callable[[App, Options], int], str], argparse.ArgumentParser]


def add_commands(add: Add) -> None:
    """Put the commands of this file on the parser."""
    command = add("serve", serve, "Serve MCP and REST over HTTP.")
    command.add_argument("--host", help="the address to bind to (127.0.0.1)")
    command.add_argument("--port", type=int, help="the port (8724); 0 takes a free one")
    command.add_argument("--read-only", action="store_true", help="hide and refuse every writing tool")
    command.add_argument("--conformance", action="store_true", help="offer /conformance for the official MCP suite")
    command.set_defaults(bare=True)
    command = add("stdio", stdio, "Serve MCP over standard input and output.")
    command.add_argument("--tools", default="all", help="all, families or tools by name, separated by commas")
    command.add_argument("--read-only", action="store_true", help="hide and refuse every writing tool")
    command.set_defaults(bare=True)
    add("tools", tools, "List families, tools and what each costs a model to see.").set_defaults(bare=True)
    command = add("keys", keys, "Make, list and revoke the keys of HTTP clients.")
    command.add_argument("action", choices=["create", "list", "revoke"])
    command.add_argument("name", nargs="?", default="", help="a name for a new key, or the id of one to revoke")
    command.add_argument("--user", default="local")
    command.add_argument("--tenant", default="local")
    command.add_argument("--scope", action="append", dest="scopes", help="read, write, admin, run (read and write)")
    command.add_argument("--expires", metavar="TIME")


def serve(_: App, options: Options) -> int:
    """Serve over HTTP until stopped."""
    # The server's parts cost half a second to import, and no other command needs them.
    from memolith.doors.auth import local_key
    from memolith.doors.serve import listen, run
    app = open_app(load({"data": options.data, "host": options.host, "port": options.port}))
    try:
        listener = listen(app.settings.host, app.settings.port)
        key = local_key(app.settings.data, app.keys, app.clock.now())
        host, port = listener.getsockname()[:2]
        url = f"http://{'[' + host + ']' if ':' in host else host}:{port}"
        run(app, listener, lambda: _announce(url, key, app.settings.data, options), read_only=options.read_only,
            conformance=options.conformance)
    finally:
        app.close()
    return 0


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


def stdio(_: App, options: Options) -> int:
    """Serve over standard input and output."""
    # The quick front imports next to nothing; the rest follows when it is needed.
    from memolith.doors.stdio_front import serve as serve_stdio
    Registry(families()).choose(options.tools, read_only=options.read_only)
    serve_stdio(lambda: App(load({"data": options.data}), background=True), options.tools, read_only=options.read_only)
    return 0


def cost(tool: Tool) -> int:
    """About how many tokens a model spends on seeing the tool."""
    seen = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    return len(json.dumps(seen, separators=(",", ":"))) // 4


def tools(_: App, options: Options) -> int:
    """List what there is."""
    rows = [(tool.family, tool.name, "reads" if tool.read_only else tool.effect, cost(tool), tool.description)
            for family in families() for tool in family.tools]
    if options.json:
        as_json([dict(zip(("family", "tool", "effect", "tokens", "description"), row, strict=True)) for row in rows])
        return 0
    table(("family", "tool", "effect", "tokens", "what it does"), [(*row[:3], str(row[3]), row[4]) for row in rows])
    out()
    for name in ["all", *(family.name for family in families() if family.listed_over_mcp)]:
        chosen = Registry(families()).choose(name)
        out(f"--tools {name:12} {len(chosen.tools):3} tools, about {sum(map(cost, chosen.tools)):,} tokens")
    return 0


def keys(app: App, options: Options) -> int:
    """Make, list and revoke keys."""
    # The access layer brings the HTTP parts with it.
    from memolith.doors.auth import make_key
    if options.action == "create":
        expires = when("expires", options.expires) if options.expires else None
        secret, record = make_key(app.keys, app.clock.now(), options.name or "key", options.user, options.tenant,
                                  options.scopes or ["read", "write"], expires)
        if options.json:
            as_json({"id": record.id, "key": secret, "scopes": list(record.scopes)})
        else:
            out(f"{secret}\n")
            note("This is shown once; only its hash is kept.")
    elif options.action == "revoke":
        if not app.keys.revoke(options.name):
            raise NotFound("There is no such key; `memolith keys list` shows them.", field="name")
        as_json({"revoked": options.name}) if options.json else out(f"Revoked {options.name}.")
    else:
        _list_keys(app, options)
    return 0


def _list_keys(app: App, options: Options) -> None:
    found = [(key.id, key.name, key.tenant, key.user, ",".join(key.scopes), key.expires_at or "never",
              key.last_used or "never", "revoked" if key.revoked else "valid") for key in app.keys.all()]
    head = ("id", "name", "tenant", "user", "scopes", "expires", "last used", "state")
    if options.json:
        as_json([dict(zip(head, row, strict=True)) for row in found])
    else:
        table(head, found)


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
    given = _object(options.object) if options.object else {}
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


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("--json is not JSON.", field="json") from error
    if not isinstance(value, dict):
        raise InvalidInput("--json must be an object.", field="json")
    return value


def _typed(text: str, schema: dict[str, Any]) -> Any:
    """The text of a flag as the schema wants it; lists may be written with commas."""
    kind = schema.get("type")
    if kind == "string":
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text.split(",") if kind == "array" else text
