"""What does another tenant wait while one key floods the server, next to an idle server?"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import NamedTuple

from tests.programs.pipes import initialize
from tests.programs.served import Served, process

CLIENTS = 45
HALF_SENT = 400
SAMPLES = 400
START_TIMEOUT_S = 60.0
WARM_UP_S = 2.0
PAUSE_S = 0.01
"""The other tenant asks now and then, as people do, and not as often as it can."""

BAR = 3.0
TIMEOUT_S = 60.0
HEAVY_BYTES = 100_000
SMALL_CALL = ("POST", "/mcp/tools/recall", json.dumps({"query": "tide tables"}))
HEALTH = ("GET", "/health", None)
Question = tuple[str, str, str | None]
SCOPES = ("read", "write", "run")


class Target(NamedTuple):
    """The server that is flooded, and the key that floods it."""

    port: int
    key: str

    def ask(self, path: str, body: object, **headers: str) -> bytes:
        """One POST on a connection of its own; what it answers does not matter."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        named = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        named.update(headers)
        try:
            link.request("POST", path, json.dumps(body), named)
            return link.getresponse().read()
        finally:
            link.close()

    def tool(self, name: str, **arguments: object) -> bytes:
        return self.ask(f"/mcp/tools/{name}", arguments)

    def half_sent(self, request: str) -> socket.socket:
        wire = socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S)
        wire.sendall(request.encode())
        return wire


FloodPart = Callable[[Target, Event], None]


def repeated(count: int, work: Callable[[], object], stop: Event) -> None:
    """Do it over and over in many threads until the end."""

    def repeat() -> None:
        while not stop.is_set():
            with suppress(OSError, http.client.HTTPException):
                work()

    threads = [threading.Thread(target=repeat, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    stop.wait()


def slow_uploads(target: Target, stop: Event) -> None:
    """Uploads that are announced and do not come."""
    head = (
        f"POST /files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {target.key}\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 1000000\r\n\r\n--x"
    )
    wires = [target.half_sent(head) for _ in range(CLIENTS)]
    stop.wait()
    for wire in wires:
        wire.close()


def one_runner(target: Target, stop: Event) -> None:
    """Calls that wait for one runner, which is busy."""
    made = json.loads(target.tool("create_memory_code_runner"))
    executor = made["result"]["executor_id"]
    code = "while True: pass"
    repeated(
        CLIENTS,
        lambda: paused(target.tool("run_memory_code", executor_id=executor, code=code)),
        stop,
    )


def many_sessions(target: Target, stop: Event) -> None:
    """Sessions that are opened and left alone."""
    accept = "application/json, text/event-stream"
    repeated(4, lambda: paused(target.ask("/mcp", initialize(), Accept=accept)), stop)


def many_runners(target: Target, stop: Event) -> None:
    """Runners that are made and left alone."""
    repeated(4, lambda: target.tool("create_memory_code_runner"), stop)


def half_sent_requests(target: Target, stop: Event) -> None:
    """Connections without a key whose headers never end."""
    wires: list[socket.socket] = []
    while not stop.is_set():
        with suppress(OSError):
            wires.append(target.half_sent("GET /health HTTP/1.1\r\nHost: local"))
        if len(wires) > HALF_SENT:
            wires.pop(0).close()
        stop.wait(0.002)


def heavy_call(target: Target, stop: Event) -> None:
    """A call that computes for a while, over and over."""
    repeated(1, lambda: extract_entities(target), stop)


def heavy_calls(target: Target, stop: Event) -> None:
    """The same from many clients at once."""
    repeated(CLIENTS, lambda: extract_entities(target), stop)


def extract_entities(target: Target) -> bytes:
    text = "Ann moved from Lisbon to the Tide Office in March. " * (HEAVY_BYTES // 51)
    return paused(target.tool("subcog_entities", action="extract", content=text))


def paused(answer: bytes) -> bytes:
    """A client that is refused waits as long as it is told to."""
    if b"rate_limited" in answer or b"waiting already" in answer:
        time.sleep(1)
    return answer


FLOODS: tuple[FloodPart, ...] = (
    slow_uploads,
    one_runner,
    many_sessions,
    many_runners,
    half_sent_requests,
    heavy_call,
    heavy_calls,
)


class Waits(NamedTuple):
    """How long the other tenant waited, in milliseconds."""

    median: float
    worst: float


@contextmanager
def flooded(flood: FloodPart, target: Target) -> Iterator[None]:
    """The flood comes from a process of its own."""
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    begun = context.Event()
    child = context.Process(target=begin, args=(flood, target, begun, stop), daemon=True)
    child.start()
    begun.wait(START_TIMEOUT_S)
    time.sleep(WARM_UP_S)
    try:
        yield
    finally:
        stop.set()
        child.join(TIMEOUT_S)
        child.kill()


def begin(flood: FloodPart, target: Target, begun: Event, stop: Event) -> None:
    """Tell that the process has started, which takes a while, and flood."""
    begun.set()
    flood(target, stop)


def waits(port: int, key: str, question: Question) -> Waits:
    """What one client waits for the same small question, asked now and then."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    method, path, body = question
    measured: list[float] = []
    for _ in range(SAMPLES):
        began = time.perf_counter()
        link.request(method, path, body, {"Authorization": f"Bearer {key}"})
        answer = link.getresponse()
        answer.read()
        measured.append((time.perf_counter() - began) * 1000)
        assert answer.status == 200, answer.status
        time.sleep(PAUSE_S)
    link.close()
    return Waits(statistics.median(measured), max(measured))


def measure(served: Served, flood: FloodPart) -> list[tuple[str, Waits, Waits]]:
    """What is asked, and the waits on the idle and on the flooded server."""
    loud = Target(served.port, served.key("loud", "acme", *SCOPES))
    quiet = served.key("quiet", "other", *SCOPES)
    for number in range(20):
        note = {"content": f"The tide tables of week {number} are in the blue folder."}
        served.tool("remember", note, quiet)
    questions = {"small call": SMALL_CALL, "/health": HEALTH}
    idle = {name: waits(served.port, quiet, what) for name, what in questions.items()}
    with flooded(flood, loud):
        busy = {name: waits(served.port, quiet, what) for name, what in questions.items()}
    return [(name, idle[name], busy[name]) for name in questions]


def floods(options: argparse.Namespace) -> None:
    """Print what another tenant waits during each flood, as a ratio to an idle server."""
    print(
        f"{'flood':20} {'asked':11} {'idle p50':>9} {'worst':>8} {'flooded p50':>12} {'worst':>8} "
        f"{'p50 ratio':>10}   (bar {BAR:g})"
    )
    worst_ratio = 0.0
    for flood in FLOODS:
        if options.only not in flood.__name__:
            continue
        with (
            tempfile.TemporaryDirectory() as folder,
            process(Path(folder)) as served,
        ):
            for name, idle, busy in measure(served, flood):
                ratio = busy.median / idle.median
                worst_ratio = max(worst_ratio, ratio)
                print(
                    f"{flood.__name__.replace('_', ' '):20} {name:11} {idle.median:6.1f} ms "
                    f"{idle.worst:5.0f} ms {busy.median:9.1f} ms {busy.worst:5.0f} ms "
                    f"{ratio:10.1f}",
                    flush=True,
                )
    print(f"worst ratio of medians: {worst_ratio:.1f}   (bar {BAR:g})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only floods with this in their name")
    floods(parser.parse_args())


if __name__ == "__main__":
    main()
