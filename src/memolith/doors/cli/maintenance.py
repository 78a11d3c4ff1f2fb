"""Commands that look after the data: check, repair, back up, examine."""

import argparse
import sys
from pathlib import Path

from memolith import __version__, store_copy
from memolith.bootstrap import App, library_version, open_store, restore_backup
from memolith.doors.cli.command import Command, Options, always
from memolith.doors.cli.findings import machine_findings, store_findings
from memolith.doors.cli.output import note, progress
from memolith.doors.mcp.data_check import DATABASE_FILE, is_read_only, unusable_reason
from memolith.errors import EmbedderDown, InvalidInput, MemolithError, StoreGone
from memolith.private_files import open_to_others

CHOOSE_ANOTHER_FOLDER = "Mend that, or choose another folder with --data or MEMOLITH_DATA."
CHECK_DATABASE = "Check that PostgreSQL runs, and the setting `database` (MEMOLITH_DATABASE)."
VAULT_KEY_PLACES = {
    "": "a file of the data folder, the weaker choice; MEMOLITH_VAULT_KEY or the keyring are "
    "better",
    "keyring": "the keyring",
}
"""Where the master key of the vault is, by the setting `vault_key`; any other value is the key."""


def verify(app: App, options: Options) -> object:
    problems = app.engine.maintenance.verify(progress("verifying"))
    if problems:
        note("The read models differ from the log; `memolith rebuild` makes them anew.")
    return {"equal": not problems, "problems": problems}


def rebuild(app: App, options: Options) -> object:
    count = app.engine.maintenance.rebuild(progress("rebuilding"))
    app.embeddings.drop_index()
    return {"events": count}


def upkeep(app: App, options: Options) -> object:
    return app.upkeep.run(progress("embedding"))


def migrate(app: App, options: Options) -> object:
    # Opening a store as its owner brings its schema up to date.
    open_store(app.settings).close()
    return {"migrated": True}


def backup(app: App, options: Options) -> object:
    if options.file.exists():
        raise InvalidInput(f"{options.file} exists already; choose another name.", field="file")
    if not options.file.parent.is_dir():
        raise InvalidInput(f"There is no folder {options.file.parent}.", field="file")
    store_copy.backup(app.store, app.files, options.file, progress("copying"))
    return {"file": str(options.file), "bytes": options.file.stat().st_size}


def restore(app: App, options: Options) -> object:
    restore_backup(options.file, app.settings.data)
    files = Path(f"{options.file}.files")
    for path in files.glob("*/*"):
        app.blobs.put(path.relative_to(files).as_posix(), path)
    return {"data": str(app.settings.data)}


def add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the file of the backup")


def doctor(app: App, options: Options) -> object:
    settings = app.settings
    reason = None if settings.database else unusable_reason(str(settings.data))
    if reason is not None:
        return brief_report(app, [f"{reason[0].upper()}{reason[1:]} {CHOOSE_ANOTHER_FOLDER}"])
    if not settings.database and not (settings.data / DATABASE_FILE).exists():
        return {
            **brief_report(app, [*privacy_problems(app), *machine_findings(app)]),
            "store": "none yet; the first `memolith remember` makes it",
        }
    try:
        assert app.engine
    except MemolithError as error:
        remedy = f" {CHECK_DATABASE}" if isinstance(error, StoreGone) else ""
        return brief_report(app, [error.message + remedy, *machine_findings(app)])
    return full_report(app)


def brief_report(app: App, problems: list[str]) -> dict[str, object]:
    """What can be told without a store."""
    return {
        "memolith": __version__,
        "python": sys.version.split()[0],
        "sqlite": library_version(),
        "data": str(app.settings.data),
        "problems": problems,
    }


def full_report(app: App) -> dict[str, object]:
    settings = app.settings
    state = app.engine.maintenance.state()
    vault_keys, vault_problems = app.engine.vault.examine()
    model, model_problems = examine_model(app)
    problems = store_findings(app, library_version())
    if is_read_only(str(settings.data)):
        problems.append(
            f"{settings.data} can only be read; check its permissions if you want to remember."
        )
    problems += privacy_problems(app)
    problems += [f"{error}; `memolith upkeep` tries again." for error in state.errors]
    problems += vault_problems
    problems += model_problems
    for text in app.store.check():
        problems.append(f"database file: {text}; restore a backup with `memolith restore-backup`.")
    problems += machine_findings(app)
    vault = "empty"
    if vault_keys:
        place = VAULT_KEY_PLACES.get(settings.vault_key, "MEMOLITH_VAULT_KEY")
        vault = f"{vault_keys} keys; the master key is in {place}"
    return {
        "memolith": __version__,
        "python": sys.version.split()[0],
        "sqlite": library_version(),
        "store": "PostgreSQL" if settings.database else "SQLite",
        "data": str(settings.data),
        "sizes": app.store.sizes(),
        "events": state.events,
        "pending": {" ".join(work): count for work, count in state.outbox.items()},
        "model": model,
        "vectors": state.vectors,
        "vault": vault,
        "code runner": ": ".join(part for part in app.sandbox.state if part),
        "files": app.sandbox.how_files_are_read(),
        "problems": problems,
    }


def examine_model(app: App) -> tuple[str, list[str]]:
    """Which model makes vectors and whether it works, and what is wrong with it."""
    if app.embedder is None:
        return "none: search by words only", []
    try:
        app.embedder.embed(["ready"])
    except EmbedderDown as error:
        return f"{app.settings.embedder} (down)", [error.message]
    return f"{app.embedder.id} (works)", []


def privacy_problems(app: App) -> list[str]:
    """Which of our folders other users of this machine can look into."""
    problems = []
    folders = [app.settings.data]
    if not app.files.is_relative_to(app.settings.data):
        folders.append(app.files)
    for folder in folders:
        found = open_to_others(str(folder))
        if found:
            more = f" and {len(found) - 1:,} more below {folder}" if len(found) > 1 else ""
            problems.append(
                f"Other users of this machine can use {found[0]}{more}; "
                f"close it with `chmod -R go-rwx {folder}`."
            )
    return problems


COMMANDS = (
    Command("verify", verify, reads_only=always),
    Command("rebuild", rebuild),
    Command("upkeep", upkeep),
    Command("backup", backup, add_file, reads_only=always),
    Command("restore-backup", restore, add_file),
    Command("doctor", doctor),
    Command("migrate", migrate),
)
