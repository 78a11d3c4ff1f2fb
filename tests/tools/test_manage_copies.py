"""`start_copy`, `list_copies` and `delete_copy`: all that is remembered, to be taken home."""

import json
import tarfile
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from memolith.bootstrap import App, families, restore_backup
from memolith.domain.callers import Caller
from memolith.engine.recording import Recorder
from memolith.errors import Conflict, Denied, NotFound
from memolith.ports.copies import Copy
from memolith.storage.sqlite.store import SqliteStore
from memolith.tools.call import Call
from memolith.tools.registry import Registry
from tests.conftest import ME, note
from tests.stores import each_store

pytestmark = each_store
PATIENCE_S = 120
GLOBEX = Caller(tenant="globex")


def ask(app: App, tool: str, call: Call | None = None, /, **arguments: Any) -> dict[str, Any]:
    outcome = Registry(families()).run(tool, arguments, call or Call(ME, app.engine))
    if outcome.error:
        raise outcome.error
    return dict(outcome.body)


def finished(app: App, id: str) -> dict[str, Any]:
    """The copy when it is ready or has failed."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        for copy in ask(app, "list_copies")["copies"]:
            if copy["id"] == id and copy["state"] != "running":
                return dict(copy)
        threading.Event().wait(0.02)
    pytest.fail("the copy was never finished")


def test_an_export_holds_the_log_of_the_tenant(app: App) -> None:
    app.engine.writing.remember(ME, note("Otters hold hands.", id="otters"))
    app.engine.writing.remember(GLOBEX, note("Goats climb."))
    started = ask(app, "start_copy", kind="export")
    assert (started["state"], started["user"]) == ("running", "local")
    copy = finished(app, started["id"])
    assert (copy["state"], copy["done"], copy["total"]) == ("ready", 2, 2)
    opened, stream = app.engine.copying.open(ME, copy["id"])
    stream.close()
    file = app.settings.data / "copies" / opened.id
    assert file.stat().st_size == copy["bytes"]
    assert file.stat().st_mode & 0o077 == 0
    header, *events = map(json.loads, file.read_text().splitlines())
    assert header["events"] == len(events) == 2
    assert events[0]["event"]["stream"] == "otters"
    assert "Goats" not in file.read_text()


def test_a_copy_begins_when_its_entry_in_the_log_is_kept(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = []

    def look_from_another_thread(copy: Copy) -> None:
        other = threading.Thread(target=lambda: headers.append(next(lines(copy.tenant))))
        other.start()
        other.join()

    def lines(tenant: str) -> Iterator[str]:
        return iter(app.copies._export(tenant))

    monkeypatch.setattr(app.copies, "start", look_from_another_thread)
    ask(app, "start_copy", kind="export")
    assert [json.loads(header)["events"] for header in headers] == [1]


def test_a_copy_that_the_log_does_not_keep_is_not_made_and_stands_in_no_way(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise Conflict("The log is closed.")

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "tell", refuse)
        with pytest.raises(Conflict, match="closed"):
            ask(app, "start_copy", kind="export")
    assert ask(app, "list_copies")["copies"] == []
    copy = finished(app, ask(app, "start_copy", kind="export")["id"])
    assert copy["state"] == "ready"


def test_the_log_tells_who_made_a_copy(app: App) -> None:
    finished(app, ask(app, "start_copy", kind="export")["id"])
    (event,) = ask(app, "list_events", types=["copied"])["events"]
    assert (event["by"], event["about"]) == ("local", "everything, as export")


@pytest.mark.stores("sqlite")
def test_a_backup_can_be_restored_with_its_files(app: App, tmp_path: Any) -> None:
    app.engine.writing.remember(ME, note("Otters hold hands.", id="otters"))
    (app.files / "a").mkdir(parents=True)
    (app.files / "a" / "b").write_text("kelp")
    copy = finished(app, ask(app, "start_copy", kind="backup")["id"])
    assert copy["state"] == "ready", copy
    _, file = app.engine.copying.open(ME, copy["id"])
    with file, tarfile.open(fileobj=file) as archive:
        archive.extractall(tmp_path / "home", filter="data")
    assert (tmp_path / "home/memolith-backup.db.files/a/b").read_text() == "kelp"
    restore_backup(tmp_path / "home/memolith-backup.db", tmp_path / "restored")
    store = SqliteStore(tmp_path / "restored")
    with store.reading("local") as rows:
        assert rows.item("local", "otters") is not None
    store.close()


@pytest.mark.stores("postgres")
def test_a_backup_of_postgres_fails_with_the_command_that_makes_one(app: App) -> None:
    copy = finished(app, ask(app, "start_copy", kind="backup")["id"])
    assert copy["state"] == "failed"
    assert "pg_dump" in copy["problem"]


@pytest.fixture
def endless(app: App, monkeypatch: pytest.MonkeyPatch) -> str:
    """An export that does not end by itself."""

    def lines(_: str) -> Iterator[str]:
        yield json.dumps({"events": 9})
        while True:
            yield "{}"

    monkeypatch.setattr(app.copies, "_export", lines)
    return str(ask(app, "start_copy", kind="export")["id"])


def test_only_one_copy_is_made_at_a_time_and_it_can_be_stopped(app: App, endless: str) -> None:
    with pytest.raises(Conflict, match="being made already"):
        ask(app, "start_copy", kind="export")
    with pytest.raises(Conflict, match="not ready"):
        app.engine.copying.open(ME, endless)
    assert ask(app, "delete_copy", id=endless) == {"deleted": True}
    assert ask(app, "list_copies")["copies"] == []
    assert list((app.settings.data / "copies").iterdir()) == []
    assert ask(app, "delete_copy", id=endless) == {"deleted": False}


def test_a_copy_that_is_being_made_ends_with_the_server(app: App, endless: str) -> None:
    app.copies.close()
    assert list((app.settings.data / "copies").iterdir()) == []


def test_the_copies_of_another_tenant_are_out_of_reach(app: App) -> None:
    copy = finished(app, ask(app, "start_copy", kind="export")["id"])
    theirs = Call(GLOBEX, app.engine)
    assert ask(app, "list_copies", theirs)["copies"] == []
    assert ask(app, "delete_copy", theirs, id=copy["id"]) == {"deleted": False}
    with pytest.raises(NotFound):
        app.engine.copying.open(GLOBEX, copy["id"])
    with pytest.raises(Denied, match="owns this server"):
        ask(app, "start_copy", theirs, kind="backup")
