"""Commands that look after the data."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from memolith.app import App, open_app, restore_backup
from memolith.doors.examine import examine
from memolith.doors.show import as_json, confirmed, note, out, pairs, progress
from memolith.engine.model import Block, Caller, Draft, Patch
from memolith.engine.recall import Query
from memolith.errors import InvalidInput
from memolith.settings import load

Options = argparse.Namespace
Add = Callable[[str, Callable[[App, Options], int], str], argparse.ArgumentParser]
ME = Caller()


def add_commands(add: Add) -> None:
    """Put the commands of this file on the parser."""
    add("verify", verify, "Prove that tables and indexes equal a replay of the log.")
    add("rebuild", rebuild, "Make tables and indexes anew from the log.")
    add("upkeep", upkeep, "Embed what waits, write a new snapshot, flush and tidy.")
    add("backup", backup, "Copy everything into one file while others go on writing.").add_argument("file", type=Path)
    command = add("restore-backup", restore, "Put a backup into an empty data folder.")
    command.add_argument("file", type=Path)
    command.set_defaults(bare=True)
    add("doctor", doctor, "Versions, sizes, pending work, and what is wrong.")
    command = add("export", export, "Write a tenant as JSON Lines.")
    command.add_argument("file", nargs="?", default="-")
    command.add_argument("--tenant", default="local")
    command = add("import", import_, "Read an export, or lines like {\"content\": \"…\"}.")
    command.add_argument("file", nargs="?", default="-")
    command.add_argument("--tenant", default="local")
    command = add("vault", vault, "Show the value of a key in the vault, or seal all of them with another master key.")
    command.add_argument("action", choices=["reveal", "rekey"])
    command.add_argument("id", nargs="?", default="", help="the id of the key to reveal")
    command.add_argument("--tenant", default="local")
    command.add_argument("--yes", action="store_true", help="do not ask")
    add("demo", demo, "A short tour in a folder of its own.").set_defaults(bare=True)


def verify(app: App, options: Options) -> int:
    """Prove that rows and indexes equal a replay."""
    problems = app.upkeep.verify(progress("verifying"))
    if options.json:
        as_json({"equal": not problems, "problems": problems})
    elif problems:
        for problem in problems:
            out(problem)
        note("The read models differ from the log; `memolith rebuild` makes them anew.")
    else:
        out("equal: tables and indexes are what the log says")
    return 1 if problems else 0


def rebuild(app: App, options: Options) -> int:
    """Make the read models anew."""
    count = app.upkeep.rebuild(progress("rebuilding"))
    app.drop_snapshots()
    if options.json:
        as_json({"events": count})
    else:
        out(f"Rebuilt from {count:,} events.")
    return 0


def upkeep(app: App, options: Options) -> int:
    """Do all background work now."""
    done = app.do_upkeep(progress("embedding"))
    if options.json:
        as_json(done)
    else:
        pairs(done)
    return 0


def backup(app: App, options: Options) -> int:
    """Copy everything into one file."""
    if options.file.exists():
        raise InvalidInput(f"{options.file} exists already; choose another name.", field="file")
    if not options.file.parent.is_dir():
        raise InvalidInput(f"There is no folder {options.file.parent}.", field="file")
    app.store.backup(options.file, progress("copying"))
    size = options.file.stat().st_size
    if options.json:
        as_json({"file": str(options.file), "bytes": size})
    else:
        out(f"Backed up to {options.file} ({size:,} bytes).")
    return 0


def restore(app: App, options: Options) -> int:
    """Put a backup into an empty data folder."""
    settings = load({"data": options.data})
    restore_backup(options.file, settings.data)
    if options.json:
        as_json({"data": str(settings.data)})
    else:
        out(f"Restored into {settings.data}.")
    return 0


def doctor(app: App, options: Options) -> int:
    """What is here, and what is wrong."""
    facts, problems = examine(app)
    if options.json:
        as_json(facts | {"problems": problems})
        return 1 if problems else 0
    pairs(facts)
    for problem in problems:
        out(f"! {problem}")
    out("Nothing is wrong." if not problems else f"{len(problems)} to look at.")
    return 1 if problems else 0


def vault(app: App, options: Options) -> int:
    """Reveal a value to the person at this machine, or change the master key."""
    rekey = options.action == "rekey"
    if not confirmed(options, "Seal all with a new master key?" if rekey else f"Show the value of {options.id}?"):
        note("Nothing was done.")
        return 1
    if not rekey:
        value = app.engine.vault.reveal(Caller(options.tenant, admin=True), options.id)
        as_json({"id": options.id, "value": value}) if options.json else out(value)
        return 0
    own = app.settings.vault_key not in ("", "keyring")
    if own:
        note("The new master key: ")
    count = app.rekey_vault(sys.stdin.readline().strip() if own else "")
    as_json({"sealed": count}) if options.json else out(f"Sealed {count} values with a new master key.")
    return 0


def export(app: App, options: Options) -> int:
    """Write a tenant as JSON Lines."""
    tell = progress("exporting")
    with _opened(options.file, "w", sys.stdout) as file:
        for count, line in enumerate(app.upkeep.export(options.tenant)):
            file.write(line + "\n")
            tell(count, 0)
    if options.json and options.file != "-":
        as_json({"file": options.file, "events": count})
    note(f"Exported {count:,} events of {options.tenant!r}. Left out: secrets in the vault, client keys, vectors.")
    return 0


def import_(app: App, options: Options) -> int:
    """Bring in an export or plain lines."""
    with _opened(options.file, "r", sys.stdin) as file:
        made = app.upkeep.import_(Caller(tenant=options.tenant), file, progress("importing"))
    if options.json:
        as_json({"events": made.events, "items": made.items, "redactions": dict(made.redactions)})
    else:
        out(f"Imported {made.events:,} events, {made.items:,} items.")
        for kind, count in made.redactions.items():
            out(f"  redacted: {count} x {kind}")
    return 0


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


def demo(_: App | None, options: Options) -> int:
    """Remember, find, change and undo before the eyes of a newcomer."""
    with tempfile.TemporaryDirectory(prefix="memolith-demo-") as folder:
        app = open_app(load({"data": Path(folder)}))
        try:
            told = _tour(app)
        finally:
            app.close()
    if options.json:
        as_json({"lines": told})
    else:
        out("\n".join(told))
    return 0


def _tour(app: App) -> list[str]:
    texts = ("The deploy key for staging rotates every Monday at 09:00.",
             "Maria prefers tea to coffee and never has meetings before ten.",
             "We chose PostgreSQL over MySQL because of row-level security.")
    told = ["memolith remembers:", *(f"  + {text}" for text in texts)]
    items = [app.engine.remember(ME, Draft(blocks=(Block(text),))).item for text in texts]
    for question in ("what does Maria like to drink?", "why this database?"):
        told.append(f"\nrecall {question!r}:")
        told += [f"  {hit.score:.2f} {hit.strength}  {hit.passage.text}"
                 for hit in app.recall.recall(ME, Query(question, limit=1)).hits]
    changed = app.engine.revise(ME, items[1].id, Patch(blocks=(Block("Maria switched to espresso."),)))
    app.past.undo(ME, changed.seq)
    told.append("\nrevised, then undone:")
    for step in app.past.history(ME, items[1].id):
        shown = next((change.new for change in step.changes if change.field == "text"), "")
        told.append(f"  event {step.event.seq}: {step.event.type:10} {shown}")
    _, blocks = app.engine.read(ME, items[1].id)
    told.append(f"  now again: {blocks[0].text}")
    told.append(f"\nverify: {'equal' if not app.upkeep.verify() else 'differs'}")
    return told
