"""Commands for teams: workers, where tenants live, and moving from one store to another."""

from __future__ import annotations

import signal
import threading

from memolith.app import App, at_address, copy_everything, wait_for_app
from memolith.doors.commands import Command, Options, into, option
from memolith.doors.show import progress, start_logging, table, tell
from memolith.errors import InvalidInput
from memolith.settings import load

COMMANDS: list[Command] = []
ADDRESS = {"required": True, "metavar": "ADDRESS", "help": "sqlite:FOLDER or postgres:URL"}


@into(COMMANDS, bare=True)
def worker(_: None, options: Options) -> None:
    """Make vectors and tidy up until stopped; any number may run on one database."""
    settings = load({"data": options.data})
    start_logging(settings.log_level)
    app = wait_for_app(settings)
    try:
        stop = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stop.set())
        app.start_background()
        tell(options, {"worker": "started"}, "Working; stop with Ctrl-C.")
        # A wait without an end cannot be interrupted on every platform.
        while not stop.wait(1.0):
            pass
    finally:
        app.close()


@into(COMMANDS)
def migrate(app: App, options: Options) -> None:
    """Bring the schema of the database up to date, as its owner."""
    tell(options, {"migrated": True}, "The schema is up to date.")


@into(COMMANDS, option("action", choices=["list", "move", "purge"]), option("name", nargs="?", help="the tenant"),
      option("--to", metavar="URL", help="the database to move to"),
      option("--from", dest="source", metavar="URL", help="the database to purge after a move"))
def tenant(app: App, options: Options) -> None:
    """List tenants, move one to another PostgreSQL database, or remove what it left behind."""
    if options.action == "list":
        found = app.tenants()
        tell(options, [{"tenant": name, "events": count, "elsewhere": away} for name, count, away in found],
             *table(("tenant", "events", "database"), [(name, f"{count:,}", "another" if away else "this one")
                                                       for name, count, away in found]))
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


@into(COMMANDS, option("--from", dest="source", **ADDRESS), option("--to", dest="target", **ADDRESS), bare=True)
def copy(_: None, options: Options) -> None:
    """Copy everything from one store to another and compare them; repeat it to go on where it stopped."""
    settings = load({"data": options.data})
    source, target = at_address(options.source, settings), at_address(options.target, settings)
    try:
        copied = copy_everything(source, target, lambda name: progress(f"copying {name[:30]}"))
    finally:
        source.close()
        target.close()
    tell(options, copied, *(f"{name}: {count:,} events copied, both stores equal" for name, count in copied.items()))
