"""The commands about tenants: where they live, how large they are, and moving one."""

import argparse

from memolith import store_copy
from memolith.bootstrap import App
from memolith.doors.cli.command import Command, Options
from memolith.doors.cli.output import note, progress
from memolith.engine.placement import proposed_moves
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


def tenants(app: App, options: Options) -> object:
    if options.add:
        return {"added": store_copy.add_database(app.store, options.add)}
    places = store_copy.placement(app.store)
    databases = list(store_copy.database_urls(app.store)) or [store_copy.THIS_FOLDER]
    return {
        "tenants": [place._asdict() for place in places],
        "databases": [
            {
                "database": name,
                "tenants": sum(place.database == name for place in places),
                "bytes": sum(place.bytes for place in places if place.database == name),
            }
            for name in databases
        ],
        "proposed_moves": [move._asdict() for move in proposed_moves(places, databases)],
    }


def adds_nothing(options: Options) -> bool:
    return options.add is None


def add_tenants_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--add", metavar="URL", help="add a PostgreSQL database that tenants can move to"
    )


COMMANDS = (
    Command("tenant", tenant, add_tenant_options, reads_only=only_lists),
    Command("tenants", tenants, add_tenants_options, reads_only=adds_nothing),
)
