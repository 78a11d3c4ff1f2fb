"""Commands about secrets: the keys of HTTP clients, and the keys in the vault."""

import argparse
import sys

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.doors.cli.command import Command, Options, add_tenant, add_yes
from memolith.doors.cli.output import confirm, note
from memolith.engine.validation import when
from memolith.errors import NotFound

DEFAULT_SCOPES = ("read", "write")


def keys(app: App, options: Options) -> object:
    if options.action == "create":
        return create_key(app, options)
    if options.action == "revoke":
        return revoke_key(app, options)
    return list_keys(app)


def create_key(app: App, options: Options) -> object:
    # The access layer brings HTTP parts with it, and no other action needs them.
    from memolith.doors.http.auth.keys import NewKey, make_key

    expires_at = when("expires", options.expires) if options.expires else None
    wanted = NewKey(
        options.name or "key",
        options.user,
        options.tenant,
        tuple(options.scopes or DEFAULT_SCOPES),
        expires_at,
        tuple(options.projects or ()),
    )
    secret, record = make_key(app.keys, app.clock.now(), wanted)
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
    if not app.keys.revoke(options.name):
        raise NotFound("There is no such key; `memolith keys list` shows them.", field="name")
    return {"revoked": options.name}


def list_keys(app: App) -> object:
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
            "state": "revoked" if key.revoked else "valid",
        }
        for key in app.keys.all()
    ]


def add_keys_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["create", "list", "revoke"])
    parser.add_argument(
        "name", nargs="?", default="", help="a name for a new key, or the id of one to revoke"
    )
    parser.add_argument("--user", default="local")
    add_tenant(parser)
    parser.add_argument(
        "--scope", action="append", dest="scopes", help="read, write, admin, run (read and write)"
    )
    parser.add_argument(
        "--project",
        action="append",
        dest="projects",
        metavar="PROJECT",
        help="bind the key to a project; it sees nothing of the others (may be repeated)",
    )
    parser.add_argument("--expires", metavar="TIME")


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


def add_vault_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["reveal", "rekey"])
    add_tenant(parser)
    add_yes(parser)
    parser.add_argument("id", nargs="?", default="", help="the id of the key to reveal")


COMMANDS = (
    Command("keys", keys, add_keys_options),
    Command("vault", vault, add_vault_options),
)
