"""The library: the same methods on a data folder and on a server."""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pytest
from scripts.library_families import LEFT_OUT, modules

from memolith import AsyncMemory, Memory
from memolith.bootstrap import families
from memolith.doors.library import http_transport
from memolith.doors.library.families.lanonasis import CreateMemoryResult
from memolith.doors.library.records import Record
from memolith.errors import (
    Denied,
    InvalidInput,
    NotFound,
    NotUndoable,
    ServerUnreachable,
    Unauthenticated,
    Unavailable,
    VersionConflict,
)
from tests.programs.pipes import silent_port
from tests.programs.served import Served, thread


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with thread(tmp_path / "server") as server:
        yield server


@contextmanager
def opened(where: str, folder: Path) -> Iterator[Memory]:
    if where == "folder":
        with Memory(folder / "notes", embedder="none") as memory:
            yield memory
        return
    with (
        thread(folder / "server") as server,
        Memory(url=server.url, key=server.admin) as memory,
    ):
        yield memory


@pytest.fixture(params=["folder", "server"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """A memory without a model, on a folder and on a server."""
    with opened(request.param, tmp_path) as made:
        yield made


def test_what_is_remembered_is_recalled(memory: Memory) -> None:
    kept = memory.remember("Maria prefers tea.", tags=["people"], metadata={"source": "chat"})
    [hit] = memory.recall("what does Maria prefer?")
    assert (hit.id, hit.text, hit["text"]) == (kept.id, "Maria prefers tea.", "Maria prefers tea.")
    assert 0 < hit.score <= 1
    assert hit.strength in ("strong", "likely", "weak")
    assert hit.created_at == hit.at == memory.get(kept.id).created_at
    assert hit.superseded_by is None


def test_a_search_can_be_narrowed_and_paged(memory: Memory) -> None:
    for number in range(3):
        memory.remember(f"Zebra number {number}.", tags=["even"] if number % 2 == 0 else [])
    found = memory.recall("zebra", tags=["even"], limit=1)
    assert (len(found), found.total) == (1, 2)
    rest = memory.recall("zebra", tags=["even"], limit=1, offset=1)
    assert {found[0].text, rest[0].text} == {"Zebra number 0.", "Zebra number 2."}
    assert list(memory.recall("zorplim")) == []


def test_a_context_is_a_text_with_sources(memory: Memory) -> None:
    kept = memory.remember("Maria prefers tea.")
    context = memory.context("What does Maria prefer?", budget_tokens=200)
    assert "Maria prefers tea." in str(context)
    assert [citation.id for citation in context.citations] == [kept.id]


def test_items_are_read_listed_and_changed(memory: Memory) -> None:
    first = memory.remember("The first.", title="One")
    second = memory.remember("The second.", tags=["b"])
    assert [item.id for item in memory.list()] == [second.id, first.id]
    assert [item.id for item in memory.list(tags=["b"])] == [second.id]
    changed = memory.revise(first.id, "The first, corrected.", expected_version=1)
    item = memory.get(first.id)
    assert (item.content, item.title, item.version) == ("The first, corrected.", "One", 2)
    assert changed.version == 2
    memory.undo(changed.event)
    assert memory.get(first.id).content == "The first."
    assert [event.type for event in memory.history(first.id)][:2] == ["remembered", "revised"]


def test_what_is_forgotten_can_be_restored(memory: Memory) -> None:
    kept = memory.remember("A zebra.")
    memory.forget(kept.id)
    assert list(memory.recall("zebra")) == []
    assert [item.id for item in memory.list(forgotten=True)] == [kept.id]
    memory.restore(kept.id)
    assert [hit.id for hit in memory.recall("zebra")] == [kept.id]


def test_what_is_erased_is_gone(memory: Memory) -> None:
    kept = memory.remember("A zebra.")
    memory.erase(kept.id)
    with pytest.raises(NotFound):
        memory.get(kept.id)


def test_an_item_that_is_not_there_is_named(memory: Memory) -> None:
    with pytest.raises(NotFound, match="There is no item 'nope'"):
        memory.get("nope")


def test_items_are_linked(memory: Memory) -> None:
    one = memory.remember("One.")
    two = memory.remember("Two.")
    link = memory.link(one.id, two.id, "depends_on", strength=0.5)
    assert (link.source, link.target, link.type, link.strength) == (
        one.id,
        two.id,
        "depends_on",
        0.5,
    )
    around = memory.explore(one.id)
    assert [item.id for item in around.items if item.distance == 1] == [two.id]
    assert [made.id for made in around.links] == [link.id]


def test_a_file_is_taken_in(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text("thing,price\nviolin,900\n", encoding="utf-8")
    file = memory.ingest(path)
    assert (file.name, file.known) == ("prices.csv", False)
    assert memory.ingest(path).known
    assert memory.overview().counts == {"document": 1}
    with pytest.raises(InvalidInput, match="There is no file"):
        memory.ingest(tmp_path / "missing.csv")


def test_everything_can_be_taken_out_and_brought_in(memory: Memory, tmp_path: Path) -> None:
    kept = memory.remember("Größe: 3 m.")
    memory.revise(kept.id, "Größe: 4 m.")
    path = tmp_path / "export.jsonl"
    assert memory.export_to(path) == 2
    with pytest.raises(InvalidInput, match="overwrite"):
        memory.export_to(path)
    assert memory.export_to(path, overwrite=True) == 2
    with Memory(tmp_path / "other", embedder="none") as other:
        report = other.import_from(path)
        assert (report.events, report.items) == (2, 1)
        assert other.get(kept.id).content == "Größe: 4 m."
        assert [event.type for event in other.history(kept.id)] == ["remembered", "revised"]


def test_an_export_keeps_every_separator_of_lines(memory: Memory, tmp_path: Path) -> None:
    text = "one\u2028two\u2029three\x85four\x0bfive\x1csix"
    kept = memory.remember(text)
    path = tmp_path / "export.jsonl"
    assert memory.export_to(path) == 1
    with Memory(tmp_path / "other", embedder="none") as other:
        other.import_from(path)
        assert other.get(kept.id).content == text


def test_a_file_that_is_imported_twice_adds_nothing(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text('{"content": "A zebra."}\n', encoding="utf-8")
    memory.import_from(path)
    again = memory.import_from(path)
    assert (again.items, again.known, len(memory.list())) == (0, 1, 1)


def test_an_export_that_is_here_already_adds_nothing(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    memory.remember("A zebra.")
    memory.export_to(path)
    report = memory.import_from(path)
    assert (report.events, report.known, len(memory.list())) == (0, 1, 1)


def test_a_wrong_line_leaves_nothing_of_an_import(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="Line 2"):
        memory.import_from([json.dumps({"content": "A zebra."}), "{"])
    assert list(memory.list()) == []


def test_errors_are_exceptions_of_their_class(memory: Memory) -> None:
    kept = memory.remember("A zebra.")
    with pytest.raises(NotFound):
        memory.get("01a00000-0000-7000-8000-000000000000")
    with pytest.raises(VersionConflict):
        memory.revise(kept.id, "An ass.", expected_version=7)
    with pytest.raises(InvalidInput) as refused:
        memory.recall("zebra", kinds=["animal"])
    assert refused.value.field == "kinds"
    with pytest.raises(InvalidInput) as refused:
        memory.recall("zebra", limit=0)
    assert refused.value.field == "limit"
    with pytest.raises(NotFound, match="There is no"):
        memory.call("no_such_tool")
    event = memory.history(kept.id)[0].event
    memory.erase(kept.id)
    with pytest.raises((NotUndoable, NotFound)):
        memory.undo(event)


def test_a_write_with_a_key_is_done_once(memory: Memory) -> None:
    first = memory.remember("A zebra.", idempotency_key="one")
    assert memory.remember("A zebra.", idempotency_key="one") == first
    assert memory.list().total == 1


def test_the_families_are_methods_with_typed_results(memory: Memory) -> None:
    made = memory.lanonasis.create_memory(title="Deploys", content="Staging needs the VPN.")
    assert isinstance(made, CreateMemoryResult)
    assert (made.memory_type, made.summary) == ("context", None)
    found = memory.lanonasis.search_memories(query="staging", tags=[])
    assert [hit.id for hit in found.results] == [made.id]
    with pytest.raises(NotFound):
        memory.lanonasis.get_memory(memory_id="01a00000-0000-7000-8000-000000000000")
    captured = memory.subcog.subcog_capture(content="We use Kafka.", namespace="decisions")
    assert memory.get(str(captured["id"])).content == "We use Kafka."


def test_every_documented_tool_is_a_method() -> None:
    documented = [
        family for family in families() if family.name not in LEFT_OUT and not family.apart
    ]
    assert sum(len(family.tools) for family in documented) >= 78
    for family in documented:
        module = import_module(f"memolith.doors.library.families.{family.name}")
        blocking = vars(module)[family.name.capitalize()]
        waiting = vars(module)["Async" + family.name.capitalize()]
        for tool in family.tools:
            parameters = set(inspect.signature(getattr(blocking, tool.name)).parameters)
            assert parameters - {"self"} == set(tool.input_schema.get("properties", {}))
            assert inspect.iscoroutinefunction(getattr(waiting, tool.name))


def test_the_typed_methods_are_those_of_the_tools() -> None:
    for path, text in modules():
        assert path.read_text(encoding="utf-8") == text, f"run `make snap`: {path.name}"


def test_a_memory_can_be_awaited(tmp_path: Path) -> None:
    async def use() -> tuple[str, list[str], int]:
        async with AsyncMemory(tmp_path / "notes", embedder="none") as memory:
            kept = await memory.remember("Maria prefers tea.")
            await asyncio.gather(*(memory.remember(f"Note {number}.") for number in range(20)))
            hits = await memory.recall("Maria")
            made = await memory.lanonasis.create_memory(title="One", content="Two.")
            return kept.id, [hit.id for hit in hits], (await memory.list()).total + bool(made.id)

    id, hits, total = asyncio.run(use())
    assert (hits, total) == ([id], 23)


def test_every_method_can_be_awaited() -> None:
    public = {name for name in vars(Memory) if not name.startswith("_")}
    assert public <= set(dir(AsyncMemory))
    for name in public:
        assert inspect.signature(getattr(AsyncMemory, name)) == inspect.signature(
            getattr(Memory, name)
        )


def test_a_key_without_the_scope_is_denied(served: Served, tmp_path: Path) -> None:
    with Memory(url=served.url, key=served.key("ann", "local", "read")) as memory:
        with pytest.raises(Denied):
            memory.remember("A zebra.")
        with pytest.raises(Denied):
            memory.export_to(tmp_path / "export.jsonl")
        with pytest.raises(Denied):
            memory.import_from(["{}"])
    with Memory(url=served.url, key="mlk_wrong") as memory, pytest.raises(Unauthenticated):
        memory.recall("zebra")


def test_a_project_is_worked_in(served: Served) -> None:
    with Memory(url=served.url, key=served.admin, project="zoo") as memory:
        kept = memory.remember("A zebra.")
        assert memory.get(kept.id).project == "zoo"


def test_a_server_that_is_away_is_told_in_plain_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_transport, "RETRY_PAUSES_S", (0.0, 0.0))
    with (
        Memory(url=f"http://127.0.0.1:{silent_port()}", key="mlk_any") as memory,
        pytest.raises(ServerUnreachable, match="cannot be reached"),
    ):
        memory.recall("zebra")


class Faltering(BaseHTTPRequestHandler):
    """Refuses the first request for a moment, and then answers; notes the keys it was sent."""

    keys: ClassVar[list[str | None]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.keys.append(self.headers["idempotency-key"])
        busy = len(self.keys) == 1
        body = b'{"error": "busy", "message": "Busy."}' if busy else b'{"id": "one"}'
        self.send_response(503 if busy else 200)
        self.send_header("content-length", str(len(body)))
        self.send_header("x-error-type", "store_busy")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def test_a_call_is_repeated_with_the_same_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_transport, "MAX_PAUSE_S", 0.0)
    monkeypatch.setattr(Faltering, "keys", [])
    with ThreadingHTTPServer(("127.0.0.1", 0), Faltering) as server:
        running = threading.Thread(target=server.serve_forever)
        running.start()
        with Memory(url=f"http://127.0.0.1:{server.server_port}", key="mlk_any") as memory:
            assert memory.remember("A zebra.").id == "one"
        server.shutdown()
        running.join()
    first, second = Faltering.keys
    assert first == second
    assert first


class SignInPage(BaseHTTPRequestHandler):
    """What a proxy puts before a server: every request gets the same answer."""

    status: ClassVar[int] = 200
    body: ClassVar[bytes] = b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET()

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("content-length", str(len(self.body)))
        self.send_header("location", "/sign-in")
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html>Sign in</html>"),
        (302, b""),
        (302, b"{}"),
        (200, b"[1]"),
        (200, b"[" * 100_000),
    ],
    ids=["page", "redirect", "redirect with JSON", "list", "deep"],
)
def test_an_answer_that_is_not_ours_is_never_taken_for_a_good_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: int, body: bytes
) -> None:
    monkeypatch.setattr(SignInPage, "status", status)
    monkeypatch.setattr(SignInPage, "body", body)
    path = tmp_path / "export.jsonl"
    with ThreadingHTTPServer(("127.0.0.1", 0), SignInPage) as server:
        running = threading.Thread(target=server.serve_forever)
        running.start()
        with Memory(url=f"http://127.0.0.1:{server.server_port}", key="mlk_any") as memory:
            with pytest.raises(Unavailable, match="is no server of memolith"):
                memory.remember("A zebra.")
            path.write_text("the export before", encoding="utf-8")
            with pytest.raises(Unavailable, match="is no server of memolith"):
                memory.export_to(path, overwrite=True)
        server.shutdown()
        running.join()
    assert [file.name for file in tmp_path.iterdir()] == ["export.jsonl"]
    assert path.read_text(encoding="utf-8") == "the export before"


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="A server needs a key"):
        Memory(url="http://127.0.0.1:1")
    with pytest.raises(InvalidInput, match="A key is for a server"):
        Memory(tmp_path, key="mlk_any")
    with pytest.raises(InvalidInput, match="its own folder"):
        Memory(tmp_path, url="http://127.0.0.1:1", key="mlk_any")
    with pytest.raises(InvalidInput, match="no_such_setting"):
        Memory(tmp_path, no_such_setting=1)


def test_a_record_shows_its_fields() -> None:
    record = Record({"id": "one", "items": [1]})
    assert (record.id, record.items, "id" in record) == ("one", [1], True)
    assert record.as_dict() == {"id": "one", "items": [1]}
    assert repr(record) == "Record(id='one', items=[1])"
    with pytest.raises(AttributeError, match="no field 'missing'"):
        _ = record.missing


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import memolith, sys; print('pydantic' in sys.modules, 'apsw' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
