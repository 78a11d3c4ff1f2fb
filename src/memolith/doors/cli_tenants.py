"""Commands for teams: workers, where tenants live, and moving from one store to another."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Callable

from memolith.app import App, at_address, copy_everything
from memolith.doors.show import as_json, out, progress, table
from memolith.errors import InvalidInput
from memolith.settings import load

Options = argparse.Namespace
Add = Callable[[str, Callable[[App, Options], int], str], argparse.ArgumentParser]


def add_commands(add: Add) -> None:
    """Put the commands of this file on the parser."""
    add("worker", worker, "Make vectors and tidy up until stopped; any number may run on one database.")
    add("migrate", migrate, "Bring the schema of the database up to date, as its owner.")
    command = add("tenant", tenant, "List tenants, or move one to another PostgreSQL database.")
    command.add_argument("action", choices=["list", "move", "purge"])
    command.add_argument("name", nargs="?", default="", help="the tenant")
    command.add_argument("--to", default="", metavar="URL", help="the database to move to")
    command.add_argument("--from", default="", dest="source", metavar="URL", help="the database to purge, after a move")
    command = add("copy", copy, "Copy everything from one store to another; repeat it to go on where it stopped.")
    command.add_argument("--from", required=True, dest="source", metavar="ADDRESS",
                         help="sqlite:FOLDER or postgres:URL")
    command.add_argument("--to", required=True, dest="target", metavar="ADDRESS",
                         help="sqlite:FOLDER or postgres:URL")
    command.set_defaults(bare=True)


def worker(app: App, options: Options) -> int:
    """Drain the outbox until a signal ends it."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    app.start_background()
    as_json({"worker": "started"}) if options.json else out("Working; stop with Ctrl-C.")
    # A wait without an end cannot be interrupted on every platform.
    while not stop.wait(1.0):
        pass
    return 0


def migrate(app: App, options: Options) -> int:
    """Opening the store has done it."""
    as_json({"migrated": True}) if options.json else out("The schema is up to date.")
    return 0


def tenant(app: App, options: Options) -> int:
    """Tenants and their databases."""
    if options.action == "list":
        return _list(app, options)
    if not app.settings.database:
        raise InvalidInput("Tenants move between PostgreSQL databases; see the setting `database`.", field="database")
    wanted = options.to if options.action == "move" else options.source
    if not options.name or not wanted:
        raise InvalidInput("Say which tenant, and `--to` or `--from` which database.", field="name")
    if options.action == "move":
        count = app.move(options.name, wanted, progress("moving"))
        as_json({"moved": options.name, "events": count}) if options.json else out(
            f"Moved {options.name} with {count:,} events; its old rows stay until `memolith tenant purge`.")
    else:
        app.purge(options.name, wanted)
        as_json({"purged": options.name}) if options.json else out(f"Removed {options.name} from its old database.")
    return 0


def _list(app: App, options: Options) -> int:
    found = app.tenants()
    if options.json:
        as_json([{"tenant": name, "events": count, "elsewhere": away} for name, count, away in found])
    else:
        table(("tenant", "events", "database"), [(name, f"{count:,}", "another" if away else "this one")
                                                 for name, count, away in found])
    return 0


def copy(_: App, options: Options) -> int:
    """Carry everything from one store to another."""
    settings = load({"data": options.data})
    source, target = at_address(options.source, settings), at_address(options.target, settings)
    try:
        copied = copy_everything(source, target, lambda name: progress(f"copying {name[:30]}"))
    finally:
        source.close()
        target.close()
    as_json(copied) if options.json else out("\n".join(
        f"{name}: {count:,} events copied, both stores equal" for name, count in copied.items()) or "Nothing to copy.")
    return 0
