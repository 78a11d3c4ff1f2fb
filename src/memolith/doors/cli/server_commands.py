"""Commands for whoever runs memolith: they serve, look after the data, and care for keys and tenants."""

import glob
import json
import os
import shutil
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TextIO, cast

from memolith import __version__, store_copy
from memolith.bootstrap import App, library_version, open_store_at, restore_backup, wait_for
from memolith.domain.callers import Caller
from memolith.doors.cli.parser import (
    REPO,
    YES,
    Commands,
    Options,
    confirm,
    into,
    note,
    option,
    out,
    progress,
    tell,
)
from memolith.doors.mcp import stdio_front
from memolith.doors.mcp.frames import VERSION_KEY, parse_frame
from memolith.doors.mcp.start_cache import StartCache
from memolith.engine.chat_import import NOTHING, Report
from memolith.engine.validation import when
from memolith.errors import EmbedderDown, InvalidInput, NotFound, TooLarge, translated
from memolith.paths import cache_folder
from memolith.tools.family import Tool

COMMANDS: Commands = {}
FILE = option("file", type=Path)
FILE_OR_STREAM = option("file", nargs="?", default="-")
TENANT = option("--tenant", default="local")
WATCH_S = 1.0
ADDRESS = {"required": True, "metavar": "ADDRESS", "help": "sqlite:FOLDER or postgres:URL"}
READ_ONLY = option("--read-only", action="store_true", help="hide and refuse every writing tool")


@into(COMMANDS)
def verify(app: App, options: Options) -> object:
    """Prove that tables and indexes equal a replay of the log."""
    problems = app.engine.maintenance.verify(progress("verifying"))
    if problems:
        note("The read models differ from the log; `memolith rebuild` makes them anew.")
    return {"equal": not problems, "problems": problems}


@into(COMMANDS)
def rebuild(app: App, options: Options) -> object:
    """Make tables and indexes anew from the log."""
    count = app.engine.maintenance.rebuild(progress("rebuilding"))
    app.embeddings.drop_index()
    return {"events": count}


@into(COMMANDS)
def upkeep(app: App, options: Options) -> object:
    """Embed what waits, write a new snapshot, flush and tidy."""
    return app.upkeep.run(progress("embedding"))


@into(COMMANDS, FILE)
def backup(app: App, options: Options) -> object:
    """Copy everything into one file while others go on writing; what was ingested, into a folder beside it."""
    if options.file.exists():
        raise InvalidInput(f"{options.file} exists already; choose another name.", field="file")
    if not options.file.parent.is_dir():
        raise InvalidInput(f"There is no folder {options.file.parent}.", field="file")
    store_copy.backup(app.store, app.files, options.file, progress("copying"))
    return {"file": str(options.file), "bytes": options.file.stat().st_size}


@into(COMMANDS, FILE)
def restore_backup_(app: App, options: Options) -> object:
    """Put a backup into an empty data folder."""
    restore_backup(options.file, app.settings.data)
    files = Path(f"{options.file}.files")
    for path in files.glob("*/*"):
        app.blobs.put(path.relative_to(files).as_posix(), path)
    return {"data": str(app.settings.data)}


@into(COMMANDS)
def doctor(app: App, options: Options) -> object:
    """Versions, sizes, pending work, and what is wrong with how to mend it."""
    chosen = app.settings
    events, outbox, vectors, failed = app.engine.maintenance.state()
    pending = {" ".join(work): count for work, count in outbox.items()}
    keys, found = app.engine.vault.examine()
    place = {
        "": "a file of the data folder, the weaker choice; MEMOLITH_VAULT_KEY or the keyring are better",
        "keyring": "the keyring",
    }.get(chosen.vault_key, "MEMOLITH_VAULT_KEY")
    model, down = "none: search by words only", list[str]()
    if app.embedder:
        try:
            app.embedder.embed(["ready"])
            model = f"{app.embedder.id} (works)"
        except EmbedderDown as error:
            model, down = f"{chosen.embedder} (down)", [error.message]
    free = shutil.disk_usage(chosen.data).free
    problems = [
        *(
            [f"Only {free:,} bytes are free on the disk of the data folder."]
            if free < 100_000_000
            else []
        ),
        *(f"{text}; `memolith upkeep` tries again." for text in failed),
        *found,
        *down,
        *(
            f"database file: {text}; restore a backup with `memolith restore-backup`."
            for text in app.store.check()
        ),
    ]
    return {
        "memolith": __version__,
        "python": sys.version.split()[0],
        "sqlite": library_version(),
        "store": "PostgreSQL" if chosen.database else "SQLite",
        "data": str(chosen.data),
        "sizes": app.store.sizes(),
        "events": events,
        "pending": pending,
        "model": model,
        "vectors": vectors,
        "vault": f"{keys} keys; the master key is in {place}" if keys else "empty",
        "code runner": ": ".join(filter(None, app.sandbox.state)),
        "problems": problems,
    }


@into(
    COMMANDS,
    option("action", choices=["reveal", "rekey"]),
    TENANT,
    YES,
    option("id", nargs="?", default="", help="the id of the key to reveal"),
)
def vault(app: App, options: Options) -> object:
    """Show the value of a key in the vault, or seal all of them with another master key."""
    if options.action == "reveal":
        confirm(options, f"Show the value of {options.id}?")
        value = app.engine.vault.reveal(Caller(options.tenant, admin=True), options.id)
        return {"id": options.id, "value": value} if options.json else value
    confirm(options, "Seal all with a new master key?")
    own = app.settings.vault_key not in ("", "keyring")
    if own:
        note("The new master key: ")
    return {"sealed": app.rekey_vault(sys.stdin.readline().strip() if own else "")}


@into(COMMANDS, FILE_OR_STREAM, TENANT)
def export(app: App, options: Options) -> object:
    """Write a tenant as JSON Lines."""
    advance = progress("exporting")
    with _opened(options.file, "w") as file:
        for count, line in enumerate(app.engine.maintenance.export(options.tenant)):
            file.write(line + "\n")
            advance(count, 0)
    note(
        f"Exported {count:,} events of {options.tenant!r}. Left out: secrets in the vault, client keys, vectors."
    )
    return {"file": options.file, "events": count} if options.file != "-" else None


@into(COMMANDS, FILE_OR_STREAM, TENANT)
def import_(app: App, options: Options) -> object:
    """Read an export, or lines like {"content": "…"}."""
    wrong = translated(
        UnicodeDecodeError, InvalidInput, f"{options.file} is not UTF-8 text.", "file"
    )
    with wrong, _opened(options.file, "r") as file:
        made = app.engine.maintenance.import_(
            Caller(tenant=options.tenant), file, progress("importing")
        )
    return dict(zip(("events", "items", "redactions"), made, strict=True))


@into(
    COMMANDS,
    option("files", nargs="+", type=Path, metavar="FILE"),
    TENANT,
    option(
        "--folder", default="", help="where to keep them (/imported/ and the name of the program)"
    ),
)
def import_chats(app: App, options: Options) -> object:
    """Keep chats from ChatGPT, Claude, Claude Code, Codex or Markdown files; running it again adds nothing twice."""
    report = Report(NOTHING)
    for path in options.files:
        with path.open(encoding="utf-8", errors="replace") as file:
            app.engine.chat_import.import_chats(
                Caller(options.tenant),
                file,
                path.name,
                options.folder,
                report,
                progress(path.name),
            )
    return dict(report)


@into(
    COMMANDS,
    option(
        "paths", nargs="+", metavar="PATH", help="files, folders, or patterns like 'notes/**/*.md'"
    ),
    option("--watch", action="store_true", help="go on and take what comes or changes"),
    TENANT,
)
def ingest(app: App, options: Options) -> object:
    """Keep files with what they say; running it again takes only what is new."""
    report, refused, seen = Counter(taken=0, known=0), dict[Path, str](), dict[Path, float]()
    while True:
        files, advance = (
            [path for text in options.paths for path in _files(text)],
            progress("reading"),
        )
        for done, path in enumerate(files, 1):
            try:
                if seen.get(path) != (changed := path.stat().st_mtime):
                    seen[path] = changed
                    new = app.engine.documents.ingest(Caller(options.tenant), path, path.name)[1]
                    report["taken" if new else "known"] += 1
            except (InvalidInput, TooLarge, OSError) as error:
                refused[path] = str(error)
            advance(done, len(files))
        if not options.watch:
            return {**report, "problems": [f"{path}: {why}" for path, why in refused.items()]}
        time.sleep(WATCH_S)


def _files(text: str) -> list[Path]:
    """The files that a path or pattern means, without hidden ones inside folders."""
    if not (found := glob.glob(text, recursive=True)):
        raise InvalidInput(f"There is nothing at {text}.", field="paths")
    below = [name for top in found for name in glob.glob(f"{glob.escape(top)}/**", recursive=True)]
    return [Path(name) for name in sorted({*found, *below}) if os.path.isfile(name)]


def _opened(name: str, mode: str) -> TextIO:
    """The file of that name; for `-` the standard stream, which stays open."""
    place: str | int = "rw".index(mode) if name == "-" else name
    return cast(TextIO, open(place, mode, encoding="utf-8", closefd=name != "-"))


@into(
    COMMANDS,
    option("--host", help="the address to bind to (127.0.0.1)"),
    option("--port", type=int, help="the port (8724); 0 takes a free one"),
    READ_ONLY,
    option(
        "--conformance", action="store_true", help="offer /conformance for the official MCP suite"
    ),
)
def serve(app: App, options: Options) -> None:
    """Serve MCP and REST over HTTP."""
    # The server's parts cost half a second to import, and no other command needs them.
    from memolith.doors.http.auth.keys import LOCAL_KEY_FILE, local_key
    from memolith.doors.http.server import listen, run

    wait_for(app)
    listener = listen(app.settings.host, app.settings.port)
    key = local_key(app.settings.data, app.keys, app.clock.now())
    host, port = listener.getsockname()[:2]
    url = f"http://{'[' + host + ']' if ':' in host else host}:{port}"
    app.address = app.address or url
    told = (
        json.dumps({"url": url, "key_file": str(app.settings.data / LOCAL_KEY_FILE)})
        if options.json
        else f"""\
memolith serves {app.settings.data}
  MCP    {url}/mcp   (also {url}/mcp/core and one path per family)
  REST   {url}/mcp/tools/NAME   pages: {url}/docs
  key    {key}

Paste into a client, for example:
  claude mcp add --transport http memolith {url}/mcp --header "Authorization: Bearer {key}"
or let `memolith install CLIENT` write the configuration. Stop with Ctrl-C."""
    )
    run(
        app,
        listener,
        lambda: out(told),
        read_only=options.read_only,
        conformance=options.conformance,
    )


@into(
    COMMANDS,
    option("--tools", default="all", help="all, families or tools by name, separated by commas"),
    READ_ONLY,
    REPO,
    option(
        "--connect",
        nargs="?",
        const="",
        metavar="URL",
        help="be a thin client of the server at "
        "this address (or SEKHA_API_URL), with the key in SEKHA_API_KEY",
    ),
)
def stdio(app: App, options: Options) -> None:
    """Serve MCP over standard input and output."""
    if options.connect is not None:
        connect(options.connect, options.tools, options.read_only)
    else:
        cache = StartCache(cache_folder(str(app.settings.data)), options.tools, options.read_only)
        stdio_front.serve(
            lambda: App(app.settings, background=True),
            cache,
            options.tools,
            read_only=options.read_only,
        )


def connect(url: str, tools: str, read_only: bool) -> None:
    """Be a thin client: frames from standard input go out over HTTP, and what comes back is passed on."""
    # No other command speaks HTTP to a server.
    from concurrent.futures import ThreadPoolExecutor
    from urllib.request import Request, urlopen

    url = url or os.environ.get("SEKHA_API_URL", "")
    if not url.startswith(("http://", "https://")) or read_only:
        raise InvalidInput(
            "--connect needs an address like https://memory.example.com, here or in SEKHA_API_URL; what "
            "may be written is up to the key.",
            field="connect",
        )
    url = url.rstrip("/") + "/mcp" * ("/mcp" not in url) + f"/{tools}" * (tools != "all")
    wire, headers = (
        stdio_front.Wire.of_process(),
        {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {os.environ.get('SEKHA_API_KEY', '')}",
        },
    )

    def send(line: bytes) -> None:
        message = parse_frame(line) or {}
        params = message.get("params") or {}
        version = (params.get("_meta") or {}).get(VERSION_KEY)
        named = (
            {
                "Mcp-Protocol-Version": version,
                "Mcp-Method": message.get("method"),
                "Mcp-Name": params.get("name") or params.get("uri") or "",
            }
            if version
            else {}
        )
        try:
            with urlopen(Request(url, line, headers | named), timeout=300) as back:
                for text in (
                    back
                    if "event-stream" in str(back.headers["content-type"])
                    else [b"data:" + back.read()]
                ):
                    if text.startswith(b"data:") and (frame := text[5:].strip()):
                        if message.get("method") == "initialize":
                            agreed = {
                                "Mcp-Session-Id": back.headers.get("mcp-session-id"),
                                "Mcp-Protocol-Version": (parse_frame(frame) or {})
                                .get("result", {})
                                .get("protocolVersion"),
                            }
                            headers.update({name: value for name, value in agreed.items() if value})
                        wire.write(frame)
        except (OSError, ValueError) as error:
            told = error.read(500).decode(errors="replace") if hasattr(error, "read") else ""
            if "id" in message and "method" in message:
                wire.write(
                    json.dumps(
                        {
                            "jsonrpc": "2.0",
                            "id": message["id"],
                            "error": {"code": -32000, "message": f"{url}: {error} {told}".strip()},
                        }
                    ).encode()
                )

    with ThreadPoolExecutor(16) as pool, os.fdopen(wire.inlet, "rb") as frames:
        for line in filter(bytes.strip, frames):
            # What follows a handshake needs its session, and notifications keep their order.
            calls = b'"id"' in line and b'"method"' in line and b'"initialize"' not in line
            pool.submit(send, line) if calls else send(line)


def cost(tool: Tool) -> int:
    """About how many tokens a model spends on seeing the tool."""
    seen = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    return len(json.dumps(seen, separators=(",", ":"))) // 4


@into(COMMANDS)
def tools(app: App, options: Options) -> object:
    """List families, tools and what each costs a model to see."""
    if not options.json:
        for name in [
            "all",
            *(family.name for family in app.registry.families if family.listed_over_mcp),
        ]:
            chosen = app.registry.choose(name).tools
            out(f"--tools {name:12} {len(chosen):3} tools, about {sum(map(cost, chosen)):,} tokens")
    return [
        {
            "family": tool.family,
            "tool": tool.name,
            "effect": "reads" if tool.read_only else tool.effect,
            "tokens": cost(tool),
            "description": tool.description,
        }
        for family in app.registry.families
        for tool in family.tools
    ]


@into(
    COMMANDS,
    option("action", choices=["create", "list", "revoke"]),
    option("name", nargs="?", default="", help="a name for a new key, or the id of one to revoke"),
    option("--user", default="local"),
    TENANT,
    option(
        "--scope", action="append", dest="scopes", help="read, write, admin, run (read and write)"
    ),
    option("--expires", metavar="TIME"),
)
def keys(app: App, options: Options) -> object:
    """Make, list and revoke the keys of HTTP clients."""
    # Only this command makes keys.
    from memolith.doors.http.auth.keys import NewKey, make_key

    if options.action == "create":
        expires = when("expires", options.expires) if options.expires else None
        wanted = NewKey(
            options.name or "key",
            options.user,
            options.tenant,
            tuple(options.scopes or ("read", "write")),
            expires,
        )
        secret, record = make_key(app.keys, app.clock.now(), wanted)
        note("The key is shown once; only its hash is kept.")
        return (
            {"id": record.id, "key": secret, "scopes": list(record.scopes)}
            if options.json
            else secret
        )
    if options.action == "revoke":
        if not app.keys.revoke(options.name):
            raise NotFound("There is no such key; `memolith keys list` shows them.", field="name")
        return {"revoked": options.name}
    return [
        {
            "id": key.id,
            "name": key.name,
            "tenant": key.tenant,
            "user": key.user,
            "scopes": ",".join(key.scopes),
            "expires": key.expires_at or "never",
            "last used": key.last_used or "never",
            "state": "revoked" if key.revoked else "valid",
        }
        for key in app.keys.all()
    ]


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


@into(
    COMMANDS,
    option("action", choices=["list", "move", "purge"]),
    option("name", nargs="?", help="the tenant"),
    option("--to", metavar="URL", help="the database to move to"),
    option("--from", dest="source", metavar="URL", help="the database to purge after a move"),
)
def tenant(app: App, options: Options) -> object:
    """List tenants, move one to another PostgreSQL database, or remove what it left behind."""
    if options.action == "list":
        return [
            {"tenant": name, "events": count, "elsewhere": away}
            for name, count, away in store_copy.tenants(app.store)
        ]
    url = options.to if options.action == "move" else options.source
    if not options.name or not url:
        raise InvalidInput(
            "Say which tenant, and which database with `--to` or `--from`.", field="name"
        )
    if options.action == "move":
        count = store_copy.move_tenant(
            app.store, options.name, url, app.embeddings.embed_in, progress("moving")
        )
        note("Its old rows stay until `memolith tenant purge`.")
        return {"moved": options.name, "events": count}
    store_copy.purge_tenant(app.store, options.name, url)
    return {"purged": options.name}


@into(
    COMMANDS, option("--from", dest="source", **ADDRESS), option("--to", dest="target", **ADDRESS)
)
def copy(app: App, options: Options) -> object:
    """Copy everything from one store to another and compare them; repeat it to go on where it stopped."""
    with (
        closing(open_store_at(options.source, app.settings)) as source,
        closing(open_store_at(options.target, app.settings)) as target,
    ):
        return store_copy.copy_everything(
            source, target, lambda name: progress(f"copying {name[:30]}")
        )
