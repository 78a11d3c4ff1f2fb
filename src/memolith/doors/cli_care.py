"""Commands that look after the data."""

from __future__ import annotations

import platform
import shutil
import sys
from pathlib import Path
from typing import TextIO, cast

from memolith import __version__
from memolith import app as root
from memolith.app import App, library_version
from memolith.doors.commands import TENANT, YES, Commands, Options, confirm, into, note, option, progress
from memolith.engine.conversations import NOTHING, Report, take
from memolith.engine.model import Caller
from memolith.errors import EmbedderDown, InvalidInput

COMMANDS: Commands = {}
FILE = option("file", type=Path)
FILE_OR_STREAM = option("file", nargs="?", default="-")
SAFE_SQLITE = (3, 51, 3)


@into(COMMANDS)
def verify(app: App, options: Options) -> object:
    """Prove that tables and indexes equal a replay of the log."""
    problems = app.engine.upkeep.verify(progress("verifying"))
    if problems:
        note("The read models differ from the log; `memolith rebuild` makes them anew.")
    return {"equal": not problems, "problems": problems}


@into(COMMANDS)
def rebuild(app: App, options: Options) -> object:
    """Make tables and indexes anew from the log."""
    count = app.engine.upkeep.rebuild(progress("rebuilding"))
    app.stage.drop(app.embedder)
    return {"events": count}


@into(COMMANDS)
def upkeep(app: App, options: Options) -> object:
    """Embed what waits, write a new snapshot, flush and tidy."""
    return app.do_upkeep(progress("embedding"))


@into(COMMANDS, FILE)
def backup(app: App, options: Options) -> object:
    """Copy everything into one file while others go on writing."""
    if options.file.exists():
        raise InvalidInput(f"{options.file} exists already; choose another name.", field="file")
    if not options.file.parent.is_dir():
        raise InvalidInput(f"There is no folder {options.file.parent}.", field="file")
    app.store.backup(options.file, progress("copying"))
    return {"file": str(options.file), "bytes": options.file.stat().st_size}


@into(COMMANDS, FILE)
def restore_backup(app: App, options: Options) -> object:
    """Put a backup into an empty data folder."""
    root.restore_backup(options.file, app.settings.data)
    return {"data": str(app.settings.data)}


@into(COMMANDS)
def doctor(app: App, options: Options) -> object:
    """Versions, sizes, pending work, and what is wrong with how to mend it."""
    chosen, version = app.settings, library_version()
    with app.store.reading(None) as rows:
        tenants = [f"{tenant} {rows.last_seq(tenant):,}" for tenant in rows.tenants()]
        work = [f"{consumer} {status} {count:,}" for (consumer, status), count in rows.outbox_counts().items()]
        vectors = [f"{model} {count:,}" for model, count in rows.models().items()]
        failed = rows.outbox_errors()
    keys, found = app.engine.vault.examine()
    place = {"": "a file of the data folder, the weaker choice; MEMOLITH_VAULT_KEY or the keyring are better",
             "keyring": "the keyring"}.get(chosen.vault_key, "MEMOLITH_VAULT_KEY")
    model, down = _model(app)
    free = shutil.disk_usage(chosen.data).free
    old = tuple(int(part) for part in version.split(".")) < SAFE_SQLITE
    problems = [
        *([f"SQLite {version} can lose data when several processes write; update the package apsw."] if old else []),
        *([f"Only {free:,} bytes are free on the disk of the data folder."] if free < 100_000_000 else []),
        *(f"{text}; `memolith upkeep` tries again." for text in failed), *found, *down,
        *(f"database file: {text}; restore a backup with `memolith restore-backup`." for text in app.store.check())]
    return {
        "memolith": __version__, "python": sys.version.split()[0], "system": platform.platform(),
        "sqlite": version, "store": "PostgreSQL" if chosen.database else "SQLite",
        "data": str(chosen.data), "secrets": chosen.secrets,
        "sizes": ", ".join(f"{name} {size:,}" for name, size in app.store.sizes().items()),
        "events": ", ".join(tenants) or "none", "pending": ", ".join(work) or "none",
        "vault": f"{keys} keys; the master key is in {place}" if keys else "empty",
        "model": model, "vectors": ", ".join(vectors) or "none",
        "problems": problems}


def _model(app: App) -> tuple[str, list[str]]:
    if app.embedder is None:
        return "none: search by words only", []
    try:
        app.embedder.embed(["ready"])
    except EmbedderDown as error:
        return f"{app.settings.embedder} (down)", [error.message]
    return f"{app.embedder.id} (works)", []


@into(COMMANDS, option("action", choices=["reveal", "rekey"]), TENANT, YES,
      option("id", nargs="?", default="", help="the id of the key to reveal"))
def vault(app: App, options: Options) -> object:
    """Show the value of a key in the vault, or seal all of them with another master key."""
    if options.action == "reveal":
        confirm(options, f"Show the value of {options.id}?")
        value = app.engine.vault.reveal(Caller(options.tenant, admin=True), options.id)
        return {"id": options.id, "value": value} if options.json else value
    confirm(options, "Seal all with a new master key?")
    own = app.settings.vault_key not in ("", "keyring")
    if own:
        note("The new master key: ")
    return {"sealed": app.rekey_vault(sys.stdin.readline().strip() if own else "")}


@into(COMMANDS, FILE_OR_STREAM, TENANT)
def export(app: App, options: Options) -> object:
    """Write a tenant as JSON Lines."""
    advance = progress("exporting")
    with _opened(options.file, "w") as file:
        for count, line in enumerate(app.engine.upkeep.export(options.tenant)):
            file.write(line + "\n")
            advance(count, 0)
    note(f"Exported {count:,} events of {options.tenant!r}. Left out: secrets in the vault, client keys, vectors.")
    return {"file": options.file, "events": count} if options.file != "-" else None


@into(COMMANDS, FILE_OR_STREAM, TENANT)
def import_(app: App, options: Options) -> object:
    """Read an export, or lines like {"content": "…"}."""
    try:
        with _opened(options.file, "r") as file:
            made = app.engine.upkeep.import_(Caller(tenant=options.tenant), file, progress("importing"))
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{options.file} is not UTF-8 text.", field="file") from error
    return dict(zip(("events", "items", "redactions"), made, strict=True))


@into(COMMANDS, option("files", nargs="+", type=Path, metavar="FILE"), TENANT,
      option("--folder", default="", help="where to keep them (/imported/ and the name of the program)"))
def import_chats(app: App, options: Options) -> object:
    """Keep chats from ChatGPT, Claude, Claude Code, Codex or Markdown files; running it again adds nothing twice."""
    report = Report(NOTHING)
    for path in options.files:
        with path.open(encoding="utf-8", errors="replace") as file:
            take(app.engine, Caller(options.tenant), file, path.name, options.folder, report, progress(path.name))
    return dict(report)


def _opened(name: str, mode: str) -> TextIO:
    """The file of that name; for `-` the standard stream, which stays open."""
    place: str | int = "rw".index(mode) if name == "-" else name
    return cast(TextIO, open(place, mode, encoding="utf-8", closefd=name != "-"))
