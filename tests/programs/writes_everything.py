"""Writes everything that memolith writes on a machine, with a umask that protects nothing.

Usage: writes_everything.py DATA PLACE. Says `ready` while a runner is alive, ends after a line.
"""

import os
import sys
from pathlib import Path

os.umask(0)

from memolith.adapters.master_keys import load_cipher  # noqa: E402 - the umask goes first
from memolith.bootstrap import open_app  # noqa: E402
from memolith.domain.callers import Caller  # noqa: E402
from memolith.doors.cli import transfer  # noqa: E402
from memolith.doors.hooks.run import log_failure  # noqa: E402
from memolith.doors.http.auth.keys import local_key  # noqa: E402
from memolith.doors.mcp.start_cache import StartCache  # noqa: E402
from memolith.paths import cache_folder  # noqa: E402
from memolith.retrieval.vectors.snapshot import (  # noqa: E402
    SnapshotFiles,
    SnapshotMarks,
    write_snapshot,
)
from memolith.settings import Settings  # noqa: E402
from memolith.store_copy import backup  # noqa: E402
from memolith.tools.call import Call  # noqa: E402


def main() -> None:
    data, place = map(Path, sys.argv[1:])
    app = open_app(Settings(data=data, embedder="none", runner_preload=()))
    me = Caller()

    def call(tool: str, **arguments: object) -> dict[str, object]:
        outcome = app.registry.run(tool, arguments, Call(me, app.engine))
        assert outcome.ok, outcome.body
        return dict(outcome.body)

    call("remember", content="a thing to remember")
    load_cipher("", data)
    source = place / "notes.txt"
    with open(source, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write("some notes about zebras")
    id = app.engine.documents.ingest(me, source, "notes.txt").item.id
    local_key(data, app.keys, "2026-01-01T00:00:00Z")
    log_failure(data, ["stop"], ValueError())
    StartCache(cache_folder(str(data)), "all", read_only=False).write({})
    marks = SnapshotMarks("database", "model", 0, 0)
    write_snapshot(SnapshotFiles(data, "model").next_path(), 64, iter(()), marks)
    with transfer.opened_for_writing(str(place / "export.jsonl"), force=False) as export:
        export.writelines(app.engine.maintenance.export("local"))
    backup(app.store, app.files, place / "backup.db", lambda done, total: None)
    executor = app.sandbox.create((me.tenant, me.user))
    ran = app.sandbox.run(
        (me.tenant, me.user),
        executor,
        f"print(get_memory_path({id!r}, 'notes.txt').read_text())\nopen('scratch.txt', 'w')",
        lambda wanted: app.engine.documents.stored(me, wanted),
        lambda: False,
    )
    assert ran.stdout == "some notes about zebras\n", ran
    print("ready", flush=True)
    sys.stdin.readline()
    app.close()


main()
