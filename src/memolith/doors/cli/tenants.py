"""The command about tenants: list them, or move one to another database."""

import argparse

from memolith import store_copy
from memolith.bootstrap import App
from memolith.doors.cli.command import Command, Options
from memolith.doors.cli.output import note, progress
from memolith.errors import InvalidInput


def tenant(app: App, options: Options) -> object:
    if options.action == "list":
        return [
            {"tenant": count.tenant, "events": count.events, "elsewhere": count.elsewhere}
            for count in store_copy.tenants(app.store)
        ]
    if options.action == "move":
        return move(app, options)
    return purge(app, options)


def only_lists(options: Options) -> bool:
    return bool(options.action == "list")


def move(app: App, options: Options) -> object:
    check_arguments(options.name, options.to)
    count = store_copy.move_tenant(
        app.store, options.name, options.to, app.embeddings.embed_in, progress("moving")
    )
    note("Its old rows stay until `memolith tenant purge`.")
    return {"moved": options.name, "events": count}


def purge(app: App, options: Options) -> object:
    check_arguments(options.name, options.source)
    store_copy.purge_tenant(app.store, options.name, options.source)
    return {"purged": options.name}


def check_arguments(name: str | None, url: str | None) -> None:
    if not name or not url:
        raise InvalidInput(
            "Say which tenant, and which database with `--to` or `--from`.", field="name"
        )


def add_tenant_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["list", "move", "purge"], help="what to do")
    parser.add_argument("name", nargs="?", help="the tenant")
    parser.add_argument("--to", metavar="URL", help="the database to move to")
    parser.add_argument(
        "--from", dest="source", metavar="URL", help="the database to purge after a move"
    )


COMMANDS = (Command("tenant", tenant, add_tenant_options, reads_only=only_lists),)
