"""How much private memory does a stdio server hold after many quick writes through its pipe?

Where no other process uses the same libraries, their pages count too: about 25 MB.
"""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path

from tests.programs.children import environment
from tests.programs.pipes import INITIALIZED, PRODUCT, Pipe, initialize, tool

from bench.sentences import sentences
from memolith.bootstrap import open_app
from memolith.settings import Settings

WRITES = (0, 2000, 5000)
MAX_MB = 180
POLL_S = 1.0
SETTLE_S = 5.0
"""Two rounds of the background work, after which a server that has nothing to do is idle."""


def private_mb(pid: int) -> float:
    """The memory that the process shares with no other, in MB."""
    report = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    parts_kb = re.findall(r"^Private_(?:Clean|Dirty): +(\d+) kB", report, re.MULTILINE)
    return sum(map(int, parts_kb)) / 1000


def write(pipe: Pipe, number: int, text: str) -> None:
    """One write, and its answer."""
    result = pipe.ask(tool(number, "remember", content=text))["result"]
    if result.get("isError"):
        raise RuntimeError(f"remember failed: {result['content'][0]['text']}")


def wait_until_embedded(folder: Path) -> None:
    """Wait until nothing waits for a vector, and the server is idle again."""
    app = open_app(Settings(data=folder, embedder="none"))
    while True:
        with app.store.reading(None) as rows:
            if not rows.count_waiting(None, "embed", 1):
                break
        time.sleep(POLL_S)
    app.close()
    time.sleep(SETTLE_S)


def measure(folder: Path) -> list[float]:
    """Write as quickly as the server answers while it makes the vectors; returns each figure."""
    figures_mb = []
    texts = sentences(WRITES[-1])
    arguments = ("stdio", "--tools", "core", "--data", str(folder))
    settings = environment(MEMOLITH_EMBEDDER="minilm")
    with Pipe(*arguments, env=settings, program=PRODUCT) as pipe:
        pid = pipe.process.pid
        pipe.ask(initialize(0))
        pipe.send(INITIALIZED)
        done = 0
        for count in WRITES:
            started = time.perf_counter()
            for number in range(done, count):
                write(pipe, number + 1, texts[number])
            done = count
            took_s = time.perf_counter() - started
            figures_mb.append(private_mb(pid))
            print(f"after {count:5,} writes  {figures_mb[-1]:6.1f} MB  {took_s:6.1f} s", flush=True)
        wait_until_embedded(folder)
        figures_mb.append(private_mb(pid))
        print(f"idle, all embedded  {figures_mb[-1]:6.1f} MB")
        pipe.end()
    return figures_mb


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        most_mb = max(measure(Path(folder)))
    verdict = "ok" if most_mb < MAX_MB else "TOO MUCH"
    print(f"at most {most_mb:.1f} MB of {MAX_MB}: {verdict}")


if __name__ == "__main__":
    main()
