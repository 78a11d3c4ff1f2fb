"""What one key floods a real server with, and that everybody else is answered meanwhile.

No test looks at a clock: the flood is held open while the others are asked.
"""

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from email.message import Message
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
import pytest

from memolith.doors.http.sessions import MAX_OPENED_IN_WINDOW, WINDOW_S, SessionLimit
from memolith.doors.shares import Share
from memolith.doors.worker_pools import HEAVY_CPU_S, CpuUse, WorkerPools
from memolith.errors import RateLimited
from tests.programs.children import TIMEOUT_S, wait_for
from tests.programs.pipes import initialize
from tests.programs.served import Served, thread

FLOOD = 45
LEGACY = {
    "Accept": "application/json, text/event-stream",
    "Content_Type": "application/json",
}
Send = Callable[[], httpx2.Response]
PATIENT: dict[str, Any] = {"head_s": TIMEOUT_S, "body_pause_s": TIMEOUT_S}
"""For connections that are held open for as long as a test takes."""
BRIEF_S = 1.0
"""What is waited for in vain. Not less: on a busy machine, good requests take a while, too."""


class Flood:
    """Many requests at once, each from a thread of its own, and what came of them so far."""

    def __init__(self, count: int, send: Send) -> None:
        self.answers: list[httpx2.Response] = []
        self.broken = 0
        self.threads = [threading.Thread(target=self._ask, args=(send,)) for _ in range(count)]
        for running in self.threads:
            running.start()

    def _ask(self, send: Send) -> None:
        try:
            self.answers.append(send())
        except httpx2.HTTPError:
            # The server ended first.
            self.broken += 1

    @property
    def statuses(self) -> list[int]:
        return [answer.status_code for answer in self.answers]

    def join(self) -> None:
        for running in self.threads:
            running.join(TIMEOUT_S)


def posting(served: Served, path: str, key: str, **what: Any) -> Send:
    """A request with a client of its own, as the clients of a flood have."""

    def send() -> httpx2.Response:
        return httpx2.post(
            served.url + path,
            headers={"Authorization": f"Bearer {key}"},
            timeout=TIMEOUT_S,
            trust_env=False,
            **what,
        )

    return send


@contextmanager
def write_lock(served: Served) -> Iterator[None]:
    """Every writer waits, because somebody is in the middle of a write."""
    with served.app.store.writing(None):
        yield


class Others:
    """Two other tenants, one of whom has used the server already."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.key = served.key("quiet", "other", "read", "write", "run")
        self.fresh_key = served.key("fresh", "third")
        assert served.tool("overview", {}, self.key).status_code == 200

    def are_answered(self) -> bool:
        """Whether they are answered through each door, and the health is told."""
        assert self.served.ask("GET", "/health").json()["status"] == "healthy"
        for key in (self.key, self.fresh_key):
            assert self.served.tool("overview", {}, key).status_code == 200
            assert self.served.call("overview", {}, key)[0]
        return True


# Calls


def test_calls_that_wait_for_the_store_leave_threads_to_others_and_are_refused_beyond_a_limit(
    tmp_path: Path,
) -> None:
    with thread(tmp_path, requests_per_key=60, busy_s=TIMEOUT_S) as served:
        loud = served.key("loud", "acme")
        others = Others(served)
        remember = posting(served, "/mcp/tools/remember", loud, json={"content": "one more"})
        with write_lock(served):
            flood = Flood(70, remember)
            wait_for(lambda: len(flood.answers) == 10)
            assert others.are_answered()
            refused = served.tool("overview", {}, loud)
            assert len(flood.answers) == 10
        flood.join()
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "1"
    assert "60 requests" in refused.json()["message"]
    assert sorted(flood.statuses) == [200] * 60 + [429] * 10


def test_a_tenant_with_many_keys_does_not_take_every_thread(tmp_path: Path) -> None:
    with thread(tmp_path, busy_s=TIMEOUT_S) as served:
        others = Others(served)
        keys = [served.key(f"loud{number}", "acme") for number in range(8)]
        with write_lock(served):
            floods = [
                Flood(8, posting(served, "/mcp/tools/remember", key, json={"content": "one more"}))
                for key in keys
            ]
            running = "memolith calls"
            wait_for(lambda: sum(running in one.name for one in threading.enumerate()) >= 20)
            assert others.are_answered()
        for flood in floods:
            flood.join()
            assert flood.statuses == [200] * 8


@pytest.mark.parametrize("door", ["rest", "mcp"])
def test_calls_that_wait_for_one_runner_wait_in_a_pool_of_their_own(
    tmp_path: Path, door: str
) -> None:
    with thread(tmp_path, runner_preload=(), runner_wall_s=4 * TIMEOUT_S) as served:
        loud = served.key("loud", "acme", "read", "write", "run")
        others = Others(served)
        made = served.tool("create_memory_code_runner", {}, loud)
        executor = made.json()["result"]["executor_id"]
        code = {"executor_id": executor, "code": "import time; time.sleep(600)"}
        path = "/mcp/tools/run_memory_code"
        body: Any = code
        headers = {}
        if door == "mcp":
            path = "/mcp"
            session = open_session(served, loud)
            headers = {**named(LEGACY), "mcp-session-id": session}
            params = {"name": "run_memory_code", "arguments": code}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}

        def run() -> httpx2.Response:
            sent = {**body, "id": threading.get_ident()} if door == "mcp" else body
            all_headers = {"Authorization": f"Bearer {loud}", **headers}
            return httpx2.post(
                served.url + path,
                json=sent,
                headers=all_headers,
                timeout=TIMEOUT_S,
                trust_env=False,
            )

        flood = Flood(FLOOD, run)
        # Four run, or wait for the one that runs; sixteen wait for them.
        wait_for(lambda: len(flood.answers) == FLOOD - 20)
        assert others.are_answered()
        # The key itself can do other things, and others have runners.
        assert served.tool("overview", {}, loud).status_code == 200
        theirs = served.tool("create_memory_code_runner", {}, others.key).json()["result"]
        hello = {"executor_id": theirs["executor_id"], "code": "print('hello')"}
        assert (
            served.tool("run_memory_code", hello, others.key).json()["result"]["stdout"]
            == "hello\n"
        )
        assert len(flood.answers) == FLOOD - 20
        for answer in flood.answers:
            assert "4 runner calls running and 16 waiting" in answer.text
            assert (answer.status_code, answer.headers.get("retry-after")) == (
                (429, "1") if door == "rest" else (200, None)
            )
    flood.join()


def test_files_that_take_long_to_read_are_read_in_a_pool_of_their_own(tmp_path: Path) -> None:
    with thread(tmp_path, reader_wall_s=4 * TIMEOUT_S) as served:
        loud = served.key("loud", "acme")
        others = Others(served)
        file = {"files": {"file": ("a.txt", b"hello")}}
        assert posting(served, "/files", loud, **file)().status_code == 200
        # The process that reads files stands still, as it would over a very slow file.
        [reader] = [zygote.pid for modules, zygote in served.app.sandbox.zygotes.items() if modules]
        os.kill(reader, signal.SIGSTOP)
        try:
            numbers = iter(range(FLOOD))

            def upload() -> httpx2.Response:
                text = f"file number {next(numbers)}".encode()
                return posting(served, "/files", loud, files={"file": ("b.txt", text)})()

            flood = Flood(FLOOD, upload)
            wait_for(lambda: len(flood.answers) == FLOOD - 20)
            assert others.are_answered()
            assert served.tool("overview", {}, loud).status_code == 200
            assert flood.statuses == [429] * (FLOOD - 20)
        finally:
            os.kill(reader, signal.SIGCONT)
        flood.join()
        assert sorted(flood.statuses) == [200] * 20 + [429] * 25


def test_uploads_that_are_sent_slowly_hold_no_more_than_their_own_places(tmp_path: Path) -> None:
    with thread(tmp_path, **PATIENT) as served, held_open() as wires:
        loud = served.key("loud", "acme")
        others = Others(served)
        for _ in range(FLOOD):
            wires.append(half_sent(served, loud, b"POST /files", 10_000, b"--x\r\nContent-Dis"))
        # Four are received, sixteen wait, and all others are told so.
        refused = wait_for(lambda: with_answer(wires, FLOOD - 20))
        assert [read_whole(wire).status for wire in refused] == [429] * len(refused)
        assert others.are_answered()
        assert served.tool("overview", {}, loud).status_code == 200
        assert len(with_answer(wires, 0)) == 0


# Memory


def test_bodies_that_are_not_sent_whole_take_up_only_the_room_of_their_key(tmp_path: Path) -> None:
    with thread(tmp_path, body_bytes=100_000, **PATIENT) as served, held_open() as wires:
        loud = served.key("loud", "acme")
        others = Others(served)
        path = b"POST /mcp/tools/remember"
        for _ in range(9):
            wires.append(half_sent(served, loud, path, 100_000, b"{" + b" " * 60_000))
        [refused] = wait_for(lambda: with_answer(wires, 1))
        answer = read_whole(refused)
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
        assert b"have 800,000 bytes" in answer.body
        assert others.are_answered()
        assert len(with_answer(wires, 0)) == 0


def test_without_a_key_no_body_is_read(tmp_path: Path) -> None:
    with thread(tmp_path) as served:
        for key in ("", "mlk_wrong"):
            with half_sent(served, key, b"POST /mcp", 4_000_000, b"{") as wire:
                assert b" 401 " in wire.recv(100)


def test_a_body_that_stops_in_the_middle_is_refused(tmp_path: Path) -> None:
    with thread(tmp_path, body_pause_s=BRIEF_S) as served:
        for path in (b"POST /mcp/tools/remember", b"POST /mcp", b"POST /files"):
            with half_sent(served, served.admin, path, 1000, b"--x\r\n") as wire:
                answer = read_whole(wire)
                assert answer.status == 400
                assert b"Nothing more of the request came" in answer.body


def test_an_answer_that_nobody_reads_does_not_keep_the_connection(tmp_path: Path) -> None:
    with thread(tmp_path, body_pause_s=BRIEF_S) as served, served.connect() as wire:
        ask = f"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {served.admin}\r\n\r\n"
        with suppress(OSError):
            # More than all buffers between here and there take.
            wire.sendall(ask.encode() * 100)
        assert is_closed(wire)
        assert served.is_well()


# Sessions and streams


def open_session(served: Served, key: str, path: str = "/mcp") -> str:
    answer = served.ask("POST", path, key, initialize(), **LEGACY)
    assert answer.status_code == 200, answer.text
    return answer.headers["mcp-session-id"]


def named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def session_status(served: Served, key: str, session: str, path: str = "/mcp") -> int:
    message = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    answer = served.ask("POST", path, key, message, Mcp_Session_Id=session, **LEGACY)
    return answer.status_code


def test_one_session_too_many_ends_the_oldest_of_the_same_key(tmp_path: Path) -> None:
    with thread(tmp_path, sessions_per_key=3) as served:
        loud = served.key("loud", "acme")
        others = Others(served)
        # The same person with another key.
        beside = served.key("loud", "acme")
        kept = [(key, open_session(served, key)) for key in (others.key, beside)]
        sessions = [open_session(served, loud, path) for path in ("/mcp", "/mcp", "/mcp/core")]
        assert session_status(served, loud, sessions[0]) == 200
        for _ in range(2):
            sessions.append(open_session(served, loud))
        paths = ["/mcp", "/mcp", "/mcp/core", "/mcp", "/mcp"]
        statuses = [
            session_status(served, loud, session, path)
            for session, path in zip(sessions, paths, strict=True)
        ]
        # The first was used after the second and the third were opened.
        assert statuses == [200, 404, 404, 200, 200]
        assert [session_status(served, key, session) for key, session in kept] == [200, 200]


def test_a_session_that_was_ended_makes_room(tmp_path: Path) -> None:
    with thread(tmp_path, sessions_per_key=2) as served:
        key = served.key("ada", "acme")
        first, second = open_session(served, key), open_session(served, key)
        assert served.ask("DELETE", "/mcp", key, Mcp_Session_Id=second).status_code == 200
        third = open_session(served, key)
        assert [session_status(served, key, id) for id in (first, second, third)] == [200, 404, 200]


def test_the_keys_of_a_tenant_have_ten_times_the_sessions_of_one_key(tmp_path: Path) -> None:
    with thread(tmp_path, sessions_per_key=1) as served:
        keys = [served.key(f"user{number}", "acme") for number in range(11)]
        sessions = [open_session(served, key) for key in keys[:10]]
        refused = served.ask("POST", "/mcp", keys[10], initialize(), **LEGACY)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        again = open_session(served, keys[0])
        assert session_status(served, keys[0], again) == 200
        assert session_status(served, keys[1], sessions[1]) == 200
        open_session(served, served.key("quiet", "other"))


def test_a_key_opens_no_more_than_so_many_sessions_in_a_few_seconds() -> None:
    now_s = 1000.0
    limit = SessionLimit(per_key=3, now=lambda: now_s)
    loud = Share("loud", "acme")
    for _ in range(MAX_OPENED_IN_WINDOW):
        limit.check(loud)
    with pytest.raises(RateLimited) as refused:
        limit.check(loud)
    assert refused.value.retry_s == WINDOW_S
    limit.check(Share("quiet", "acme"))
    now_s += WINDOW_S
    limit.check(loud)


def test_one_stream_too_many_is_refused_and_others_have_their_own(tmp_path: Path) -> None:
    with thread(tmp_path, streams_per_key=2) as served, held_open() as wires:
        loud = served.key("loud", "acme")
        others = Others(served)
        for key, expected in ((loud, 200), (loud, 200), (loud, 429), (others.key, 200)):
            wire = served.connect()
            wires.append(wire)
            wire.sendall(
                f"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
                f"Accept: text/event-stream\r\n"
                f"Mcp-Session-Id: {open_session(served, key)}\r\n\r\n".encode()
            )
            assert f" {expected} ".encode() in wire.recv(100)
        assert others.are_answered()
        assert served.tool("overview", {}, loud).status_code == 200
        # A GET of another system's client is a call, and no stream.
        count = served.ask("GET", "/sekha/api/v1/conversations/count", loud)
        assert count.status_code == 200


# Connections


@contextmanager
def held_open() -> Iterator[list[socket.socket]]:
    """Connections that stay open until the end of the test."""
    wires: list[socket.socket] = []
    try:
        yield wires
    finally:
        for wire in wires:
            wire.close()


def half_sent(
    served: Served, key: str, start: bytes, length: int, first_bytes: bytes
) -> socket.socket:
    """A request whose body is announced but does not come."""
    wire = served.connect()
    head = (
        f" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
        f"Accept: application/json, text/event-stream\r\n"
        f"Content-Length: {length}\r\nContent-Type: "
    )
    kind = b"multipart/form-data; boundary=x" if b"files" in start else b"application/json"
    wire.sendall(start + head.encode() + kind + b"\r\n\r\n" + first_bytes)
    return wire


def with_answer(wires: list[socket.socket], at_least: int) -> list[socket.socket]:
    """The connections on which something has come; none before these are enough."""
    found, _, _ = select.select(wires, [], [], 0)
    return found if len(found) >= at_least else []


class WholeAnswer(NamedTuple):
    """An answer of which nothing is left to be read."""

    status: int
    headers: Message
    body: bytes


def read_whole(wire: socket.socket) -> WholeAnswer:
    """The head and the body of an answer, which may come one after the other."""
    with HTTPResponse(wire) as answer:
        answer.begin()
        return WholeAnswer(answer.status, answer.headers, answer.read())


def is_closed(wire: socket.socket) -> bool:
    """Reads until the other side ends the connection; fails if it never does."""
    try:
        while wire.recv(1 << 16):
            pass
    except ConnectionResetError:
        pass
    return True


HALF_SENT = [
    b"",
    b"GET /hea",
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    # Answered, and then neither the rest of the body nor a next request comes.
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nhalf",
    b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hea",
]


@pytest.mark.parametrize("sent", HALF_SENT)
def test_a_request_whose_headers_do_not_come_is_given_up(tmp_path: Path, sent: bytes) -> None:
    with thread(tmp_path, head_s=BRIEF_S) as served, served.connect() as wire:
        wire.sendall(sent)
        assert is_closed(wire)
        assert served.is_well()


def test_bytes_that_trickle_in_do_not_keep_a_connection(tmp_path: Path) -> None:
    with thread(tmp_path, head_s=BRIEF_S) as served, served.connect() as wire:
        wire.sendall(b"GET /health HTTP/1.1\r\n")

        def trickle() -> bool:
            try:
                wire.sendall(b"X-More: 1\r\n")
            except OSError:
                return True
            return False

        wait_for(trickle)


def test_a_connection_too_many_closes_the_oldest_that_asks_for_nothing(tmp_path: Path) -> None:
    with thread(tmp_path, idle_connections=4, head_s=TIMEOUT_S) as served, held_open() as wires:
        for _ in range(6):
            wires.append(served.connect())
            wires[-1].sendall(b"GET /hea")
        assert is_closed(wires[0])
        assert is_closed(wires[1])
        for _ in range(20):
            with served.connect() as wire:
                wire.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert b" 200 " in wire.recv(1000)


# Runners


@pytest.mark.full
def test_runners_that_one_user_makes_push_out_no_id_but_their_own(tmp_path: Path) -> None:
    with thread(tmp_path, runner_preload=()) as served:
        loud = served.key("loud", "acme", "read", "write", "run")
        others = Others(served)

        def create(key: str) -> str:
            made = served.tool("create_memory_code_runner", {}, key)
            executor: str = made.json()["result"]["executor_id"]
            return executor

        def run(key: str, executor: str) -> int:
            code = {"executor_id": executor, "code": "print(1)"}
            return served.tool("run_memory_code", code, key).status_code

        theirs = create(others.key)
        with ThreadPoolExecutor(4) as clients:
            made = list(clients.map(lambda _: create(loud), range(102)))
        assert [run(loud, executor) for executor in made].count(404) == 2
        assert run(others.key, theirs) == 200
        assert len(served.app.sandbox.runners) == 5


# Turns


def compute(cpu_s: float) -> None:
    end = time.thread_time() + cpu_s
    while time.thread_time() < end:
        pass


def test_a_key_that_computes_much_runs_its_calls_one_by_one_for_a_while() -> None:
    loud = Share("loud", "acme")
    quiet = Share("quiet", "acme")
    running: list[str] = []
    go_on = threading.Event()

    def wait(name: str) -> None:
        running.append(name)
        go_on.wait(TIMEOUT_S)

    async def main() -> None:
        pool = WorkerPools(calls_per_key=3).calls
        # So much that it is not forgotten before the end of the test.
        pool._cpu_use.add(loud, 2**40)
        await pool.run(loud, lambda: compute(0.001))
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(pool.run, loud, lambda: wait("loud"))
            for _ in range(3):
                tasks.start_soon(pool.run, quiet, lambda: wait("quiet"))
            await anyio.to_thread.run_sync(wait_for, lambda: len(running) == 4)
            assert running.count("loud") == 1
            # Nobody ends a call, and the places come back with time.
            pool._cpu_use = CpuUse()
            await anyio.to_thread.run_sync(wait_for, lambda: len(running) == 6)
            go_on.set()
        pool.close()

    anyio.run(main)


def test_what_a_call_computes_is_counted_and_forgotten() -> None:
    share = Share("loud", "acme")

    async def main() -> None:
        pool = WorkerPools().calls
        await pool.run(share, lambda: compute(0.4))
        await pool.run(Share("quiet", "acme"), lambda: None)
        assert pool._cpu_use.of(share) > pool._cpu_use.of(Share("quiet", "acme")) == 0
        await anyio.to_thread.run_sync(wait_for, lambda: pool._cpu_use.of(share) < HEAVY_CPU_S)
        pool.close()

    anyio.run(main)


def test_a_cancelled_call_gives_its_turn_to_the_next() -> None:
    share = Share("key", "acme")
    go_on = threading.Event()
    ran: list[int] = []

    async def main() -> None:
        pool = WorkerPools(calls_per_key=1).calls
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.run, share, lambda: go_on.wait(TIMEOUT_S))
            await anyio.wait_all_tasks_blocked()
            with anyio.move_on_after(0.01):
                await pool.run(share, lambda: ran.append(1))
            tasks.start_soon(pool.run, share, lambda: ran.append(2))
            await anyio.wait_all_tasks_blocked()
            go_on.set()
        pool.close()

    anyio.run(main)
    assert ran == [2]
