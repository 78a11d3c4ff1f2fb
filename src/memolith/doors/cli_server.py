"""Commands that serve, that care for keys and tenants, and that call tools as a client would."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from memolith.app import App, at_address, copy_everything, families, wait_for
from memolith.doors.commands import TENANT, Commands, Options, into, note, option, out, progress, tell, tell_rows
from memolith.engine.intake import json_object, when
from memolith.engine.model import Caller
from memolith.errors import InvalidInput, NotFound
from memolith.registry import Call, Registry, Tool

COMMANDS: Commands = {}
ADDRESS = {"required": True, "metavar": "ADDRESS", "help": "sqlite:FOLDER or postgres:URL"}
REPO = option("--repo", metavar="DIR", help="the git repository that captures belong to (or MEMOLITH_REPO)")
READ_ONLY = option("--read-only", action="store_true", help="hide and refuse every writing tool")


@into(COMMANDS, option("--host", help="the address to bind to (127.0.0.1)"),
      option("--port", type=int, help="the port (8724); 0 takes a free one"), READ_ONLY,
      option("--conformance", action="store_true", help="offer /conformance for the official MCP suite"))
def serve(app: App, options: Options) -> None:
    """Serve MCP and REST over HTTP."""
    # The server's parts cost half a second to import, and no other command needs them.
    from memolith.doors.auth import local_key
    from memolith.doors.serve import listen, run
    wait_for(app)
    listener = listen(app.settings.host, app.settings.port)
    key = local_key(app.settings.data, app.keys, app.clock.now())
    host, port = listener.getsockname()[:2]
    url = f"http://{'[' + host + ']' if ':' in host else host}:{port}"
    run(app, listener, lambda: _announce(url, key, app.settings.data, options), read_only=options.read_only,
        conformance=options.conformance)


def _announce(url: str, key: str, data: Path, options: Options) -> None:
    out(json.dumps({"url": url, "key_file": str(data / "local.key")}) if options.json else f"""memolith serves {data}
  MCP    {url}/mcp   (also {url}/mcp/core and one path per family)
  REST   {url}/mcp/tools/NAME   pages: {url}/docs
  key    {key}

Paste into a client, for example:
  claude mcp add --transport http memolith {url}/mcp --header "Authorization: Bearer {key}"
or let `memolith install CLIENT` write the configuration. Stop with Ctrl-C.""")
    sys.stdout.flush()


@into(COMMANDS, option("--tools", default="all", help="all, families or tools by name, separated by commas"),
      READ_ONLY, REPO, option("--connect", nargs="?", const="", metavar="URL", help="be a thin client of the server at "
                        "this address (or SEKHA_API_URL), with the key in SEKHA_API_KEY"))
def stdio(app: App, options: Options) -> None:
    """Serve MCP over standard input and output."""
    if options.connect is not None:
        from memolith.doors.stdio_remote import connect  # another way altogether
        connect(options.connect, options.tools, options.read_only)
        return
    # The quick front imports next to nothing; the rest follows when it is needed.
    from memolith.doors.stdio_front import serve
    app.registry.choose(options.tools, read_only=options.read_only)
    serve(lambda: App(app.settings, background=True), options.tools, read_only=options.read_only)


def cost(tool: Tool) -> int:
    """About how many tokens a model spends on seeing the tool."""
    seen = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    return len(json.dumps(seen, separators=(",", ":"))) // 4


@into(COMMANDS)
def tools(app: App, options: Options) -> None:
    """List families, tools and what each costs a model to see."""
    rows = [(tool.family, tool.name, "reads" if tool.read_only else tool.effect, cost(tool), tool.description)
            for family in app.registry.families for tool in family.tools]
    profiles = {name: app.registry.choose(name).tools
                for name in ["all", *(family.name for family in app.registry.families if family.listed_over_mcp)]}
    tell_rows(options, ("family", "tool", "effect", "tokens", "description"), rows, "",
              *(f"--tools {name:12} {len(chosen):3} tools, about {sum(map(cost, chosen)):,} tokens"
                for name, chosen in profiles.items()))


@into(COMMANDS, option("action", choices=["create", "list", "revoke"]),
      option("name", nargs="?", default="", help="a name for a new key, or the id of one to revoke"),
      option("--user", default="local"), TENANT,
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
        tell_rows(options, ("id", "name", "tenant", "user", "scopes", "expires", "last used", "state"), [
            (key.id, key.name, key.tenant, key.user, ",".join(key.scopes), key.expires_at or "never",
             key.last_used or "never", "revoked" if key.revoked else "valid") for key in app.keys.all()])


@into(COMMANDS)
def worker(app: App, options: Options) -> None:
    """Make vectors and tidy up until stopped; any number may run on one database."""
    wait_for(app)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    app.start_background()
    tell(options, {"worker": "started"}, "Working; stop with Ctrl-C.")
    # A wait without an end cannot be interrupted on every platform.
    while not stop.wait(1.0):
        pass


@into(COMMANDS)
def migrate(app: App, options: Options) -> None:
    """Bring the schema of the database up to date, as its owner."""
    # Whoever opens a store that he owns migrates it.
    assert app.engine
    tell(options, {"migrated": True}, "The schema is up to date.")


@into(COMMANDS, option("action", choices=["list", "move", "purge"]), option("name", nargs="?", help="the tenant"),
      option("--to", metavar="URL", help="the database to move to"),
      option("--from", dest="source", metavar="URL", help="the database to purge after a move"))
def tenant(app: App, options: Options) -> None:
    """List tenants, move one to another PostgreSQL database, or remove what it left behind."""
    if options.action == "list":
        tell_rows(options, ("tenant", "events", "elsewhere"), app.tenants())
        return
    url = options.to if options.action == "move" else options.source
    if not options.name or not url:
        raise InvalidInput("Say which tenant, and which database with `--to` or `--from`.", field="name")
    if options.action == "move":
        count = app.move(options.name, url, progress("moving"))
        tell(options, {"moved": options.name, "events": count},
             f"Moved {options.name} with {count:,} events; its old rows stay until `memolith tenant purge`.")
    else:
        app.shards.purge(options.name, url)
        tell(options, {"purged": options.name}, f"Removed {options.name} from its old database.")


@into(COMMANDS, option("--from", dest="source", **ADDRESS), option("--to", dest="target", **ADDRESS))
def copy(app: App, options: Options) -> None:
    """Copy everything from one store to another and compare them; repeat it to go on where it stopped."""
    source, target = at_address(options.source, app.settings), at_address(options.target, app.settings)
    try:
        copied = copy_everything(source, target, lambda name: progress(f"copying {name[:30]}"))
    finally:
        source.close()
        target.close()
    tell(options, copied, *(f"{name}: {count:,} events copied, both stores equal" for name, count in copied.items()))


def call_options(arguments: list[str]) -> Options:
    """What to call, and with which arguments: one object, or a flag for each argument of the tool."""
    if not arguments or arguments[0].startswith("-"):
        raise InvalidInput("Say which tool to call; `memolith tools` lists them.", field="tool")
    name, *rest = arguments
    tool = Registry(families()).find(name)
    if tool is None:
        raise NotFound(f"There is no tool {name[:60]!r}; `memolith tools` lists them.", field="tool")
    parser = argparse.ArgumentParser(prog=f"memolith call {name}", description=tool.description)
    parser.add_argument("--data", metavar="DIR", type=Path)
    parser.add_argument(*REPO[0], **REPO[1])
    parser.add_argument("--json", dest="object", metavar="OBJECT", help="all arguments as one JSON object")
    parser.set_defaults(run=call, json=True, tool=name)
    for argument, schema in tool.input_schema["properties"].items():
        if argument not in ("data", "json"):
            parser.add_argument(f"--{argument.replace('_', '-')}", dest=f"argument {argument}",
                                help=schema.get("description"), metavar=schema.get("type", "json"))
    options = parser.parse_args(rest)
    options.given = json_object(options.object, "--json", "json") if options.object else {}
    for argument, schema in tool.input_schema["properties"].items():
        text = getattr(options, f"argument {argument}", None)
        if text is not None:
            options.given[argument] = _typed(text, schema)
    return options


def call(app: App, options: Options) -> int:
    """Run one tool as the local user: the result on standard output, an error on standard error."""
    outcome = app.registry.run(options.tool, options.given, Call(Caller(), app.engine, local=True))
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
