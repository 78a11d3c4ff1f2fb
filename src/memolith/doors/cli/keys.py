"""Commands about secrets: the keys of HTTP clients, and the keys in the vault."""

import argparse
import sys

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.doors.cli.command import (
    Command,
    Options,
    add_tenant,
    add_words,
    add_yes,
    choices_metavar,
)
from memolith.doors.cli.output import confirm, note
from memolith.doors.cli.times import time_ahead
from memolith.errors import InvalidInput, NotFound

DEFAULT_SCOPES = ("read", "write")
KEY_SYSTEMS = ("memolith", "sekha", "lanonasis", "mem0")
"""The names in `KEY_FORMS` of the engine, which the help need not load."""


def keys(app: App, options: Options) -> object:
    actions = {
        "create": create_key,
        "revoke": revoke_key,
        "pause": pause_key,
        "resume": resume_key,
    }
    if options.action in actions:
        return actions[options.action](app, options)
    return list_keys(app)


def create_key(app: App, options: Options) -> object:
    # Only this command needs it.
    from memolith.engine.client_keys import NewKey

    expires_at = time_ahead("expires", options.expires) if options.expires else None
    wanted = NewKey(
        options.name or "key",
        options.user,
        options.tenant,
        tuple(options.scopes or DEFAULT_SCOPES),
        expires_at,
        tuple(options.projects or ()),
        options.like,
    )
    secret, record = app.engine.client_keys.create(Caller(options.tenant), wanted)
    note("The key is shown once; only its hash is kept.")
    if options.json:
        return {
            "id": record.id,
            "key": secret,
            "scopes": list(record.scopes),
            "projects": list(record.projects),
        }
    return secret


def revoke_key(app: App, options: Options) -> object:
    id = key_id(app, options.name)
    app.engine.client_keys.revoke(owner_of(app, id), id)
    return {"revoked": id}


def key_id(app: App, beginning: str) -> str:
    """The id of the key that begins so."""
    ids = [key.id for key in app.keys.all()]
    found = [id for id in ids if beginning and id.startswith(beginning)]
    if beginning in ids or not found:
        return beginning
    if len(found) > 1:
        raise InvalidInput(
            f"{beginning!r} begins the ids of {len(found)} keys; type more of it.", field="name"
        )
    return found[0]


def pause_key(app: App, options: Options) -> object:
    id = key_id(app, options.name)
    app.engine.client_keys.pause(owner_of(app, id), id)
    return {"paused": id}


def resume_key(app: App, options: Options) -> object:
    id = key_id(app, options.name)
    app.engine.client_keys.pause(owner_of(app, id), id, paused=False)
    return {"resumed": id}


def owner_of(app: App, id: str) -> Caller:
    """Whoever changes a key at this machine acts for the tenant of the key."""
    key = app.keys.by_id(id)
    if key is None:
        raise NotFound("There is no such key; `memolith keys list` shows them.", field="name")
    return Caller(key.tenant)


def list_keys(app: App) -> object:
    # Only this command needs it.
    from memolith.engine.client_keys import state_of

    now = app.clock.now()
    return [
        {
            "id": key.id,
            "name": key.name,
            "tenant": key.tenant,
            "user": key.user,
            "scopes": ",".join(key.scopes),
            "projects": ",".join(key.projects) or "all",
            "expires": key.expires_at or "never",
            "last used": key.last_used or "never",
            "state": state_of(key, now),
        }
        for key in app.keys.all()
    ]


def add_keys_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", choices=["create", "list", "revoke", "pause", "resume"], help="what to do"
    )
    parser.add_argument(
        "name", nargs="?", default="", help="a name for a new key, or the id of one to change"
    )
    parser.add_argument("--user", default="local", help="the user whom the key speaks for (local)")
    add_tenant(parser)
    add_words(
        parser,
        "scopes",
        "what the key may do (read and write)",
        metavar=choices_metavar(("read", "write", "admin", "run")),
    )
    add_words(
        parser,
        "projects",
        "bind the key to projects; it sees nothing of the others",
        metavar="PROJECT",
    )
    parser.add_argument(
        "--expires", metavar="TIME", help="when it ends: 2027-01-31, or 90d for in 90 days"
    )
    parser.add_argument(
        "--like",
        choices=KEY_SYSTEMS,
        default=KEY_SYSTEMS[0],
        help="make a key of the form that the clients of another system accept (memolith)",
    )


def only_lists(options: Options) -> bool:
    return bool(options.action == "list")


def vault(app: App, options: Options) -> object:
    if options.action == "reveal":
        return reveal(app, options)
    return rekey(app, options)


def reveal(app: App, options: Options) -> object:
    confirm(options, f"Show the value of {options.id}?")
    value = app.engine.vault.reveal(Caller(options.tenant, admin=True), options.id)
    if options.json:
        return {"id": options.id, "value": value}
    return value


def rekey(app: App, options: Options) -> object:
    confirm(options, "Seal all with a new master key?")
    new_key = ""
    # A key that memolith keeps itself is made by memolith; one of yours has to be typed.
    if app.settings.vault_key not in ("", "keyring"):
        note("The new master key: ")
        new_key = sys.stdin.readline().strip()
    return {"sealed": app.rekey_vault(new_key)}


def only_reveals(options: Options) -> bool:
    return bool(options.action == "reveal")


def add_vault_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["reveal", "rekey"], help="what to do")
    add_tenant(parser)
    add_yes(parser)
    parser.add_argument("id", nargs="?", default="", help="the id of the key to reveal")


COMMANDS = (
    Command("keys", keys, add_keys_options, reads_only=only_lists),
    Command("vault", vault, add_vault_options, reads_only=only_reveals),
)
