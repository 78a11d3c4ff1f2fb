"""The commands that put memolith into a client's config file and take it out again."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path, PurePath

from memolith.app import families
from memolith.doors.clients import CLIENTS, Client, places
from memolith.doors.commands import Command, Options, into, option
from memolith.doors.config_text import Entry, has_comments
from memolith.doors.show import note, out, tell
from memolith.errors import AlreadyExists, Conflict, InvalidInput
from memolith.registry import Registry

COMMANDS: list[Command] = []
SCOPES = ("user", "project")
# What every client takes: Gemini CLI stumbles over underscores, Cursor over server and tool names of 60 characters.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,29}")
LONG_LINE = 300
SHARED = (
    option("client", choices=list(CLIENTS), metavar="CLIENT", help=", ".join(CLIENTS)),
    option("--scope", default="user", choices=SCOPES, help="for you, or for the project in this folder"),
    option("--name", default="memolith", help="the name of the entry"),
    option("--yes", action="store_true", help="do not ask"),
    option("--dry-run", action="store_true", help="show the change and write nothing"))


@dataclass(frozen=True)
class Change:
    """What becomes of a file, and what its backup holds afterwards; None stands for no file and no entry."""

    client: Client
    file: Path
    name: str
    entry: Entry | None
    before: bytes | None
    after: bytes | None
    backup: bytes | None

    @property
    def diff(self) -> str:
        """The change as a unified diff; the one endless line of a file that a machine wrote is broken up."""
        texts = [(side or b"").decode() for side in (self.before, self.after)]
        was, will = (str(self.file) if side is not None else "no file" for side in (self.before, self.after))
        endless = any(len(line) > LONG_LINE for text in texts for line in text.splitlines())
        old, new = (re.sub(r"(?<=[,{}])(?=\S)", "\n", text) if endless else text for text in texts)
        return "\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), was, will, lineterm="", n=2))


def backup_of(file: Path) -> Path:
    """Where the bytes of a file from before the install are kept."""
    return file.with_name(file.name + ".memolith-backup")


@into(COMMANDS, *SHARED, option("--profile", metavar="TOOLS",
                                help="which tools it offers; by default what suits the client"), bare=True)
def install(_: None, options: Options) -> int:
    """Put memolith into the config file of a client."""
    client = CLIENTS[options.client]
    profile = options.profile or client.profile
    # A client tells little when a server does not start, so an unknown profile is refused here.
    Registry(families()).choose(profile)
    change = planned(client, chosen(candidates(client, options.scope)), checked_name(options.name),
                     client.entry(*launch(profile, options.data)))
    if change.before is not None and not client.form.comments and has_comments(change.before.decode()):
        note(f"note: {change.file} has comments or spare commas, which {client.title} may not read.")
    return carry_out(change, options, f"Put {change.name} into {client.title}")


@into(COMMANDS, *SHARED, bare=True)
def uninstall(_: None, options: Options) -> int:
    """Take memolith out of the config file of a client."""
    client, name = CLIENTS[options.client], checked_name(options.name)
    files = candidates(client, options.scope)
    holding = [file for file in files if name.encode() in (content(file) or b"")]
    change = planned(client, chosen(holding or files), name, None)
    return carry_out(change, options, f"Took {name} out of {client.title}")


def checked_name(name: str) -> str:
    """The name, if every client takes it."""
    if not NAME.fullmatch(name):
        raise InvalidInput("A name is made of letters, digits and hyphens, 30 at most.", field="name")
    return name


def launch(profile: str, data: Path | None) -> tuple[str, list[str]]:
    """The command that starts this very installation as a stdio server."""
    program = sys.argv[0] if Path(sys.argv[0]).stem == "memolith" else "memolith"
    # Beside the interpreter, not on the PATH: there a script of another installation may come first.
    beside = None if program == sys.argv[0] else os.path.dirname(sys.executable)
    script = shutil.which(program, path=beside)
    start = [os.path.abspath(script)] if script else [sys.executable, "-m", "memolith.doors.main"]
    place = ["--data", os.path.abspath(data.expanduser())] if data else []
    return start[0], [*start[1:], "stdio", "--tools", profile, *place]


def candidates(client: Client, scope: str) -> list[Path]:
    """The files in question on this machine."""
    if scope == "user":
        return expanded(places(client, sys.platform, os.environ, str(Path.home())))
    if client.project is None:
        raise InvalidInput(f"{client.title} has no file for a project; leave --scope out.", field="scope")
    return expanded([Path.cwd() / client.project])


def expanded(found: Sequence[PurePath]) -> list[Path]:
    """The places with every `*` filled in from the folders that are there; links are followed, to stay links."""
    pairs = [(folder, place.name) for place in found
             for folder in (sorted(glob(str(place.parent))) if "*" in str(place) else [str(place.parent)])]
    return [Path(os.path.realpath(os.path.join(folder, name))) for folder, name in pairs]


def chosen(files: list[Path]) -> Path:
    """The first whose folder is there, as the client made it; else the first of all."""
    return next((file for file in files if file.parent.is_dir()), files[0])


def content(file: Path) -> bytes | None:
    """The bytes of a file, None if there is none."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None


def read(client: Client, file: Path, data: bytes) -> tuple[str, Entry, Entry]:
    """The text, what it says, and the servers in it; a file that the client could not read is refused."""
    try:
        text = data.decode()
        whole = client.form.read(text)
    except ValueError as error:
        raise InvalidInput(f"{file} is not valid {client.form.name.upper()} ({error}); mend it first. "
                           "Nothing was changed.", field="file") from error
    servers = whole.get(client.key, {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"{client.key!r} in {file} is not a list of servers by name. Nothing was changed.",
                           field="file")
    return text, whole, servers


def is_ours(entry: object) -> bool:
    """Whether an entry starts memolith, however it was written."""
    return isinstance(entry, dict) and "memolith" in f"{entry.get('command')} {entry.get('args')}".lower()


def planned(client: Client, file: Path, name: str, entry: Entry | None) -> Change:
    """The change that puts the entry in, updates it, or takes it out if there shall be none."""
    before, backup = content(file), content(backup_of(file))
    text, whole, servers = read(client, file, before or b"")
    present = servers.pop(name, None)
    if present is not None and not is_ours(present):
        raise (AlreadyExists(f"{name!r} in {file} is another server; choose another name with --name.", field="name")
               if entry else Conflict(f"{name!r} in {file} is not an entry of memolith; it was left alone."))
    # What the client or its user added to our entry stays: approvals, time limits, an environment.
    entry = {**(present or {}), **entry} if entry else None
    if entry == present:
        return Change(client, file, name, entry, before, before, backup)
    if present and not entry and made_from(client, backup, name, present) == text:
        return Change(client, file, name, None, before, backup, None)
    after = client.form.put(text, client.key, name, entry) if entry else client.form.drop(text, client.key, name)
    confirm(client, file, after, {**whole, client.key: servers | ({name: entry} if entry else {})})
    if entry:
        first = present is None or backup is None
        return Change(client, file, name, entry, before, after.encode(), before if first else backup)
    empty = backup is None and "".join(after.split()) in ("", "{}", f'{{"{client.key}":{{}}}}')
    return Change(client, file, name, None, before, None if empty else after.encode(), backup)


def made_from(client: Client, backup: bytes | None, name: str, entry: Entry) -> str | None:
    """What an install makes of the bytes in the backup, or of no file; None if they are not from before it."""
    try:
        text = (backup or b"").decode()
        fresh = name not in client.form.read(text).get(client.key, {})
        return client.form.put(text, client.key, name, entry) if fresh else None
    except (ValueError, TypeError):
        return None


def confirm(client: Client, file: Path, text: str, wanted: Entry) -> None:
    """Refuse an edit after which the file would not say exactly what it should."""
    try:
        # Encoded too, because a path may hold what UTF-8 does not.
        said = client.form.read(text.encode().decode())
    except ValueError:
        said = None
    if said not in (wanted, {key: value for key, value in wanted.items() if value or key != client.key}):
        raise Conflict(f"{file} is written in a way that this command cannot edit safely; change it by hand. "
                       "Nothing was changed.")


def carry_out(change: Change, options: Options, deed: str) -> int:
    """Show, ask, write and tell."""
    changed = change.before != change.after
    if changed and not options.json:
        out(change.diff)
    if changed and not options.dry_run:
        if not options.yes and not agreed(change, options):
            note("Nothing was changed.")
            return 1
        write(change, 0o600 if options.scope == "user" else 0o666)
    report(change, options, changed, deed)
    return 0


def agreed(change: Change, options: Options) -> bool:
    """Whether the user says yes."""
    if options.json:
        note(change.diff)
    note(f"Change {change.file}? Type yes: ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def report(change: Change, options: Options, changed: bool, deed: str) -> None:
    """The outcome, for people or for programs."""
    written = changed and not options.dry_run
    backup = backup_of(change.file) if backup_of(change.file).exists() else None
    following = change.client.hint if change.entry else f"Restart {change.client.title}."
    if written:
        lines = [f"{deed}: {change.file}", *([f"The file as it was before: {backup}"] if backup else []),
                 f"Next: {following}"]
    else:
        found = "has this entry already" if change.entry else f"has no {change.name}"
        lines = ["Nothing was written." if changed else f"{change.file} {found}; nothing was changed."]
    tell(options, {"client": change.client.name, "file": str(change.file), "name": change.name, "entry": change.entry,
                   "changed": changed, "written": written, "diff": change.diff,
                   "backup": str(backup) if backup else None, "next": following if written else None}, *lines)


def write(change: Change, mode: int) -> None:
    """Put the new bytes in the place of the old at once, and the backup beside them first."""
    if content(change.file) != change.before:
        raise Conflict(f"{change.file} was changed by another program just now; run the command again.")
    change.file.parent.mkdir(parents=True, exist_ok=True)
    backup = backup_of(change.file)
    if change.backup is not None and change.backup != content(backup):
        replace(backup, change.backup, change.file, mode)
    if change.after is None:
        change.file.unlink()
    else:
        replace(change.file, change.after, change.file, mode)
    if change.backup is None:
        backup.unlink(missing_ok=True)


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
