"""Writes until the disk is full, and reports what happens then: `full_disk.py FOLDER CASE`.

The folder is a small disk of its own. Each line is one JSON object: what was tried, and how it
ended.
"""

import os
import sys
from pathlib import Path

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block, PassageRef
from memolith.domain.queries import Query
from memolith.settings import Settings
from tests.checked import present
from tests.programs.children import cli, tell

DISK = Path(sys.argv[1])
ME = Caller()


def ran(*arguments: str) -> dict[str, object]:
    """A command on the full disk."""
    done = cli(DISK / "data", *arguments, MEMOLITH_EMBEDDER="minilm", MEMOLITH_BUSY_S="2")
    return {"code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def fill() -> None:
    """Use up what room is left."""
    with open(DISK / "ballast", "ab", buffering=0) as file:
        for size in (4096, 1):
            try:
                for _ in range(10_000):
                    file.write(bytes(size))
            except OSError:
                continue


def remember(app: App, number: int) -> str:
    text = f"number{number}x " + "and other words that need some room " * 40
    return app.engine.writing.remember(
        ME, Draft(title=f"Item {number}", blocks=(Block(text),))
    ).item.id


def writes() -> None:
    """Writes, reads and commands on a disk that is full."""
    (DISK / "ballast").write_bytes(bytes(1_500_000))
    app = open_app(Settings(data=DISK / "data", busy_s=2))
    ids: list[str] = []
    tell("write", lambda: ids.extend(remember(app, n) for n in range(10_000)))
    tell("fill", fill)
    tell("write again", lambda: remember(app, 20_000))
    tell(
        "revise",
        lambda: (
            app.engine.writing.revise(ME, ids[0], Patch(blocks=(Block("new words " * 3000),))).seq
        ),
    )
    tell("erase", lambda: app.engine.writing.erase(ME, ids[1]))
    tell("acknowledged", lambda: len(ids))
    tell("verify", app.engine.maintenance.verify)
    tell("listed", lambda: app.engine.reading.list_items(ME).total)
    tell("events", lambda: sum(1 for _ in app.engine.maintenance.export(ME.tenant)) - 1)
    tell("by id", lambda: app.engine.reading.read(ME, ids[-1])[0].title)
    tell(
        "by words",
        lambda: app.engine.recall.search(ME, Query(f"number{len(ids) - 1}x", mode="text")).total,
    )
    tell(
        "unwritten",
        lambda: (
            app.engine.recall.search(
                ME, Query(f"number{len(ids)}x number20000x", mode="text")
            ).total
        ),
    )
    tell(
        "by meaning",
        lambda: app.engine.recall.search(ME, Query(f"number{len(ids) - 1}x")).total > 0,
    )
    tell("command list", lambda: ran("list", "--json"))
    tell("command show", lambda: ran("show", ids[0], "--json"))
    tell("command recall", lambda: ran("recall", "number1x", "--json"))
    tell("command remember", lambda: ran("remember", "one more"))
    tell("command export", lambda: ran("export", str(DISK / "export.jsonl")))
    tell("command backup", lambda: ran("backup", str(DISK / "backup.db")))
    tell(
        "left behind",
        lambda: sorted(path.name for path in DISK.iterdir() if path.name.startswith("backup")),
    )
    os.unlink(DISK / "ballast")
    tell("with room", lambda: ran("remember", "this is zorbulax with room", "--json"))
    tell("verify with room", app.engine.maintenance.verify)
    tell(
        "find with room", lambda: app.engine.recall.search(ME, Query("zorbulax", mode="text")).total
    )
    tell("close", app.close)


def snapshot() -> None:
    """A vector snapshot that does not fit."""
    app = open_app(Settings(data=DISK / "data", busy_s=2))
    item = app.engine.writing.remember(
        ME, Draft(kind="conversation", blocks=tuple(Block(f"m {n}") for n in range(3000)))
    ).item
    with app.store.writing(ME.tenant) as rows:
        for ref in range(1, 3001):
            rows.put_vector(
                PassageRef(ref),
                present(app.embedder).id,
                ref.to_bytes(16, "big"),
                bytes(n % 100 + 1 for n in range(384)),
            )
    app.store.shred()
    tell("fill", fill)
    tell("snapshot", lambda: app.embeddings.renew_index(always=True))
    tell("by id", lambda: app.engine.reading.read(ME, item.id)[0].blocks)
    tell("left behind", lambda: sorted(path.name for path in (DISK / "data").glob("*.partial")))


{"writes": writes, "snapshot": snapshot}[sys.argv[2]]()
