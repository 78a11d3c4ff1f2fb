"""The commands that put memolith into a client's config file and take it out again, and the clients that they know."""

import difflib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from glob import glob
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from memolith.app import App
from memolith.doors.commands import YES, Commands, Options, confirm, into, note, option, out
from memolith.doors.config_text import JSON, TOML, Entry, Form
from memolith.doors.hooks import EVENTS
from memolith.errors import AlreadyExists, Conflict, InvalidInput


class Client(NamedTuple):
    """A program that can start memolith."""

    name: str
    title: str
    form: Form
    key: str
    user: tuple[str, ...]
    """Templates of places, in the order in which its newest version looks for them: `{home}`, `{apps}`, `{config}` and
    `{local}` are folders of the platform, names in capitals are environment variables."""
    project: str | None = None
    profile: str = "core"
    typed: bool = False


_CLINE = "settings/cline_mcp_settings.json"
CLIENTS: Mapping[str, Client] = {client.name: client for client in (
    # Claude Code loads tools when they are needed, so all of them cost little; the others show each one to the model.
    Client("claude-code", "Claude Code", JSON, "mcpServers",
           ("{CLAUDE_CONFIG_DIR}/.claude.json", "{home}/.claude.json"), ".mcp.json", "all", typed=True),
    # The Windows app runs in a package that sees a folder of its own instead of %APPDATA%.
    Client("claude-desktop", "Claude Desktop", JSON, "mcpServers",
           ("{local}/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json",
            "{apps}/Claude/claude_desktop_config.json")),
    Client("cursor", "Cursor", JSON, "mcpServers", ("{home}/.cursor/mcp.json",), ".cursor/mcp.json"),
    Client("vscode", "VS Code", JSON, "servers",
           ("{apps}/Code/User/mcp.json", "{apps}/Code - Insiders/User/mcp.json"), ".vscode/mcp.json", typed=True),
    # Since version 4 the extension shares a file with Cline's other programs; before, it had one inside VS Code.
    Client("cline", "Cline", JSON, "mcpServers",
           ("{CLINE_MCP_SETTINGS_PATH}", "{CLINE_DATA_DIR}/" + _CLINE, "{CLINE_DIR}/data/" + _CLINE,
            "{home}/.cline/data/" + _CLINE, "{apps}/Code/User/globalStorage/saoudrizwan.claude-dev/" + _CLINE)),
    Client("codex", "Codex", TOML, "mcp_servers", ("{CODEX_HOME}/config.toml", "{home}/.codex/config.toml"),
           ".codex/config.toml"),
    Client("gemini-cli", "Gemini CLI", JSON, "mcpServers",
           ("{GEMINI_CLI_HOME}/.gemini/settings.json", "{home}/.gemini/settings.json"), ".gemini/settings.json"),
    # Windsurf became Devin Desktop in June 2026 and moved its file.
    Client("windsurf", "Windsurf (Devin Desktop)", JSON, "mcpServers",
           ("{config}/devin/mcp_config.json", "{home}/.codeium/windsurf/mcp_config.json"), ".devin/mcp_config.json"))}
# The hooks of Claude Code stand in another file than its servers.
SETTINGS = Client("claude-code", "Claude Code", JSON, "hooks",
                  ("{CLAUDE_CONFIG_DIR}/settings.json", "{home}/.claude/settings.json"), ".claude/settings.json")
COMMANDS: Commands = {}
# What every client takes: Gemini CLI stumbles over underscores, Cursor over server and tool names of 60 characters.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,29}")
SHARED = (
    option("client", choices=list(CLIENTS), metavar="CLIENT", help=", ".join(CLIENTS)),
    option("--scope", default="user", choices=("user", "project"), help="for you, or for the project in this folder"),
    option("--name", default="memolith", help="the name of the entry"), YES,
    option("--hooks", action="store_true", help="the hooks of Claude Code in its settings, not the server"),
    option("--dry-run", action="store_true", help="show the change and write nothing"))


def places(client: Client, platform: str, env: Mapping[str, str], home: str) -> list[PurePath]:
    """Where the user's file may lie, the likeliest first; a `*` stands for a part that differs by machine."""
    kind = PureWindowsPath if platform == "win32" else PurePosixPath
    folders = {name: value for name, value in env.items() if value} | {"home": home, "config": f"{home}/.config"}
    if platform == "win32":
        folders["apps"] = folders["config"] = env.get("APPDATA") or f"{home}/AppData/Roaming"
        folders["local"] = env.get("LOCALAPPDATA") or f"{home}/AppData/Local"
    elif platform == "darwin":
        folders["apps"] = f"{home}/Library/Application Support"
    else:
        folders["apps"] = env.get("XDG_CONFIG_HOME") or f"{home}/.config"
    found: list[PurePath] = []
    for template in client.user:
        try:
            place = kind(template.format_map(folders))
        except KeyError:
            continue
        if template[1].isupper():
            # A variable is the user's word, and the client looks nowhere else.
            return [place]
        found.append(place)
    return found


@into(COMMANDS, *SHARED, option("--profile", metavar="TOOLS",
                                help="which tools it offers; by default what suits the client"))
def install(app: App, options: Options) -> object:
    """Put memolith into the config file of a client."""
    client = client_of(options)
    profile = options.profile or client.profile
    # A client tells little when a server does not start, so an unknown profile is refused here.
    app.registry.choose(profile)
    starts = {event: launch(["hook", name], options.data) for name, event in EVENTS.items()}
    hooks: Entry = {event: [{"hooks": [{"type": "command", "timeout": 10, "command": shlex.join(words)}]}]
                    for event, words in starts.items()}
    program, *arguments = launch(["stdio", "--tools", profile], options.data)
    entry = ({"type": "stdio"} if client.typed else {}) | {"command": program, "args": arguments}
    return carry_out(client, chosen(candidates(client, options.scope)), hooks if options.hooks else entry, options)


@into(COMMANDS, *SHARED)
def uninstall(app: App, options: Options) -> object:
    """Take memolith out of the config file of a client."""
    client = client_of(options)
    files = candidates(client, options.scope)
    holding = [file for file in files if options.name.encode() in (content(file) or b"")]
    return carry_out(client, chosen(holding or files), None, options)


def client_of(options: Options) -> Client:
    if options.hooks and options.client != SETTINGS.name:
        raise InvalidInput(f"Only {SETTINGS.name} has hooks.", field="client")
    return SETTINGS if options.hooks else CLIENTS[options.client]


def launch(words: list[str], data: Path | None) -> list[str]:
    """The command that starts this very installation."""
    program = sys.argv[0] if Path(sys.argv[0]).stem == "memolith" else "memolith"
    # Beside the interpreter, not on the PATH: there a script of another installation may come first.
    beside = None if program == sys.argv[0] else os.path.dirname(sys.executable)
    script = shutil.which(program, path=beside)
    start = [os.path.abspath(script)] if script else [sys.executable, "-m", "memolith.doors.main"]
    return [*start, *words, *(["--data", os.path.abspath(data.expanduser())] if data else [])]


def candidates(client: Client, scope: str) -> list[Path]:
    if scope == "user":
        return expanded(places(client, sys.platform, os.environ, str(Path.home())))
    if client.project is None:
        raise InvalidInput(f"{client.title} has no file for a project; leave --scope out.", field="scope")
    return expanded([Path.cwd() / client.project])


def expanded(found: Sequence[PurePath]) -> list[Path]:
    """The places with every `*` filled in from the folders that are there; links are followed, to stay links."""
    return [Path(os.path.realpath(os.path.join(folder, place.name))) for place in found
            for folder in (sorted(glob(str(place.parent))) if "*" in str(place) else [str(place.parent)])]


def chosen(files: list[Path]) -> Path:
    """The first whose folder is there, as the client made it; else the first of all."""
    return next((file for file in files if file.parent.is_dir()), files[0])


def backup_of(file: Path) -> Path:
    return file.with_name(file.name + ".memolith-backup")


def content(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def read(client: Client, data: bytes | None) -> tuple[str, Entry, Entry]:
    """The text, what it says, and the servers in it; ValueError for what the client could not read."""
    text = (data or b"").decode()
    whole = client.form.read(text)
    servers = whole.get(client.key, {})
    if not isinstance(servers, dict):
        raise ValueError(f"{client.key!r} is not a list of servers by name")
    return text, whole, servers


def edited(client: Client, file: Path, name: str, entry: Entry | None) -> tuple[bytes | None, bytes | None]:
    """What the file and its backup shall hold, with the entry or without any; None stands for no file."""
    before, backup = content(file), content(backup_of(file))
    try:
        text, whole, servers = read(client, before)
    except ValueError as error:
        raise InvalidInput(f"{file} is not a valid {client.form.name} file of {client.title} ({error}); mend it first. "
                           "Nothing was changed.", field="file") from error
    present = servers.pop(name, None)
    # However it was written, an entry of ours starts memolith.
    started = f"{present.get('command')} {present.get('args')}" if isinstance(present, dict) else ""
    if present is not None and "memolith" not in started.lower():
        raise (AlreadyExists(f"{name!r} in {file} is another server; choose another name with --name.", field="name")
               if entry else Conflict(f"{name!r} in {file} is not an entry of memolith; it was left alone."))
    # What the client or its user added to our entry stays: approvals, time limits, an environment.
    entry = {**(present or {}), **entry} if entry else None
    if entry == present:
        return before, backup
    with suppress(ValueError):
        original, _, others = read(client, backup)
        if entry is None and name not in others and client.form.put(original, client.key, name, present) == text:
            return backup, None
    after = client.form.put(text, client.key, name, entry) if entry else client.form.drop(text, client.key, name)
    try:
        # Encoded too, because a path may hold what UTF-8 does not.
        _, said, left = read(client, after.encode())
    except ValueError:
        said, left = {}, {name: None}
    if left != (servers | {name: entry} if entry else servers) or said | {client.key: 0} != whole | {client.key: 0}:
        raise Conflict(f"{file} is written in a way that this command cannot edit safely; change it by hand. "
                       "Nothing was changed.")
    if entry:
        return after.encode(), before if present is None or backup is None else backup
    emptied = backup is None and "".join(after.split()) in ("", "{}", f'{{"{client.key}":{{}}}}')
    return None if emptied else after.encode(), backup


def hooked(file: Path, groups: Entry | None) -> tuple[bytes | None, bytes | None]:
    """As `edited`, for the hooks of each event: those of others stay, before ours."""
    before, backup = content(file), content(backup_of(file))
    text, form = (before or b"").decode(), SETTINGS.form
    for word, event in reversed(EVENTS.items()):
        try:
            present: Any = [*read(SETTINGS, text.encode())[2].get(event, ())]
        except (ValueError, TypeError) as error:
            raise InvalidInput(f"{file} is no valid settings file ({error}); mend it first.", field="file") from error
        wanted: Any = [group for group in present if not re.search(rf"memolith\S* hook {word}\b", str(group))]
        wanted += groups[event] if groups else []
        if wanted != present:
            text = form.put(text, "hooks", event, wanted) if wanted else form.drop(text, "hooks", event)
    left = {key: value for key, value in form.read(text).items() if value or key != "hooks"}
    if groups is None and left == form.read((backup or b"").decode()):
        return backup, None
    return text.encode(), before if backup is None and text.encode() != before else backup


def carry_out(client: Client, file: Path, entry: Entry | None, options: Options) -> object:
    name, before, spare = options.name, content(file), backup_of(file)
    if not NAME.fullmatch(name):
        raise InvalidInput("A name is made of letters, digits and hyphens, 30 at most.", field="name")
    after, kept = hooked(file, entry) if client is SETTINGS else edited(client, file, name, entry)
    old, new = ((side or b"").decode().splitlines() for side in (before, after))
    was, will = (str(file) if side is not None else "no file" for side in (before, after))
    diff = "\n".join(difflib.unified_diff(old, new, was, will, lineterm="", n=2))
    if before == after:
        note(f"{file} {'has this entry already' if entry else f'has no {name}'}; nothing was changed.")
    else:
        (note if options.json else out)(diff)
    written = before != after and not options.dry_run
    if written:
        confirm(options, f"Change {file}?")
        if content(file) != before:
            raise Conflict(f"{file} was changed by another program just now; run the command again.")
        file.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o600 if options.scope == "user" else 0o666
        if kept is not None:
            replace(spare, kept, file, mode)
        if after is None:
            file.unlink()
        else:
            replace(file, after, file, mode)
        if kept is None:
            spare.unlink(missing_ok=True)
        note(f"Next: restart {client.title}.")
    told = {"client": client.name, "file": str(file), "name": name, "changed": before != after, "written": written,
            "backup": str(spare) if spare.exists() else None}
    return told | {"entry": entry, "diff": diff} if options.json else told


def replace(file: Path, data: bytes, like: Path, mode: int) -> None:
    """Write a file in one step, with the rights of another one or, where there is none, with that mode."""
    passing = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with open(passing, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as stream:
            if like.exists():
                shutil.copymode(like, passing)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(passing, file)
    finally:
        passing.unlink(missing_ok=True)
