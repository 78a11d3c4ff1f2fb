"""Commands that serve, and that care for keys and tenants."""

from __future__ import annotations

import json
import signal
import threading

from memolith.app import App, at_address, copy_everything, wait_for
from memolith.doors.commands import REPO, TENANT, Commands, Options, into, note, option, out, progress, tell
from memolith.engine.intake import when
from memolith.errors import InvalidInput, NotFound
from memolith.registry import Tool

COMMANDS: Commands = {}
ADDRESS = {"required": True, "metavar": "ADDRESS", "help": "sqlite:FOLDER or postgres:URL"}
READ_ONLY = option("--read-only", action="store_true", help="hide and refuse every writing tool")


@into(COMMANDS, option("--host", help="the address to bind to (127.0.0.1)"),
      option("--port", type=int, help="the port (8724); 0 takes a free one"), READ_ONLY,
      option("--conformance", action="store_true", help="offer /conformance for the official MCP suite"))
def serve(app: App, options: Options) -> None:
    """Serve MCP and REST over HTTP."""
    # The server's parts cost half a second to import, and no other command needs them.
    from memolith.doors.auth import LOCAL_KEY, local_key
    from memolith.doors.serve import listen, run
    wait_for(app)
    listener = listen(app.settings.host, app.settings.port)
    key = local_key(app.settings.data, app.keys, app.clock.now())
    host, port = listener.getsockname()[:2]
    url = f"http://{'[' + host + ']' if ':' in host else host}:{port}"
    told = json.dumps({"url": url, "key_file": str(app.settings.data / LOCAL_KEY)}) if options.json else f"""\
memolith serves {app.settings.data}
  MCP    {url}/mcp   (also {url}/mcp/core and one path per family)
  REST   {url}/mcp/tools/NAME   pages: {url}/docs
  key    {key}

Paste into a client, for example:
  claude mcp add --transport http memolith {url}/mcp --header "Authorization: Bearer {key}"
or let `memolith install CLIENT` write the configuration. Stop with Ctrl-C."""
    run(app, listener, lambda: out(told), read_only=options.read_only, conformance=options.conformance)


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
def tools(app: App, options: Options) -> object:
    """List families, tools and what each costs a model to see."""
    if not options.json:
        for name in ["all", *(family.name for family in app.registry.families if family.listed_over_mcp)]:
            chosen = app.registry.choose(name).tools
            out(f"--tools {name:12} {len(chosen):3} tools, about {sum(map(cost, chosen)):,} tokens")
    return [{"family": tool.family, "tool": tool.name, "effect": "reads" if tool.read_only else tool.effect,
             "tokens": cost(tool), "description": tool.description}
            for family in app.registry.families for tool in family.tools]


@into(COMMANDS, option("action", choices=["create", "list", "revoke"]),
      option("name", nargs="?", default="", help="a name for a new key, or the id of one to revoke"),
      option("--user", default="local"), TENANT,
      option("--scope", action="append", dest="scopes", help="read, write, admin, run (read and write)"),
      option("--expires", metavar="TIME"))
def keys(app: App, options: Options) -> object:
    """Make, list and revoke the keys of HTTP clients."""
    # The access layer brings the HTTP parts with it.
    from memolith.doors.auth import make_key
    if options.action == "create":
        expires = when("expires", options.expires) if options.expires else None
        secret, record = make_key(app.keys, app.clock.now(), options.name or "key", options.user, options.tenant,
                                  options.scopes or ["read", "write"], expires)
        note("The key is shown once; only its hash is kept.")
        return {"id": record.id, "key": secret, "scopes": list(record.scopes)} if options.json else secret
    if options.action == "revoke":
        if not app.keys.revoke(options.name):
            raise NotFound("There is no such key; `memolith keys list` shows them.", field="name")
        return {"revoked": options.name}
    return [{"id": key.id, "name": key.name, "tenant": key.tenant, "user": key.user, "scopes": ",".join(key.scopes),
             "expires": key.expires_at or "never", "last used": key.last_used or "never",
             "state": "revoked" if key.revoked else "valid"} for key in app.keys.all()]


@into(COMMANDS)
def worker(app: App, options: Options) -> None:
    """Make vectors and tidy up until stopped; any number may run on one database."""
    wait_for(app)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    app.start_background()
    tell(options, {"worker": "started; stop with Ctrl-C"})
    # A wait without an end cannot be interrupted on every platform.
    while not stop.wait(1.0):
        pass


@into(COMMANDS)
def migrate(app: App, options: Options) -> object:
    """Bring the schema of the database up to date, as its owner."""
    # Whoever opens a store that he owns migrates it.
    assert app.engine
    return {"migrated": True}


@into(COMMANDS, option("action", choices=["list", "move", "purge"]), option("name", nargs="?", help="the tenant"),
      option("--to", metavar="URL", help="the database to move to"),
      option("--from", dest="source", metavar="URL", help="the database to purge after a move"))
def tenant(app: App, options: Options) -> object:
    """List tenants, move one to another PostgreSQL database, or remove what it left behind."""
    if options.action == "list":
        return [{"tenant": name, "events": count, "elsewhere": away} for name, count, away in app.tenants()]
    url = options.to if options.action == "move" else options.source
    if not options.name or not url:
        raise InvalidInput("Say which tenant, and which database with `--to` or `--from`.", field="name")
    if options.action == "move":
        count = app.move(options.name, url, progress("moving"))
        note("Its old rows stay until `memolith tenant purge`.")
        return {"moved": options.name, "events": count}
    app.shards.purge(options.name, url)
    return {"purged": options.name}


@into(COMMANDS, option("--from", dest="source", **ADDRESS), option("--to", dest="target", **ADDRESS))
def copy(app: App, options: Options) -> object:
    """Copy everything from one store to another and compare them; repeat it to go on where it stopped."""
    source, target = at_address(options.source, app.settings), at_address(options.target, app.settings)
    try:
        return copy_everything(source, target, lambda name: progress(f"copying {name[:30]}"))
    finally:
        source.close()
        target.close()
