"""The commands that put memolith into a client's config file and take it out again, and the clients that they know."""

import difflib
import os
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from glob import glob
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from memolith.bootstrap import App
from memolith.doors.cli.parser import YES, Commands, Options, confirm, into, note, option, out
from memolith.doors.hooks import EVENTS
from memolith.doors.install.config_text import EDIT, READ, Entry
from memolith.errors import AlreadyExists, Conflict, InvalidInput


class Client(NamedTuple):
    """A program that can start memolith; its table says what each field means."""

    title: str
    key: str
    user: Sequence[str]
    project: str | None = None
    form: str = "JSON"
    profile: str = "core"
    typed: bool = False


CLIENTS = {
    name: Client(**fields)
    for name, fields in tomllib.loads(
        Path(__file__).with_name("clients.toml").read_text(encoding="utf-8")
    ).items()
}
SETTINGS = CLIENTS.pop("hooks")
OUR_HOOK = re.compile(rf"memolith\S* hook ({'|'.join(EVENTS)})\b")
COMMANDS: Commands = {}
# What every client takes: Gemini CLI stumbles over underscores, Cursor over server and tool names of 60 characters.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,29}")
SHARED = (
    option("client", choices=list(CLIENTS), metavar="CLIENT", help=", ".join(CLIENTS)),
    option(
        "--scope",
        default="user",
        choices=("user", "project"),
        help="for you, or for the project in this folder",
    ),
    option("--name", default="memolith", help="the name of the entry"),
    YES,
    option(
        "--hooks",
        action="store_true",
        help="the hooks of Claude Code in its settings, not the server",
    ),
    option("--dry-run", action="store_true", help="show the change and write nothing"),
)


def places(client: Client, platform: str, env: Mapping[str, str], home: str) -> list[PurePath]:
    """Where the user's file may lie, the likeliest first; a `*` stands for a part that differs by machine."""
    kind = PureWindowsPath if platform == "win32" else PurePosixPath
    config = env.get("XDG_CONFIG_HOME") or f"{home}/.config"
    folders = {k: v for k, v in env.items() if v} | {
        "home": home,
        "config": f"{home}/.config",
        "apps": config,
    }
    if platform == "darwin":
        folders["apps"] = f"{home}/Library/Application Support"
    elif platform == "win32":
        folders["apps"] = folders["config"] = env.get("APPDATA") or f"{home}/AppData/Roaming"
        folders["local"] = env.get("LOCALAPPDATA") or f"{home}/AppData/Local"
    known = [
        template
        for template in client.user
        if folders.keys() >= set(re.findall(r"{(\w+)}", template))
    ]
    # A variable is the user's word, and the client looks nowhere else.
    return [
        kind(template.format_map(folders))
        for template in (known[:1] if known[0][1].isupper() else known)
    ]


@into(
    COMMANDS,
    *SHARED,
    option(
        "--profile", metavar="TOOLS", help="which tools it offers; by default what suits the client"
    ),
)
def install(app: App, options: Options) -> object:
    """Put memolith into the config file of a client."""
    client = SETTINGS if options.hooks else CLIENTS[options.client]
    profile = options.profile or client.profile
    # A client tells little when a server does not start, so an unknown profile is refused here.
    app.registry.choose(profile)
    hooks = {
        event: [
            {
                "hooks": [
                    {
                        "type": "command",
                        "timeout": 10,
                        "command": shlex.join(launch(["hook", name], options.data)),
                    }
                ]
            }
        ]
        for name, event in EVENTS.items()
    }
    program, *arguments = launch(["stdio", "--tools", profile], options.data)
    entry = ({"type": "stdio"} if client.typed else {}) | {"command": program, "args": arguments}
    return carry_out(
        client, candidates(client, options.scope)[0], hooks if options.hooks else entry, options
    )


@into(COMMANDS, *SHARED)
def uninstall(app: App, options: Options) -> object:
    """Take memolith out of the config file of a client."""
    client = SETTINGS if options.hooks else CLIENTS[options.client]
    files = candidates(client, options.scope)
    holding = [file for file in files if options.name.encode() in (content(file) or b"")]
    return carry_out(client, (holding or files)[0], None, options)


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
        raise InvalidInput(
            f"{client.title} has no file for a project; leave --scope out.", field="scope"
        )
    return expanded([Path.cwd() / client.project])


def expanded(found: Sequence[PurePath]) -> list[Path]:
    """The places with every `*` filled in, first those in folders that the client made; links are followed."""
    files = [
        Path(os.path.realpath(os.path.join(folder, place.name)))
        for place in found
        for folder in (
            sorted(glob(str(place.parent))) if "*" in str(place) else [str(place.parent)]
        )
    ]
    return sorted(files, key=lambda file: not file.parent.is_dir())


def backup_of(file: Path) -> Path:
    return file.with_name(file.name + ".memolith-backup")


def content(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def read(client: Client, data: bytes | None) -> tuple[str, Entry, Entry]:
    """The text, what it says, and the servers or hooks in it; ValueError for what the client could not read."""
    text = (data or b"").decode()
    whole = READ[client.form](text)
    if not isinstance(section := whole.get(client.key, {}), dict):
        raise ValueError(f"{client.key!r} is not an object")
    return text, whole, section


def renewed(client: Client, name: str, present: Any, ours: Any) -> Any:
    """What stands in the file under that name with ours, or what stays without; nothing for nothing."""
    if client is SETTINGS:
        # The hooks of others stay, before ours.
        if not isinstance(present or [], list):
            raise ValueError(f"{name!r} is not a list")
        return [*(group for group in present or () if not OUR_HOOK.search(str(group))), *ours]
    # However it was written, an entry of ours starts memolith.
    started = f"{present.get('command')} {present.get('args')}" if isinstance(present, dict) else ""
    if present is not None and "memolith" not in started.lower():
        raise AlreadyExists(
            f"{name!r} in the file of {client.title} is another server and was left alone; choose "
            "another name with --name.",
            field="name",
        )
    # What the client or its user added to our entry stays: approvals, time limits, an environment.
    return {**(present or {}), **ours} if ours else None


def rewritten(client: Client, text: str, old: Entry, new: Entry) -> str:
    # What is put comes first in the file, and shall stand there in its order.
    for name in reversed(old | new):
        if old.get(name) != new.get(name):
            text = EDIT[client.form](text, client.key, name, new.get(name))
    return text


def edited(
    client: Client, file: Path, name: str, entry: Entry | None
) -> tuple[bytes | None, bytes | None]:
    """What the file and its backup shall hold, with the entry or without any; None stands for no file."""
    before, backup = content(file), content(backup_of(file))
    parts = (
        dict.fromkeys(EVENTS.values(), ()) | (entry or {})
        if client is SETTINGS
        else {name: entry or ()}
    )

    def section(given: Entry) -> Entry:
        made = {name: renewed(client, name, old.get(name), part) for name, part in given.items()}
        return {
            name: part
            for name, part in (old | made).items()
            if part or (name in old and part == old[name])
        }

    try:
        text, whole, old = read(client, before)
        new, bare = section(parts), section(dict.fromkeys(parts, ()))
    except (ValueError, TypeError) as error:
        raise InvalidInput(
            f"{file} is not a valid {client.form} file of {client.title} ({error}); mend it first. "
            "Nothing was changed.",
            field="file",
        ) from error
    if new == old:
        return before, backup
    with suppress(ValueError):
        original, _, others = read(client, backup)
        if new == others and rewritten(client, original, others, old) == text:
            return backup, None
    after = rewritten(client, text, old, new)
    try:
        # Encoded too, because a path may hold what UTF-8 does not.
        said = read(client, after.encode())[1]
    except ValueError:
        said = {client.key: None}
    if {client.key: {}} | said != whole | {client.key: new}:
        raise Conflict(
            f"{file} is written in a way that this command cannot edit safely; change it by hand. "
            "Nothing was changed."
        )
    return after.encode(), before if entry and (backup is None or bare == old) else backup


def carry_out(client: Client, file: Path, entry: Entry | None, options: Options) -> object:
    name, before, spare = options.name, content(file), backup_of(file)
    if not NAME.fullmatch(name):
        raise InvalidInput(
            "A name is made of letters, digits and hyphens, 30 at most.", field="name"
        )
    if options.hooks and options.client != "claude-code":
        raise InvalidInput("Only claude-code has hooks.", field="client")
    after, kept = edited(client, file, name, entry)
    old, new = ((side or b"").decode().splitlines() for side in (before, after))
    was, will = (str(file) if side is not None else "no file" for side in (before, after))
    diff = "\n".join(difflib.unified_diff(old, new, was, will, lineterm="", n=2))
    if before == after:
        note(
            f"{file} {'has this entry already' if entry else f'has no {name}'}; nothing was changed."
        )
    else:
        (note if options.json else out)(diff)
    written = before != after and not options.dry_run
    if written:
        confirm(options, f"Change {file}?")
        if content(file) != before:
            raise Conflict(
                f"{file} was changed by another program just now; run the command again."
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        # What was there is always in one of the two.
        steps = ((file, after), (spare, kept))
        for path, data in steps if kept is None else reversed(steps):
            replace(path, data, file, 0o600 if options.scope == "user" else 0o666)
        note(f"Next: restart {client.title}.")
    told = {
        "client": options.client,
        "file": str(file),
        "name": name,
        "changed": before != after,
        "written": written,
        "backup": str(spare) if spare.exists() else None,
    }
    return told | {"entry": entry, "diff": diff} if options.json else told


def replace(file: Path, data: bytes | None, like: Path, mode: int) -> None:
    """Write a file in one step, with the rights of another one or, where there is none, that mode; None removes."""
    if data is None:
        file.unlink(missing_ok=True)
        return
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
