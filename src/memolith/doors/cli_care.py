"""Commands that look after the data."""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from memolith import __version__
from memolith import app as root
from memolith.app import App, library_version, open_app
from memolith.doors.commands import Command, Options, into, option
from memolith.doors.show import confirmed, note, pairs, progress, tell
from memolith.engine.chats import NOTHING, Report, take
from memolith.engine.model import Block, Caller, Draft, Patch
from memolith.engine.recall import Query
from memolith.errors import EmbedderDown, InvalidInput
from memolith.settings import load

ME = Caller()
COMMANDS: list[Command] = []
FILE = option("file", type=Path)
FILE_OR_STREAM = option("file", nargs="?", default="-")
TENANT = option("--tenant", default="local")
YES = option("--yes", action="store_true", help="do not ask")
SAFE_SQLITE = (3, 51, 3)


@into(COMMANDS)
def verify(app: App, options: Options) -> int:
    """Prove that tables and indexes equal a replay of the log."""
    problems = app.engine.upkeep.verify(progress("verifying"))
    tell(options, {"equal": not problems, "problems": problems},
         *(problems or ["equal: tables and indexes are what the log says"]),
         aside="The read models differ from the log; `memolith rebuild` makes them anew." if problems else "")
    return 1 if problems else 0


@into(COMMANDS)
def rebuild(app: App, options: Options) -> None:
    """Make tables and indexes anew from the log."""
    count = app.engine.upkeep.rebuild(progress("rebuilding"))
    app.stage.drop(app.embedder)
    tell(options, {"events": count}, f"Rebuilt from {count:,} events.")


@into(COMMANDS)
def upkeep(app: App, options: Options) -> None:
    """Embed what waits, write a new snapshot, flush and tidy."""
    done = app.do_upkeep(progress("embedding"))
    tell(options, done, *pairs(done))


@into(COMMANDS, FILE)
def backup(app: App, options: Options) -> None:
    """Copy everything into one file while others go on writing."""
    if options.file.exists():
        raise InvalidInput(f"{options.file} exists already; choose another name.", field="file")
    if not options.file.parent.is_dir():
        raise InvalidInput(f"There is no folder {options.file.parent}.", field="file")
    app.store.backup(options.file, progress("copying"))
    size = options.file.stat().st_size
    tell(options, {"file": str(options.file), "bytes": size}, f"Backed up to {options.file} ({size:,} bytes).")


@into(COMMANDS, FILE, bare=True)
def restore_backup(_: None, options: Options) -> None:
    """Put a backup into an empty data folder."""
    folder = load({"data": options.data}).data
    root.restore_backup(options.file, folder)
    tell(options, {"data": str(folder)}, f"Restored into {folder}.")


@into(COMMANDS)
def doctor(app: App, options: Options) -> int:
    """Versions, sizes, pending work, and what is wrong."""
    facts, problems = examine(app)
    tell(options, facts | {"problems": problems}, *pairs(facts), *(f"! {problem}" for problem in problems),
         f"{len(problems)} to look at." if problems else "Nothing is wrong.")
    return 1 if problems else 0


def examine(app: App) -> tuple[dict[str, object], list[str]]:
    """Facts about this installation and its data, and what is wrong with how to mend it."""
    problems: list[str] = []
    version = library_version()
    if tuple(int(part) for part in version.split(".")) < SAFE_SQLITE:
        problems.append(f"SQLite {version} can lose data when several processes write; update the package apsw.")
    free = shutil.disk_usage(app.settings.data).free
    if free < 100_000_000:
        problems.append(f"Only {free:,} bytes are free on the disk of the data folder.")
    facts: dict[str, object] = {
        "memolith": __version__, "python": sys.version.split()[0], "system": platform.platform(),
        "sqlite": version, "store": "PostgreSQL" if app.settings.database else "SQLite",
        "data": str(app.settings.data), "secrets": app.settings.secrets,
        "sizes": ", ".join(f"{name} {size:,}" for name, size in app.store.sizes().items())}
    return facts | _contents(app, problems) | _vault(app, problems) | _model(app, problems), problems + [
        f"database file: {text}; restore a backup with `memolith restore-backup`." for text in app.store.check()]


def _contents(app: App, problems: list[str]) -> dict[str, object]:
    with app.store.reading(None) as rows:
        tenants = {tenant: rows.last_seq(tenant) for tenant in rows.tenants()}
        work = rows.outbox_counts()
        problems += [f"{text}; `memolith upkeep` tries again." for text in rows.outbox_errors()]
    return {"events": ", ".join(f"{tenant} {count:,}" for tenant, count in tenants.items()) or "none",
            "pending": ", ".join(f"{consumer} {status} {count:,}" for (consumer, status), count in work.items())
            or "none"}


def _vault(app: App, problems: list[str]) -> dict[str, object]:
    count, found = app.engine.vault.examine()
    problems += found
    place = {"": "a file of the data folder, the weaker choice; MEMOLITH_VAULT_KEY or the keyring are better",
             "keyring": "the keyring"}.get(app.settings.vault_key, "MEMOLITH_VAULT_KEY")
    return {"vault": f"{count} keys; the master key is in {place}" if count else "empty"}


def _model(app: App, problems: list[str]) -> dict[str, object]:
    if app.settings.embedder == "none":
        return {"model": "none: search by words only"}
    try:
        assert app.embedder is not None
        app.embedder.embed(["ready"])
        state = f"{app.embedder.id} (works)"
    except EmbedderDown as error:
        state = f"{app.settings.embedder} (down)"
        problems.append(error.message)
    with app.store.reading(None) as rows:
        counts = ", ".join(f"{model} {count:,}" for model, count in rows.models().items()) or "none"
    return {"model": state, "vectors": counts}


@into(COMMANDS, option("action", choices=["reveal", "rekey"]), TENANT, YES,
      option("id", nargs="?", default="", help="the id of the key to reveal"))
def vault(app: App, options: Options) -> int:
    """Show the value of a key in the vault, or seal all of them with another master key."""
    rekey = options.action == "rekey"
    if not confirmed(options, "Seal all with a new master key?" if rekey else f"Show the value of {options.id}?"):
        note("Nothing was done.")
        return 1
    if not rekey:
        value = app.engine.vault.reveal(Caller(options.tenant, admin=True), options.id)
        tell(options, {"id": options.id, "value": value}, value)
        return 0
    own = app.settings.vault_key not in ("", "keyring")
    if own:
        note("The new master key: ")
    count = app.rekey_vault(sys.stdin.readline().strip() if own else "")
    tell(options, {"sealed": count}, f"Sealed {count} values with a new master key.")
    return 0


@into(COMMANDS, FILE_OR_STREAM, TENANT)
def export(app: App, options: Options) -> None:
    """Write a tenant as JSON Lines."""
    advance = progress("exporting")
    with _opened(options.file, "w", sys.stdout) as file:
        for count, line in enumerate(app.engine.upkeep.export(options.tenant)):
            file.write(line + "\n")
            advance(count, 0)
    if options.json and options.file != "-":
        tell(options, {"file": options.file, "events": count})
    note(f"Exported {count:,} events of {options.tenant!r}. Left out: secrets in the vault, client keys, vectors.")


@into(COMMANDS, FILE_OR_STREAM, TENANT)
def import_(app: App, options: Options) -> None:
    """Read an export, or lines like {"content": "…"}."""
    with _opened(options.file, "r", sys.stdin) as file:
        made = app.engine.upkeep.import_(Caller(tenant=options.tenant), file, progress("importing"))
    tell(options, {"events": made.events, "items": made.items, "redactions": dict(made.redactions)},
         f"Imported {made.events:,} events, {made.items:,} items.",
         *(f"  redacted: {count} x {kind}" for kind, count in made.redactions.items()))


@into(COMMANDS, option("files", nargs="+", type=Path, metavar="FILE"), TENANT,
      option("--folder", default="", help="where to keep them (/imported/ and the name of the program)"))
def import_chats(app: App, options: Options) -> None:
    """Keep chats from ChatGPT, Claude, Claude Code, Codex or Markdown files; running it again adds nothing twice."""
    report = Report(NOTHING)
    for path in options.files:
        with path.open(encoding="utf-8", errors="replace") as file:
            take(app.engine, Caller(options.tenant), file, path.name, options.folder, report, progress(path.name))
    tell(options, dict(report), *pairs(report))


@contextmanager
def _opened(name: str, mode: str, standard: TextIO) -> Iterator[TextIO]:
    try:
        if name == "-":
            if hasattr(standard, "reconfigure"):
                standard.reconfigure(encoding="utf-8")
            yield standard
        else:
            with open(name, mode, encoding="utf-8") as file:
                yield file  # type: ignore[misc]
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} is not UTF-8 text.", field="file") from error


@into(COMMANDS, bare=True)
def demo(_: None, options: Options) -> None:
    """A short tour in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="memolith-demo-") as folder:
        app = open_app(load({"data": Path(folder)}))
        try:
            told = _tour(app)
        finally:
            app.close()
    tell(options, {"lines": told}, *told)


def _tour(app: App) -> list[str]:
    texts = ("The deploy key for staging rotates every Monday at 09:00.",
             "Maria prefers tea to coffee and never has meetings before ten.",
             "We chose PostgreSQL over MySQL because of row-level security.")
    told = ["memolith remembers:", *(f"  + {text}" for text in texts)]
    items = [app.engine.remember(ME, Draft(blocks=(Block(text),))).item for text in texts]
    for question in ("what does Maria like to drink?", "why this database?"):
        told.append(f"\nrecall {question!r}:")
        told += [f"  {hit.score:.2f} {hit.strength}  {hit.passage.text}"
                 for hit in app.engine.recall(ME, Query(question, limit=1)).hits]
    changed = app.engine.revise(ME, items[1].id, Patch(blocks=(Block("Maria switched to espresso."),)))
    app.engine.past.undo(ME, changed.seq)
    told.append("\nrevised, then undone:")
    for step in app.engine.past.history(ME, items[1].id):
        shown = next((change.new for change in step.changes if change.field == "text"), "")
        told.append(f"  event {step.event.seq}: {step.event.type:10} {shown}")
    _, blocks = app.engine.read(ME, items[1].id)
    told.append(f"  now again: {blocks[0].text}")
    told.append(f"\nverify: {'equal' if not app.engine.upkeep.verify() else 'differs'}")
    return told
