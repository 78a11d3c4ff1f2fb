"""The commands `install` and `uninstall`."""

import argparse
import os
import re
import shlex
import sys
from pathlib import Path

from memolith.bootstrap import App
from memolith.doors.cli.command import Command, Options, add_yes
from memolith.doors.cli.output import YES, confirm, note, out
from memolith.doors.hooks.events import EVENTS
from memolith.doors.install.change import (
    Change,
    backup_of,
    content,
    plan_install,
    plan_uninstall,
)
from memolith.doors.install.clients import CLIENTS, Client, ConfigFile
from memolith.doors.install.entries import Entries, HookEntries, Section, ServerEntry
from memolith.doors.install.launch import launch_command
from memolith.doors.install.locations import config_files
from memolith.doors.install.snippets import program_fields
from memolith.errors import InvalidInput
from memolith.settings import DATA_VARIABLE

HOOK_TIMEOUT_S = 10
PRIVATE_MODE = 0o600
SHARED_MODE = 0o666
# What every client takes: Gemini CLI fails on underscores, and Cursor on server and tool names that
# have more than 60 characters together.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,29}")


def install(app: App, options: Options) -> dict[str, object]:
    client = CLIENTS[options.client]
    profile = options.profile or client.profile
    # A client says little when a server does not start, so an unknown profile is refused here.
    app.registry.choose(profile)
    config = chosen_config(client, options)
    data = told_folder(options)
    entry: Section
    if options.hooks:
        entry = hook_groups(data)
    else:
        entry = server_fields(client, profile, data)
    file = config_files(client, config, options.scope)[0]
    change = plan_install(client, config, file, entries(client, entry, options))
    if not change.changes_file:
        note(f"{file} has this entry already; nothing was changed.")
    report = carry_out(client, change, options, entry)
    if options.hooks or client.hooks is None:
        return report
    return with_hooks_offered(app, options, report)


def with_hooks_offered(app: App, options: Options, report: dict[str, object]) -> dict[str, object]:
    """The report with that of the hooks, if the user wants those, too."""
    wanted = options.with_hooks
    if not wanted and not options.dry_run and not options.yes and sys.stdin.isatty():
        note("Hooks show memories at the start of a session and save decisions at its end.")
        note("Add them as well? [y/N] ")
        wanted = sys.stdin.readline().strip().lower() in YES
    if not wanted:
        note(f"Its hooks are added by `memolith install {options.client} --hooks`.")
        return report
    hooks = install(app, Options(**{**vars(options), "hooks": True}))
    return {**report, "hooks": hooks}


def told_folder(options: Options) -> Path | None:
    """The data folder that the user named with a flag or a variable; None for the usual one."""
    if options.data is not None:
        return Path(options.data)
    named = os.environ.get(DATA_VARIABLE)
    return Path(named) if named else None


def uninstall(app: App, options: Options) -> object:
    client = CLIENTS[options.client]
    config = chosen_config(client, options)
    entry = hook_groups(None) if options.hooks else {}
    files = config_files(client, config, options.scope)
    holding = [file for file in files if options.name.encode() in (content(file) or b"")]
    file = (holding or files)[0]
    change = plan_uninstall(client, config, file, entries(client, entry, options))
    if not change.changes_file:
        note(f"{file} has no {options.name}; nothing was changed.")
    return carry_out(client, change, options, None)


def chosen_config(client: Client, options: Options) -> ConfigFile:
    if not NAME.fullmatch(options.name):
        raise InvalidInput(
            "A name is made of letters, digits and hyphens, 30 at most.", field="name"
        )
    if not options.hooks:
        return client.servers
    if client.hooks is None:
        with_hooks = [name for name, other in CLIENTS.items() if other.hooks]
        raise InvalidInput(f"Only {', '.join(with_hooks)} has hooks.", field="client")
    return client.hooks


def entries(client: Client, entry: Section, options: Options) -> Entries:
    if options.hooks:
        return HookEntries(entry)
    return ServerEntry(client.title, options.name, entry)


def server_fields(client: Client, profile: str, data: Path | None) -> Section:
    """The fields of an entry that starts the stdio server."""
    program, *arguments = launch_command(["stdio", "--tools", profile], data)
    return program_fields(client, program, arguments)


def hook_groups(data: Path | None) -> Section:
    """For each event of the client, a group with the one hook that calls `memolith hook`."""
    groups = {}
    for name, event in EVENTS.items():
        command = shlex.join(launch_command(["hook", name], data))
        hook = {"type": "command", "timeout": HOOK_TIMEOUT_S, "command": command}
        groups[event] = {"hooks": [hook]}
    return groups


def carry_out(
    client: Client, change: Change, options: Options, entry: Section | None
) -> dict[str, object]:
    """Show the change, ask, write it, and report what was done."""
    diff = change.diff()
    if change.changes_file:
        show = note if options.json else out
        show(diff)
    written = change.changes_file and not options.dry_run
    if written:
        confirm(options, f"Change {change.file}?")
        change.write(PRIVATE_MODE if options.scope == "user" else SHARED_MODE)
        note(f"Next: restart {client.title}.")
    backup = backup_of(change.file)
    report: dict[str, object] = {
        "client": options.client,
        "file": str(change.file),
        "name": options.name,
        "changed": change.changes_file,
        "written": written,
        "backup": str(backup) if backup.exists() else None,
    }
    if options.json:
        report["entry"] = entry
        report["diff"] = diff
    return report


def add_shared_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", choices=list(CLIENTS), metavar="CLIENT", help=", ".join(CLIENTS))
    parser.add_argument(
        "--scope",
        default="user",
        choices=("user", "project"),
        help="for you, or for the project in this folder",
    )
    parser.add_argument("--name", default="memolith", help="the name of the entry")
    add_yes(parser)
    parser.add_argument(
        "--hooks",
        action="store_true",
        help="only the hooks of Claude Code in its settings, not the server",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the change and write nothing")


def add_install_options(parser: argparse.ArgumentParser) -> None:
    add_shared_options(parser)
    parser.add_argument(
        "--profile",
        metavar="TOOLS",
        help="the tools to offer; by default those that suit the client",
    )
    parser.add_argument(
        "--with-hooks", action="store_true", help="the server and the hooks in one step"
    )


COMMANDS = (
    Command("install", install, add_install_options),
    Command("uninstall", uninstall, add_shared_options),
)
