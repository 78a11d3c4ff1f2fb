"""The stdio server as a real process: both eras, any timing, closed pipes, a light start."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from memolith.doors.mcp import stdio_front
from memolith.doors.mcp.frames import IDEMPOTENCY_KEY
from memolith.doors.mcp.start_cache import StartCache
from memolith.doors.mcp.stdio_front import Front, Wire, run_plain_call
from memolith.tools.call import Call
from memolith.tools.family import Family
from memolith.tools.registry import Registry
from tests.checked import answered, keyed, present, resource_text, text_of
from tests.demo_engine import DemoEngine
from tests.demo_family import Said, registry
from tests.programs.pipes import (
    ENVELOPE,
    HANDSHAKES,
    INITIALIZED,
    MIXED,
    MODERN,
    SERVER,
    TIMEOUT_S,
    Pipe,
    encoded,
    initialize,
    request,
    tool,
)

NO_CACHE = os.path.join(os.devnull, "missing")
HEAVY = {
    "pydantic",
    "pydantic_core",
    "mcp",
    "mcp_types",
    "anyio",
    "asyncio",
    "starlette",
    "numpy",
    "apsw",
    "httpx2",
    "logging",
    "typing",
    "importlib.metadata",
    "memolith.tools.registry",
    "memolith.engine",
    "memolith.domain",
    "pathlib",
    "demo_family",
}


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A cache folder with the answers of the demo family."""
    folder = tmp_path_factory.mktemp("cache")
    subprocess.run(
        [sys.executable, str(SERVER), "prepare", str(folder)], check=True, timeout=TIMEOUT_S
    )
    return str(folder)


def shake_hands(pipe: Pipe, version: str = HANDSHAKES[-1]) -> dict[str, Any]:
    answer = pipe.ask(initialize("hello", version))
    pipe.send(INITIALIZED)
    return answer


def test_nothing_heavy_is_imported_before_the_list_is_answered(
    prepared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A program whose coverage is measured imports what measures it.
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
    with Pipe("modules", prepared) as pipe:
        shake_hands(pipe)
        assert pipe.ask(request(2, "tools/list"))["result"]["tools"]
        pipe.process.wait(TIMEOUT_S)
        pipe.readers[1].join(TIMEOUT_S)
        modules = {line.decode().strip() for line in pipe.complaints}
    assert "memolith.doors.mcp.stdio_front" in modules
    assert not {name for name in modules if name in HEAVY or name.split(".")[0] in HEAVY}


def test_the_app_is_opened_only_after_the_list_was_answered(prepared: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Pipe("stdio", prepared, env={"DEMO_LOG": str(log)}) as pipe:
        pipe.ask(request(1, "server/discover", modern=True))
        shake_hands(pipe)
        pipe.ask(request(2, "ping"))
        assert not log.exists()
        assert pipe.end() == 0
        assert not log.exists()
    with Pipe("stdio", prepared, env={"DEMO_LOG": str(log)}) as pipe:
        shake_hands(pipe)
        pipe.ask(tool(3, "get_note", note_id="one"))
        assert pipe.end() == 0
        assert log.read_text().split() == ["opened", "closed"]


@pytest.mark.parametrize("version", [*HANDSHAKES, MODERN])
def test_prepared_answers_are_what_the_sdk_answers(prepared: str, version: Any) -> None:
    modern = version == MODERN
    asked = [
        request(2, "tools/list", modern),
        *([request(1, "server/discover", True)] if modern else [request(3, "ping")]),
    ]
    found = []
    for path in (prepared, NO_CACHE):
        with Pipe("stdio", path) as pipe:
            opening = [] if modern else [shake_hands(pipe, version)]
            found.append(opening + [pipe.ask(message) for message in asked])
            assert pipe.end() == 0
    assert found[0] == found[1]
    assert all("result" in answer for answer in found[0])


WITHOUT_ENGINE: Any = SimpleNamespace(engine=DemoEngine())
EARLY: list[tuple[str, dict[str, Any]]] = [
    ("get_note", {"note_id": "umlaut"}),
    ("get_note", {"note_id": "none"}),
    ("get_note", {"note_id": 1}),
    ("list_notes", {"limit": 2}),
    ("coded_fail", {"kind": "not_found"}),
    ("get_note", {}),
]


@pytest.mark.parametrize("version", [*HANDSHAKES, MODERN])
def test_a_call_that_comes_before_the_sdk_is_answered_as_the_sdk_would(
    prepared: str, version: Any
) -> None:
    modern = version == MODERN
    found = []
    for path in (prepared, NO_CACHE):
        with Pipe("stdio", path) as pipe:
            if not modern:
                shake_hands(pipe, version)
            found.append(
                [
                    pipe.ask(tool(number, name, modern, **given))
                    for number, (name, given) in enumerate(EARLY)
                ]
            )
            assert pipe.end() == 0
    assert found[0] == found[1]


def early(
    message: dict[str, Any], prepared: str, version: str | None = HANDSHAKES[-1]
) -> dict[str, Any] | None:
    """What is answered without the SDK."""
    front = Front(Wire(0, 1), StartCache(prepared, "all", False).read())
    front.version = version
    found = run_plain_call(front, WITHOUT_ENGINE, registry().choose("all"), message)
    return None if found is None else json.loads(found)


def test_only_plain_calls_are_answered_without_the_sdk(prepared: str) -> None:
    plain = tool(1, "get_note", note_id="one")
    assert present(early(plain, prepared))["structuredContent"]["text"] == "the first note"
    modern = early(tool(1, "get_note", True, note_id="one"), prepared, None)
    assert present(modern)["resultType"] == "complete"
    assert present(early(tool(1, "get_note", note_id="none"), prepared))["isError"]
    assert early(plain, prepared, None) is None
    assert early(plain, prepared, "2025-03-26") is None
    for name in ("slow", "no_such_tool", 1, None):
        message = request(1, "tools/call", name=name, arguments={})
        assert early(message, prepared) is None
    changes: list[dict[str, Any]] = [
        {"id": None},
        {"id": 1.5},
        {"jsonrpc": "1.0"},
        {"params": []},
        {"method": "resources/read"},
    ]
    for change in changes:
        assert early(plain | change, prepared) is None
    of_params: list[dict[str, Any]] = [
        {"arguments": []},
        {"arguments": None},
        {"_meta": 1},
        {"requestState": "x"},
        {"inputResponses": {}},
    ]
    for change in of_params:
        assert early(plain | {"params": plain["params"] | change}, prepared) is None


def test_no_call_comes_before_one_that_is_left_to_the_sdk(prepared: str) -> None:
    (inlet, client_out), (client_in, outlet) = os.pipe(), os.pipe()
    front = Front(Wire(inlet, outlet), StartCache(prepared, "all", False).read())
    for message in (
        initialize(),
        *(tool(number, name) for number, name in enumerate(["a", "b", "c", "d"], 2)),
    ):
        front.handle_frame(encoded(message).strip())
    front.try_calls(lambda message: b"{}" if message["params"]["name"] in "abd" else None)
    passed: list[bytes | None] = []
    front.take_over(passed.append)
    for end in (inlet, client_out, outlet):
        os.close(end)
    with open(client_in, "rb") as answers:
        assert [json.loads(line)["id"] for line in answers] == [1, 2, 3]
    assert [json.loads(line)["id"] for line in passed if line] == [1, 4, 5]


def test_a_writing_call_runs_once_whoever_takes_over_meanwhile(prepared: str) -> None:
    note = tool(1, "add_note", text="once")
    assert early(note, prepared) is not None
    for meta in ({"progressToken": 1}, {IDEMPOTENCY_KEY: "k"}):
        assert early(note | {"params": note["params"] | {"_meta": meta}}, prepared) is None
    (inlet, client_out), (client_in, outlet) = os.pipe(), os.pipe()
    front = Front(Wire(inlet, outlet), StartCache(prepared, "all", False).read())
    for message in (initialize(), tool(2, "a"), tool(3, "b")):
        front.handle_frame(encoded(message).strip())
    passed: list[bytes | None] = []
    tried: list[str] = []

    def call(message: dict[str, Any]) -> bytes | None:
        tried.append(message["params"]["name"])
        front.take_over(passed.append)
        return b"{}"

    front.try_calls(call)
    assert tried == ["a"]
    for end in (inlet, client_out, outlet):
        os.close(end)
    with open(client_in, "rb") as answers:
        assert [json.loads(line)["id"] for line in answers] == [1, 2]
    assert [json.loads(line)["id"] for line in passed if line] == [1, 3]


def test_a_call_that_turns_out_to_need_the_sdk_goes_to_it_also_after_the_hand_over(
    prepared: str,
) -> None:
    front = Front(Wire(0, 1), StartCache(prepared, "all", False).read())
    front.handle_frame(encoded(tool(1, "a", True)).strip())
    passed: list[bytes | None] = []
    front.try_calls(lambda message: front.take_over(passed.append))
    assert [json.loads(line)["id"] for line in passed if line] == [1]


def test_a_tool_that_must_reach_the_client_is_left_to_the_sdk(prepared: str) -> None:
    family = Family("reaching")

    @family.tool(read_only=True)
    def count(call: Call) -> Said:
        """Tell how far it is."""
        call.progress(1, 2, "half")
        return {"text": "done"}

    @family.tool(read_only=True)
    def ask(call: Call) -> Said:
        """Ask the user."""
        return {"text": str(call.elicit and call.elicit("Sure?", {}))}

    front = Front(Wire(0, 1), StartCache(prepared, "all", False).read())
    front.version = HANDSHAKES[-1]

    def tried(message: dict[str, Any]) -> bytes | None:
        return run_plain_call(front, WITHOUT_ENGINE, Registry([family]), message)

    assert b"done" in present(tried(tool(1, "count")))
    assert tried(request(1, "tools/call", name="count", _meta={"progressToken": 1})) is None
    assert tried(tool(1, "ask")) is None


def test_a_changed_list_is_told_also_by_a_call_that_comes_before_the_sdk(prepared: str) -> None:
    family = Family("changing")

    @family.tool()
    def save(call: Call) -> Said:
        """Change what is listed."""
        call.changed()
        return {"text": "done"}

    inlet, outlet = os.pipe()
    front = Front(Wire(0, outlet), StartCache(prepared, "all", False).read())
    front.version = HANDSHAKES[-1]
    for modern in (True, False):
        answered = run_plain_call(
            front, WITHOUT_ENGINE, Registry([family]), tool(1, "save", modern)
        )
        assert answered is not None
        assert b"done" in answered
    os.close(outlet)
    told = os.read(inlet, 1000)
    os.close(inlet)
    assert json.loads(told) == {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}


@pytest.mark.parametrize(
    ("arguments", "tools"),
    [
        (["all", "--read-only"], ["get_note", "list_notes", "coded_fail"]),
        (["coded"], ["coded_fail"]),
        (["chatgpt"], ["search", "get_note"]),
        (["get_note,coded"], ["get_note", "coded_fail"]),
    ],
)
def test_a_profile_has_its_own_answers(
    prepared: str, arguments: list[Any], tools: list[Any]
) -> None:
    with Pipe("stdio", prepared, *arguments) as pipe:
        shake_hands(pipe)
        assert [
            tool["name"] for tool in pipe.ask(request(2, "tools/list"))["result"]["tools"]
        ] == tools
        refused = pipe.ask(tool(3, "add_note", text="x"))
        assert refused["error"]["code"] == -32602


def test_a_client_that_probes_first_and_then_shakes_hands_is_served_in_both_ways(
    prepared: str,
) -> None:
    for path in (prepared, NO_CACHE):
        with Pipe("stdio", path) as pipe:
            assert pipe.ask(request(0, "server/discover", modern=True))["result"][
                "supportedVersions"
            ] == [MODERN]
            assert shake_hands(pipe)["result"]["protocolVersion"] == HANDSHAKES[-1]
            for number, modern in enumerate((False, True, False, True)):
                assert pipe.ask(request(f"list {number}", "tools/list", modern))["result"]["tools"]
                answer = pipe.ask(tool(f"call {number}", "get_note", modern, note_id="umlaut"))
                assert answer["result"]["structuredContent"]["text"] == "Grüße, 世界 🙂"
                assert ("resultType" in answer["result"]) is modern
            assert pipe.end() == 0
            assert pipe.rest() == []


def test_what_is_unusual_is_left_to_the_sdk(prepared: str) -> None:
    with Pipe("stdio", prepared) as pipe:
        assert pipe.ask(request(1, "tools/list"))["error"]["code"] == -32602
        assert pipe.ask(request(2, "tools/list", True, cursor="zzz"))["error"]["code"] == -32602
        assert pipe.ask(initialize(3, "1.0"))["result"]["protocolVersion"] == HANDSHAKES[-1]
        strange = {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        answer = pipe.ask(
            {"jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": {"_meta": strange}}
        )
        assert answer["error"]["code"] == -32022
        assert pipe.ask(request(5, "no/such/method"))["error"]["code"] == -32601
        assert pipe.ask(tool(6, "no_such_tool"))["error"]["code"] == -32602
        assert pipe.end() == 0


WANTED = Counter(message["id"] for message in MIXED if "id" in message)


def test_frames_sent_all_at_once_are_each_answered_once(prepared: str) -> None:
    with Pipe("stdio", prepared) as pipe:
        pipe.send(*MIXED)
        pipe.leave()
        answers = pipe.rest()
        assert pipe.process.wait(TIMEOUT_S) == 0
    assert Counter(answer["id"] for answer in answers) == WANTED
    assert {answer["id"] for answer in answers if "error" in answer} == {9}


def play(path: str, seed: int) -> Counter[Any]:
    """One session in pieces of random size at random times; the ids that were answered."""
    chance = random.Random(seed)
    data = b"".join(encoded(message) for message in MIXED)
    cuts = sorted(chance.sample(range(1, len(data)), chance.randrange(12)))
    with Pipe("stdio", path) as pipe:
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            pipe.write(data[start:end])
            # Not a wait for anything: the point is to meet the hand-over at any moment.
            time.sleep(chance.choice((0, 0, 0.01, 0.1, 0.3)) * chance.random())
        pipe.leave()
        answers = pipe.rest()
        assert pipe.process.wait(TIMEOUT_S) == 0
    return Counter(answer["id"] for answer in answers)


def many(path: str, seeds: range) -> None:
    """Sessions of real processes, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        for seed, found in zip(seeds, pool.map(lambda seed: play(path, seed), seeds), strict=True):
            assert found == WANTED, f"seed {seed}"


def many_forked(path: str, first: int, count: int) -> None:
    """Sessions of forked processes, which have the SDK from the start and so need milliseconds."""
    done = subprocess.run(
        [sys.executable, str(SERVER.with_name("many_sessions.py")), path, str(first), str(count)],
        stdout=subprocess.PIPE,
        timeout=TIMEOUT_S + count,
        check=True,
    )
    sessions = [Counter(json.loads(line)) for line in done.stdout.splitlines()]
    assert len(sessions) == count
    wrong = {first + number: found for number, found in enumerate(sessions) if found != WANTED}
    assert wrong == {}


needs_fork = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="this system cannot fork; `many` covers it"
)


@needs_fork
def test_at_any_timing_nothing_is_lost_and_nothing_doubled(prepared: str) -> None:
    many_forked(prepared, 0, 40)


def test_nothing_is_lost_while_the_sdk_is_imported(prepared: str) -> None:
    many(prepared, range(8))


@pytest.mark.full
def test_nothing_is_lost_in_a_hundred_real_sessions(prepared: str) -> None:
    many(prepared, range(8, 108))


@pytest.mark.full
@needs_fork
def test_nothing_is_lost_in_a_thousand_sessions(prepared: str) -> None:
    many_forked(prepared, 40, 1000)


def take_over_at_random(path: str, chance: random.Random) -> tuple[Counter[Any], list[Any]]:
    """The front, taken over at a random moment: what it answered, and what it passed on."""
    (inlet, client_out), (client_in, outlet) = os.pipe(), os.pipe()
    front = Front(Wire(inlet, outlet), StartCache(path, "all", False).read())
    passed: list[Any] = []
    threads = [threading.Thread(target=front.read_frames)]

    def write() -> None:
        for message in MIXED:
            os.write(client_out, encoded(message))
            if chance.random() < 0.3:
                time.sleep(0)
        os.close(client_out)

    def take() -> None:
        front.wake.wait(TIMEOUT_S)
        time.sleep(chance.random() / 2000)
        front.take_over(lambda line: passed.append(None if line is None else json.loads(line)))

    threads += [threading.Thread(target=write), threading.Thread(target=take)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_S)
    os.close(outlet)
    with open(client_in, "rb") as answers:
        found = Counter(json.loads(line)["id"] for line in answers)
    os.close(inlet)
    return found, passed


@pytest.mark.parametrize("result", [b"{}", None], ids=["answered", "left to the SDK"])
def test_the_import_of_the_sdk_is_told_when_the_first_call_was_tried(
    tmp_path: Path, result: bytes | None
) -> None:
    with open(tmp_path / "answers", "w+b") as answers, open(os.devnull, "rb") as nothing:
        front = Front(Wire(nothing.fileno(), answers.fileno()), {})
        front.handle_frame(encoded(tool(1, "get_note", note_id="one")))
        assert front.waiting_requests == 1
        calls = threading.Thread(target=front.try_calls, args=(lambda message: result,))
        assert not front.tried.is_set()
        calls.start()
        assert front.tried.wait(TIMEOUT_S)
        assert front.waiting_requests == (0 if result else 1)
        front.take_over(lambda line: None)
        calls.join(TIMEOUT_S)


class HeldCall:
    """A call that the front tries for as long as the test wants, and that is then left to the SDK."""

    def __init__(self, front: Front) -> None:
        self.begun = threading.Event()
        self.released = threading.Event()
        self.line = encoded(tool(1, "get_note", note_id="one")).strip()
        front.handle_frame(self.line)
        self.thread = threading.Thread(target=front.try_calls, args=(self.run,), daemon=True)
        self.thread.start()
        assert self.begun.wait(TIMEOUT_S)

    def run(self, message: dict[str, Any]) -> bytes | None:
        self.begun.set()
        assert self.released.wait(TIMEOUT_S)
        return None

    def come_back(self) -> None:
        self.released.set()
        self.thread.join(TIMEOUT_S)


@pytest.fixture
def silent_wire() -> Iterator[Wire]:
    """A wire whose client says nothing and drops what it hears."""
    with open(os.devnull, "r+b", buffering=0) as nothing:
        yield Wire(nothing.fileno(), nothing.fileno())


@pytest.mark.parametrize("leaves_first", [True, False], ids=["leaves first", "leaves later"])
def test_a_call_that_comes_back_after_its_client_has_left_is_seen_by_the_sdk(
    silent_wire: Wire, leaves_first: bool
) -> None:
    front = Front(silent_wire, {})
    call = HeldCall(front)
    passed: list[bytes | None] = []
    steps: list[Callable[[], None]] = [lambda: front.take_over(passed.append), front.end]
    for step in reversed(steps) if leaves_first else steps:
        step()
    call.come_back()
    assert passed == [call.line, None]


def test_a_call_that_does_not_come_back_does_not_keep_the_sdk(
    silent_wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio_front, "LAST_CALL_S", 0.0)
    front = Front(silent_wire, {})
    call = HeldCall(front)
    passed: SimpleQueue[bytes | None] = SimpleQueue()
    front.take_over(passed.put)
    front.end()
    assert passed.get(timeout=TIMEOUT_S) is None
    call.come_back()


def test_a_session_is_not_over_before_its_last_answer_is_written(silent_wire: Wire) -> None:
    """A process that sees that the session is over ends at once."""
    front = Front(silent_wire, {})
    waiting_at_write = []

    def write(frame: bytes) -> None:
        waiting_at_write.append(front.waiting_requests)

    silent_wire.write = write  # type: ignore[method-assign]
    front.handle_frame(encoded(tool(1, "get_note", note_id="one")))
    front.end()
    assert not front.is_over
    calls = threading.Thread(target=front.try_calls, args=(lambda message: b"{}",), daemon=True)
    calls.start()
    assert front.tried.wait(TIMEOUT_S)
    assert waiting_at_write == [1]
    assert front.is_over
    front.take_over(lambda line: None)
    calls.join(TIMEOUT_S)


def test_the_hand_over_decides_about_each_frame_once(prepared: str) -> None:
    chance = random.Random(7)
    answered_by_front = set()
    for _ in range(400):
        found, passed = take_over_at_random(prepared, chance)
        assert passed.pop() is None
        positions = [MIXED.index(message) for message in passed]
        assert positions == sorted(positions)
        by_sdk = Counter(message["id"] for message in passed if "id" in message)
        both = found & by_sdk
        assert both <= Counter([1])
        assert found + by_sdk - both == WANTED
        answered_by_front.add(len(found))
    assert len(answered_by_front) > 1


@pytest.mark.parametrize(
    "frames", [[], [initialize()], [initialize(), INITIALIZED, request(2, "tools/list")]]
)
def test_a_client_that_leaves_ends_the_server(prepared: str, frames: list[Any]) -> None:
    with Pipe("stdio", prepared) as pipe:
        pipe.send(*frames)
        assert pipe.end() == 0
        assert len(pipe.rest()) == sum("id" in frame for frame in frames)
        assert pipe.complaints == []


@pytest.mark.parametrize("path", ["prepared", NO_CACHE])
def test_a_client_that_stops_reading_ends_the_server_even_if_it_goes_on_writing(
    prepared: str, path: Any
) -> None:
    arguments = [sys.executable, str(SERVER), "stdio", prepared if path == "prepared" else path]
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdout.close()
        server.stdin.write(b"".join(encoded(message) for message in MIXED))
        server.stdin.flush()
        assert server.wait(TIMEOUT_S) == 0


def test_a_running_call_is_answered_after_the_client_has_left(prepared: str) -> None:
    with Pipe("stdio", prepared) as pipe:
        shake_hands(pipe)
        pipe.ask(tool(2, "get_note", note_id="one"))
        pipe.send(tool(3, "slow", steps=10, step_ms=30))
        assert pipe.end() == 0
        assert [answer["id"] for answer in pipe.rest()] == [3]


def test_a_call_without_end_does_not_keep_the_server(prepared: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Pipe("stdio", prepared, env={"DEMO_LOG": str(log)}) as pipe:
        pipe.ask(tool(2, "get_note", True, note_id="one"))
        pipe.send(tool(3, "slow", True, steps=1000, step_ms=1000))
        assert pipe.end() == 0
        assert [answer.get("error", {}).get("code") for answer in pipe.rest()] == [-32000]
        assert log.read_text().split() == ["opened", "closed"]


def test_text_crosses_the_pipe_as_utf_8_whatever_the_locale(prepared: str) -> None:
    words = 'Grüße, 世界 🙂\u2028 \\ " \r'
    with Pipe(
        "stdio", prepared, env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}
    ) as pipe:
        pipe.send(tool("ä", "add_note", True, text=words))
        line = pipe.line()
        assert "Grüße, 世界 🙂".encode() in line
        answer = json.loads(line)
        assert answer["id"] == "ä"
        assert answer["result"]["structuredContent"]["text"] == words
        assert (
            json.loads(answer["result"]["content"][0]["text"])
            == answer["result"]["structuredContent"]
        )


def test_malformed_frames_do_no_harm(prepared: str) -> None:
    noise = [
        b"",
        b"{",
        b"[]",
        b"null",
        b"17",
        b'"x"',
        b"\xff\xfe\x00",
        b'{"jsonrpc":"2.0"}',
        b"[" * 100_000,
        b'{"jsonrpc":"2.0","method":5}',
        encoded(request(1, "ping"))[:-3],
    ]
    for path in (prepared, NO_CACHE):
        with Pipe("stdio", path) as pipe:
            for frame in noise:
                pipe.write(frame + b"\r\n")
            assert pipe.ask({"jsonrpc": "2.0", "id": 7, "method": 5})["error"]["code"] == -32600
            for frame in noise:
                pipe.write(frame + b"\n")
            assert pipe.ask(tool(8, "get_note", True, note_id="one"))["result"]["isError"] is False
            pipe.write(
                json.dumps(tool(10, "get_note", True, note_id="half \ud800")).encode() + b"\n"
            )
            body = json.loads(pipe.receive()["result"]["content"][0]["text"])
            assert body["field"] == "note_id"
            assert pipe.end() == 0
            assert b"Traceback" not in b"".join(pipe.complaints)


def in_session(path: str, mode: str, work: Callable[[Client, list[Any]], Any]) -> None:
    """Run it with the SDK's own client, which accepts every question."""

    async def main() -> None:
        asked: list[Any] = []

        async def accept(context: Any, params: Any) -> types.ElicitResult:
            asked.append(params.message)
            return types.ElicitResult(action="accept", content={"sure": True})

        server = StdioServerParameters(
            command=sys.executable, args=[str(SERVER), "stdio", path], env=dict(os.environ)
        )
        with anyio.fail_after(TIMEOUT_S):
            async with Client(
                stdio_client(server), mode=mode, elicitation_callback=accept
            ) as client:
                await work(client, asked)

    anyio.run(main)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_calls_tools_in_either_era(prepared: str, mode: str) -> None:
    async def work(client: Client, asked: list[Any]) -> None:
        assert len((await client.list_tools()).tools) == 8
        steps: list[float] = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            steps.append(progress)

        slow = await client.call_tool("slow", {}, progress_callback=on_progress)
        assert slow.structured_content == {"text": "done"}
        assert steps == [1, 2, 3]
        assert (await client.call_tool("wipe", {})).structured_content == {"text": "sure=True"}
        assert asked == ["Really?"]
        added = await client.call_tool("add_note", {"text": "x"}, meta=keyed("key-1"))
        assert present(added.structured_content)["id"] == "key-1"

    in_session(prepared, mode, work)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_is_told_of_a_wrong_argument(prepared: str, mode: str) -> None:
    async def work(client: Client, asked: list[Any]) -> None:
        failed = await client.call_tool("get_note", {"note_id": 1})
        assert failed.is_error
        assert failed.structured_content is None
        assert json.loads(answered(failed))["field"] == "note_id"

    in_session(prepared, mode, work)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_reads_resources_prompts_and_completions(
    prepared: str, mode: str
) -> None:
    async def work(client: Client, asked: list[Any]) -> None:
        assert resource_text(await client.read_resource("demo://note/one")) == "the first note"
        prompt = await client.get_prompt("summary", {"subject": "x"})
        assert text_of(prompt.messages[0].content) == "Sum up x."
        reference = types.ResourceTemplateReference(uri="demo://note/{key}")
        assert (
            await client.complete(reference, {"name": "key", "value": "u"})
        ).completion.values == ["umlaut"]

    in_session(prepared, mode, work)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_cancelled_call_is_told_so_and_the_server_goes_on(prepared: str, mode: str) -> None:
    async def work(client: Client, asked: list[Any]) -> None:
        with anyio.move_on_after(0.5) as scope:
            await client.call_tool("slow", {"steps": 1000, "step_ms": 50})
        assert scope.cancelled_caught
        assert not (await client.call_tool("get_note", {"note_id": "one"})).is_error

    in_session(prepared, mode, work)
