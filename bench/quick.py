"""Is this commit slower than an earlier one? `make bench-quick` compares both in one run.

The earlier one is the commit that `bench/baseline.toml` names.

Both programs are started side by side and measured in turns, so that a busy machine is busy for
both, and CPU seconds are compared instead of time on the clock. A line that looks slow is measured
three more times, and fails only if it is slow each time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.programs import McpProgram, ProgramError
from bench.sentences import sentences

ROOT = Path(__file__).parents[1]
BASELINE = Path(__file__).with_name("baseline.toml")
CACHE = ROOT / ".cache" / "bench-quick"
LIMIT = 1.2
CONFIRMATIONS = 3
MEMORIES = 600
TIMEOUT_S = 120.0
WARM_S = 60.0
QUESTIONS = (
    "who fixed the login timeout?",
    "what happened to the green bicycle?",
    "the quarterly report",
    "did anyone pay for a leaking pipe?",
    "what about our backup policy",
)


class Skipped(Exception):
    """There is nothing to compare with; the message says why."""


@dataclass(frozen=True)
class Side:
    """One of the two programs: its source, and a folder for what it writes."""

    name: str
    source: Path
    folder: Path

    def environment(self, embedder: str, cached: bool = True) -> dict[str, str]:
        """Nothing but its own source and its own folders."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith("MEMOLITH_")
        }
        cache = self.folder / "cache" if cached else Path(os.devnull, "none")
        return {
            **kept,
            "PYTHONPATH": str(self.source),
            "MEMOLITH_EMBEDDER": embedder,
            "MEMOLITH_CACHE": str(cache),
        }

    def command(self, *arguments: str) -> list[str]:
        """Its command line."""
        return [sys.executable, "-m", "memolith.doors.main", *arguments]

    def stdio(self, data: str) -> list[str]:
        """The command of its server."""
        return self.command("stdio", "--tools", "core", "--data", str(self.folder / data))

    @contextmanager
    def serving(self, data: str, embedder: str) -> Iterator[McpProgram]:
        """Its server on a data folder, after the handshake."""
        with McpProgram(self.stdio(data), self.environment(embedder)) as server:
            server.initialize(TIMEOUT_S)
            yield server
            server.end()


@dataclass(frozen=True)
class Sides:
    """The two that are compared."""

    old: Side
    new: Side

    def in_turns(self, rounds: int) -> Iterator[Side]:
        """Each once a round; the one that begins changes, too."""
        for number in range(rounds):
            yield from (self.old, self.new) if number % 2 else (self.new, self.old)


class Figures(NamedTuple):
    """What was measured, in the order of the rounds."""

    old: list[float]
    new: list[float]

    def of(self, sides: Sides, side: Side) -> list[float]:
        """The list that a figure of this side belongs to."""
        return self.old if side is sides.old else self.new

    def ratio(self) -> float:
        """How many times as much the new one takes.

        Noise makes single rounds longer. The smaller of two ratios, of the medians and of the best
        rounds, is not fooled by some bad rounds of one side.
        """
        return min(
            statistics.median(self.new) / statistics.median(self.old),
            min(self.new) / min(self.old),
        )


def cpu_until_listed(side: Side, cached: bool) -> float:
    """CPU seconds from the start until the tools are listed; the server is killed right then."""
    with McpProgram(side.stdio("start"), side.environment("none", cached)) as server:
        server.initialize(TIMEOUT_S)
        server.tools(TIMEOUT_S)
        return server.kill_and_count()


def start(sides: Sides) -> Figures:
    """Starts with what an earlier start has kept."""
    figures = Figures([], [])
    for side in sides.in_turns(1):
        with side.serving("start", "none") as server:
            server.tools(TIMEOUT_S)
    for side in sides.in_turns(15):
        figures.of(sides, side).append(cpu_until_listed(side, cached=True) * 1000)
    return figures


def first_start(sides: Sides) -> Figures:
    """Starts without anything kept from before."""
    figures = Figures([], [])
    for side in sides.in_turns(5):
        figures.of(sides, side).append(cpu_until_listed(side, cached=False) * 1000)
    return figures


def measure_calls(
    sides: Sides,
    servers: dict[str, McpProgram],
    rounds: int,
    calls: Sequence[tuple[str, dict[str, object]]],
) -> Figures:
    """CPU milliseconds of a server for each call; every round takes its share of the calls."""
    figures = Figures([], [])
    size = len(calls) // rounds
    for number, side in enumerate(sides.in_turns(rounds)):
        server = servers[side.name]
        turn = calls[number // 2 * size :][:size]
        before = server.cpu_s()
        for tool, arguments in turn:
            server.call(tool, arguments, TIMEOUT_S)
        figures.of(sides, side).append((server.cpu_s() - before) / size * 1000)
    return figures


def write(sides: Sides) -> Figures:
    """Acknowledged writes through the pipe, without vectors, which are made later."""
    texts = sentences(600)
    with ExitStack() as stack:
        servers = {
            side.name: stack.enter_context(side.serving("write", "none"))
            for side in (sides.old, sides.new)
        }
        for server in servers.values():
            server.call("remember", {"content": "The first write loads the store."}, TIMEOUT_S)
        calls: list[tuple[str, dict[str, object]]] = [
            ("remember", {"content": text}) for text in texts
        ]
        return measure_calls(sides, servers, 6, calls)


def bulk(sides: Sides) -> Figures:
    """An import with its vectors."""
    figures = Figures([], [])
    lines = b"".join(json.dumps({"content": text}).encode() + b"\n" for text in sentences(MEMORIES))
    for side in sides.in_turns(2):
        data = tempfile.mkdtemp(dir=side.folder)
        figures.of(sides, side).append(cpu_of_import(side, data, lines) / MEMORIES * 1000)
    return figures


def cpu_of_import(side: Side, data: str, lines: bytes) -> float:
    """CPU seconds of one import."""
    with subprocess.Popen(
        side.command("import", "--data", data),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=side.environment("minilm"),
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(lines)
        process.stdin.close()
        complaint = process.stderr.read().decode(errors="replace")
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ProgramError(f"import failed: {complaint}")
    return used.ru_utime + used.ru_stime


@contextmanager
def filled_servers(sides: Sides) -> Iterator[dict[str, McpProgram]]:
    """Both servers on folders with memories and vectors, with the model loaded."""
    lines = b"".join(json.dumps({"content": text}).encode() + b"\n" for text in sentences(MEMORIES))
    with ExitStack() as stack:
        servers = {}
        for side in (sides.old, sides.new):
            data = side.folder / "filled"
            if not data.is_dir():
                data.mkdir()
                cpu_of_import(side, str(data), lines)
            servers[side.name] = stack.enter_context(side.serving("filled", "minilm"))
        for server in servers.values():
            warm(server)
        yield servers


def warm(server: McpProgram) -> None:
    """Ask until the model is loaded, which a search waits for only a few seconds."""
    end = time.monotonic() + WARM_S
    while time.monotonic() < end:
        answers = [server.call("recall", {"query": question}, TIMEOUT_S) for question in QUESTIONS]
        if all(any("meaning" in hit["reasons"] for hit in found["hits"]) for found in answers):
            return
    raise ProgramError(f"no search by meaning within {WARM_S:.0f} s")


def search(sides: Sides) -> Figures:
    """Searches by words and meaning, each for another text."""
    asked = [
        f"{question} {text}" for question, text in zip(QUESTIONS * 30, sentences(150), strict=True)
    ]
    with filled_servers(sides) as servers:
        calls: list[tuple[str, dict[str, object]]] = [("recall", {"query": text}) for text in asked]
        return measure_calls(sides, servers, 6, calls)


def memory(sides: Sides) -> Figures:
    """Private memory of a server that has answered some searches."""
    figures = Figures([], [])
    for _ in range(2):
        with filled_servers(sides) as servers:
            for side in (sides.old, sides.new):
                figures.of(sides, side).append(servers[side.name].private_mb())
    return figures


class Line(NamedTuple):
    """One line of the report."""

    title: str
    unit: str
    measure: Callable[[Sides], Figures]


LINES = {
    "start": Line("start, second time", "CPU ms", start),
    "first-start": Line("start, first time", "CPU ms", first_start),
    "write": Line("acknowledged write", "CPU ms", write),
    "import": Line("import with vectors, each", "CPU ms", bulk),
    "search": Line("search by words and meaning", "CPU ms", search),
    "memory": Line("private memory", "MB", memory),
}


def compare(name: str, sides: Sides, limit: float) -> bool:
    """Measure a line, print it, and measure it again if it is slow; True if it stays slow."""
    line = LINES[name]
    slow = True
    for attempt in range(1 + CONFIRMATIONS):
        figures = line.measure(sides)
        slow = figures.ratio() > limit
        print(
            f"{line.title:28} {line.unit:8} {statistics.median(figures.old):9.2f} "
            f"{statistics.median(figures.new):9.2f} {figures.ratio():7.2f}"
            f"{verdict(slow, attempt, limit)}",
            flush=True,
        )
        if not slow:
            break
    return slow


def verdict(slow: bool, attempt: int, limit: float) -> str:
    """What a measured ratio means."""
    if not slow:
        return "" if attempt == 0 else "   not confirmed"
    if attempt < CONFIRMATIONS:
        return f"   above {limit}; measured again"
    return f"   SLOWER than {limit}, {1 + CONFIRMATIONS} times out of {1 + CONFIRMATIONS}"


def baseline_source(commit: str) -> Path:
    """The source of the commit that `bench/baseline.toml` names, out of the history."""
    place = CACHE / commit
    if place.is_dir():
        return place / "src"
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        archive = Path(folder, "src.tar")
        try:
            subprocess.run(
                ["git", "archive", "--format=tar", f"--output={archive}", commit, "src"],
                cwd=ROOT,
                check=True,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
            )
        except OSError as error:
            raise Skipped(f"git cannot be started: {error}") from None
        except subprocess.CalledProcessError as error:
            raise Skipped(f"commit {commit} is not in the history here: {error.stderr}") from None
        unpacked = Path(folder, "unpacked")
        with tarfile.open(archive) as tar:
            tar.extractall(unpacked, filter="data")
        compile_source(unpacked / "src")
        unpacked.rename(place)
    return place / "src"


def compile_source(source: Path) -> None:
    """Make the byte code, so that no start has to."""
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", str(source)],
        check=False,
        stdout=subprocess.DEVNULL,
    )


def check_old(side: Side) -> None:
    """An old commit may not run with the libraries of today; that is no fault of the new one."""
    try:
        cpu_until_listed(side, cached=True)
    except ProgramError as error:
        raise Skipped(f"the baseline does not run here: {error}") from None


def run(options: argparse.Namespace) -> int:
    """Print a line for each figure; 1 if one is slower and stays so."""
    chosen = tomllib.loads(BASELINE.read_text(encoding="utf-8"))
    accepted = chosen.get("accepted", {})
    old_source = options.old or baseline_source(chosen["commit"])
    if not options.new:
        compile_source(ROOT / "src")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        sides = Sides(
            Side("old", old_source, Path(folder, "old")),
            Side("new", options.new or ROOT / "src", Path(folder, "new")),
        )
        for side in (sides.old, sides.new):
            (side.folder / "cache").mkdir(parents=True)
        check_old(sides.old)
        print(
            f"{'':28} {'':8} {chosen['commit'][:9]:>9} {'this':>9} {'ratio':>7}   (limit {LIMIT})"
        )
        slow = []
        for name in options.lines:
            limit = accepted.get(name, {}).get("ratio", LIMIT)
            if name in accepted:
                print(f"{name}: up to {limit} is accepted: {accepted[name]['reason']}")
            if compare(name, sides, limit):
                slow.append(name)
    print(f"{time.monotonic() - began:.0f} s; " + ("SLOWER: " + ", ".join(slow) if slow else "ok"))
    return int(bool(slow))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", type=Path, help="a source folder in place of the baseline's")
    parser.add_argument("--new", type=Path, help="a source folder in place of this one's")
    parser.add_argument("--lines", nargs="*", choices=LINES, default=list(LINES))
    options = parser.parse_args()
    if not hasattr(os, "wait4"):
        print("bench-quick: skipped, CPU seconds of a process cannot be told on this system")
        return 0
    try:
        return run(options)
    except Skipped as reason:
        print(f"bench-quick: skipped. {reason}")
        return 0
    except ProgramError as error:
        # Whether memolith works is for the tests to say; here a time-out may be the machine's.
        print(f"bench-quick: could not be measured: {error}")
        return 0


if __name__ == "__main__":
    sys.exit(main())
