"""Many clients on one folder for a long time: `python -m bench.soak [--seconds N] [--postgres]`.

Twenty HTTP clients, half of them MCP sessions and half REST, and ten stdio processes remember and
recall marked items. In the end every acknowledged item must be there and the store must equal its
log; the server's memory is printed, and the last line says whether all of this held. With `--postgres` it is four servers and two workers on one
database and 32 clients, and servers, workers and the database itself are killed every half minute.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psutil
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.checked import answered, present
from tests.programs.children import CLI, environment, wait_for
from tests.programs.pipes import INITIALIZED, encoded, initialize, tool

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.doors.http.auth.keys import local_key
from memolith.settings import Settings

TIMEOUT_S = 60.0
WARM = 0.3
"""The part of the time after which memory must not grow any more."""
PAUSE_S = 0.05
FLAT = 1.3
KILL_EVERY_S = 30.0
MAX_FAULTS_SHOWN = 20

Ask = Callable[[str, dict[str, Any]], dict[str, Any]]


@dataclass
class Tally:
    """What came of it all."""

    kept: set[str] = field(default_factory=set)
    calls: int = 0
    errors: list[str] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, id: str | None = None, error: str | None = None, calls: int = 1) -> None:
        with self.lock:
            self.calls += calls
            if id:
                self.kept.add(id)
            if error:
                self.errors.append(error[:300])

    @property
    def faults(self) -> list[str]:
        """Everything that should not be so, a sentence each."""
        lost = [f"{id} was acknowledged and is lost" for id in self.lost]
        grown = []
        if self.growth > FLAT:
            grown = [f"memory grew to {self.growth:.2f} times what it was after the warm-up"]
        return [*self.errors, *lost, *self.problems, *grown]

    @property
    def growth(self) -> float:
        """The largest memory in the last fifth of the time, over the largest right after the
        warm-up.
        """
        end = self.memory[-1][0]
        early = [size for at, size in self.memory if WARM * end <= at <= (WARM + 0.2) * end]
        late = [size for at, size in self.memory if at >= 0.8 * end]
        return max(late) / max(early) if early else 1.0


@dataclass(frozen=True)
class Plan:
    """How long and how many."""

    seconds: float = 600.0
    sessions: int = 10
    rest: int = 10
    stdio: int = 10
    items_per_client: int = 0
    """How many items a client keeps on average, however long that takes."""

    @property
    def clients(self) -> int:
        return self.sessions + self.rest + self.stdio


class Worker:
    """One client: it remembers a marked item and must then find that very item."""

    def __init__(self, name: str, tally: Tally, stop: threading.Event) -> None:
        self.name, self.tally, self.stop = name, tally, stop
        self.numbers = itertools.count()

    def steps(self) -> Generator[tuple[str, dict[str, Any]], dict[str, Any], None]:
        """What to call next; the answer to each is sent back in."""
        number = next(self.numbers)
        mark = f"{self.name}x{number:05d}"
        made = yield (
            "remember",
            {"content": f"The mark {mark} was set by {self.name}.", "tags": [self.name]},
        )
        self.tally.note(made["id"])
        found = yield "recall", {"query": mark, "mode": "text", "limit": 3}
        if made["id"] not in [hit["id"] for hit in found["hits"]]:
            self.tally.note(error=f"{mark} was not recalled", calls=0)
        fetched = yield "fetch", {"ids": [made["id"]]}
        if mark not in fetched["items"][0]["content"]:
            self.tally.note(error=f"{mark} was not fetched", calls=0)
        if number % 5 == 0:
            yield "revise", {"id": made["id"], "title": f"Title of {mark}"}

    def work(self, ask: Ask) -> None:
        """Go on until told to stop; a client that fails says so and ends."""
        while not self.stop.is_set():
            steps = self.steps()
            try:
                name, arguments = next(steps)
                while True:
                    answer = ask(name, arguments)
                    self.tally.note()
                    name, arguments = steps.send(answer)
            except StopIteration:
                self.stop.wait(PAUSE_S)


def over_rest(url: str, key: str, worker: Worker) -> None:
    with httpx2.Client(
        base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=TIMEOUT_S, trust_env=False
    ) as http:

        def ask(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            answer = http.post(f"/mcp/tools/{name}", json=arguments)
            if answer.status_code != 200:
                raise RuntimeError(f"{name}: {answer.status_code} {answer.text}")
            body: dict[str, Any] = answer.json()
            return body

        worker.work(ask)


def over_session(url: str, key: str, worker: Worker, mode: str) -> None:
    async def main() -> None:
        async with (
            httpx2.AsyncClient(
                headers={"Authorization": f"Bearer {key}"}, timeout=TIMEOUT_S, trust_env=False
            ) as http,
            Client(streamable_http_client(url + "/mcp", http_client=http), mode=mode) as client,
        ):

            async def ask(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
                result = await client.call_tool(name, arguments)
                if result.is_error:
                    raise RuntimeError(f"{name}: {answered(result)}")
                return present(result.structured_content)

            await anyio.to_thread.run_sync(
                worker.work, lambda name, arguments: anyio.from_thread.run(ask, name, arguments)
            )

    anyio.run(main)


def over_stdio(folder: Path, worker: Worker) -> None:
    with subprocess.Popen(
        [*CLI, "stdio", "--tools", "core", "--data", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    ) as process:
        lines: queue.Queue[bytes | None] = queue.Queue()
        inlet, outlet = process.stdin, process.stdout
        assert inlet is not None
        assert outlet is not None

        def collect() -> None:
            for line in outlet:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=collect, daemon=True).start()
        numbers = itertools.count(1)

        def send(message: dict[str, Any]) -> None:
            inlet.write(encoded(message))
            inlet.flush()

        def answer() -> dict[str, Any]:
            line = lines.get(timeout=TIMEOUT_S)
            if line is None:
                raise RuntimeError("the process has ended")
            message: dict[str, Any] = json.loads(line)
            return message

        def ask(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            send(tool(next(numbers), name, **arguments))
            result = answer()["result"]
            if result.get("isError"):
                raise RuntimeError(f"{name}: {result['content'][0]['text']}")
            body: dict[str, Any] = result["structuredContent"]
            return body

        send(initialize(0))
        answer()
        send(INITIALIZED)
        try:
            worker.work(ask)
        finally:
            inlet.close()
            process.wait(TIMEOUT_S)


@contextmanager
def server(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    """The server as users start it."""
    command = [*CLI, "serve", "--port", "0", "--json", "--data", str(folder)]
    env = environment(MEMOLITH_CALLS_PER_MINUTE="1000000", PYTHONUNBUFFERED="1")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"], psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait(TIMEOUT_S)


def guarded(tally: Tally, name: str, work: Callable[[], None]) -> Callable[[], None]:
    """The work as a thread runs it: an error is counted and does not end the others."""

    def run() -> None:
        try:
            work()
        except (
            RuntimeError,
            OSError,
            KeyError,
            ValueError,
            queue.Empty,
            httpx2.HTTPError,
            ExceptionGroup,
        ) as error:
            tally.note(error=f"{name}: {type(error).__name__} {error}", calls=0)

    return run


def clients(
    plan: Plan, folder: Path, url: str, key: str, tally: Tally, stop: threading.Event
) -> Iterator[threading.Thread]:
    """One thread for each client."""
    kinds: list[tuple[str, int, Callable[[Worker, int], None]]] = [
        ("rest", plan.rest, lambda worker, _: over_rest(url, key, worker)),
        (
            "mcp",
            plan.sessions,
            lambda worker, n: over_session(url, key, worker, "legacy" if n % 2 else "auto"),
        ),
        ("stdio", plan.stdio, lambda worker, _: over_stdio(folder, worker)),
    ]
    for kind, count, go in kinds:
        for number in range(count):
            worker = Worker(f"{kind}{number}", tally, stop)
            yield threading.Thread(
                target=guarded(
                    tally,
                    worker.name,
                    partial(go, worker, number),
                ),
                daemon=True,
            )


def own_memory(process: psutil.Process) -> int:
    """What the process holds for itself: pages of the mapped database come and go with its size and
    cost nothing.
    """
    info = process.memory_info()
    return int(info.rss - getattr(info, "shared", 0))


def watch(
    tally: Tally, process: psutil.Process, seconds: float, say: Callable[[str], None]
) -> None:
    """Note the server's memory while the others work."""
    start, pause, told = time.monotonic(), threading.Event(), 0.0
    while (now := time.monotonic() - start) < seconds:
        tally.memory.append((now, own_memory(process)))
        if now - told >= 30:
            told = now
            say(
                f"{now:5.0f} s  {tally.calls:7} calls  {len(tally.errors)} errors  "
                f"{tally.memory[-1][1] / 1e6:.0f} MB"
            )
        pause.wait(0.25)


def settle(tally: Tally, app: App) -> None:
    """Look for every acknowledged item, and compare the store with its log."""
    ids = sorted(tally.kept)
    for start in range(0, len(ids), 50):
        part = ids[start : start + 50]
        found = {item.id for item, _ in app.engine.reading.read_many(Caller(), part)}
        tally.lost += [id for id in part if id not in found]
    tally.problems = app.engine.maintenance.verify()


def run(plan: Plan, folder: Path, say: Callable[[str], None] = lambda _: None) -> Tally:
    """All clients at once on one folder."""
    tally, stop = Tally(), threading.Event()
    app = open_app(Settings(data=folder, embedder="none"))
    with ExitStack() as stack:
        stack.callback(app.close)
        url, process = stack.enter_context(server(folder))
        key = local_key(folder, app.keys, app.clock.now())
        threads = list(clients(plan, folder, url, key, tally, stop))
        for thread in threads:
            thread.start()
        watch(tally, process, plan.seconds, say)
        wait_for(lambda: len(tally.kept) >= plan.items_per_client * plan.clients or tally.errors)
        stop.set()
        for thread in threads:
            thread.join(TIMEOUT_S)
        tally.memory.append((plan.seconds, own_memory(process)))
        tally.errors += ["a client did not end" for thread in threads if thread.is_alive()]
        settle(tally, app)
    return tally


def soak_team(seconds: float) -> int:
    """A team on one database that is killed in part, and then as a whole, again and again."""
    # The tests' own parts stand beside them, as they import each other.
    from tests.postgres import a_cluster, prepare
    from tests.programs.team import a_team, under_load
    from tests.programs.team import settle as settle_team

    end, pause = time.monotonic() + seconds, threading.Event()
    with a_cluster(durable=True) as cluster, tempfile.TemporaryDirectory() as folder:
        prepare(database := cluster.create())
        with a_team(database, Path(folder), MEMOLITH_EMBEDDER="minilm") as team:
            with under_load(team, {"big": 30, "small": 2}, patient=True) as account:
                while time.monotonic() < end:
                    pause.wait(min(KILL_EVERY_S, seconds / 2))
                    for victim in (team.servers[0], team.workers[0]):
                        victim.kill()
                    team.heal()
                    cluster.crash()
                    cluster.start()
                    print(
                        f"{seconds - end + time.monotonic():5.0f} s  {len(account.kept)} items  "
                        f"{account.searches} searches  refused meanwhile: {dict(account.refused)}"
                    )
            problems = settle_team(account, database)
    print(
        f"{seconds:.0f} s, 32 clients, 4 servers, 2 workers, killed with their database every {KILL_EVERY_S:.0f} s: "
        f"{len(account.kept)} items, {account.searches} searches, {len(problems)} problems"
    )
    return conclude(problems)


def conclude(faults: list[str]) -> int:
    """Print the faults and then the verdict, and give the exit status that goes with it."""
    for line in faults[:MAX_FAULTS_SHOWN]:
        print(" ", line)
    print(f"soak: failed, {len(faults)} faults" if faults else "soak: passed")
    return 1 if faults else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=Plan.seconds)
    parser.add_argument(
        "--postgres", action="store_true", help="a team of servers and workers on one database"
    )
    options = parser.parse_args()
    if options.postgres:
        return soak_team(options.seconds)
    plan = Plan(options.seconds)
    with tempfile.TemporaryDirectory() as folder:
        tally = run(plan, Path(folder), partial(print, flush=True))
    sizes = [size for _, size in tally.memory]
    print(
        f"{plan.seconds:.0f} s, {plan.rest + plan.sessions} HTTP clients, {plan.stdio} stdio processes, "
        f"{os.cpu_count()} cores: {tally.calls} calls ({tally.calls / plan.seconds:.0f} a second), "
        f"{len(tally.kept)} items, {len(tally.errors)} errors, {len(tally.lost)} lost, {len(tally.problems)} "
        f"differences from the log; memory {sizes[0] / 1e6:.0f} to {sizes[-1] / 1e6:.0f} MB, "
        f"{tally.growth:.2f} times what it was after the warm-up (at most {FLAT})"
    )
    return conclude(tally.faults)


if __name__ == "__main__":
    sys.exit(main())
