"""How long does a whole search take, from the text of the question to the hits? And from the start
of a process?
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from tests.checked import present

from bench.filled import FILTERS, fill, sizes
from bench.material import ME, fresh, measure
from bench.sentences import questions
from memolith.bootstrap import App
from memolith.domain.queries import Query

T = TypeVar("T")
ROUNDS = 100
BAR_MS, BAR_START_S, BAR_MB = 20, 0.5, 150
FIRST = """
import time, sys
started = time.perf_counter()
from pathlib import Path
from memolith.bootstrap import open_app
from memolith.domain.callers import Caller
from memolith.domain.queries import Query
from memolith.settings import Settings
imported = time.perf_counter()
app = open_app(Settings(data=Path(sys.argv[1])))
found = app.engine.recall.search(Caller(), Query(sys.argv[2], mode=sys.argv[3]))
done = time.perf_counter()
assert sys.argv[3] == "text" or "cosine" in found.hits[0].reasons, found.warnings
import psutil
print(imported - started, done - imported, psutil.Process().memory_full_info().uss / 1e6, time.process_time())
for n in range(20):
    app.engine.recall.search(Caller(), Query(sys.argv[2] + f" {n}", mode=sys.argv[3]))
print(psutil.Process().memory_full_info().uss / 1e6)
"""


def searches(app: App, count: int) -> None:
    """Whole searches beside their parts, each question asked for the first time."""
    asked = iter(questions(4000))
    embedder = present(app.embedder)
    vectors = app.stage.vectors(embedder)
    for _ in range(10):
        app.engine.recall.search(ME, Query(next(asked)))
    for name, chosen in FILTERS.items():
        whole: list[float] = []
        used: list[float] = []
        parts: dict[str, list[float]] = {"embedding": [], "text": [], "vectors": []}
        for _ in range(ROUNDS):
            # Embedded first, the question then comes from the model's memory, and the rest is
            # measured apart.
            text = next(asked)
            took, (vector,) = timed(partial(embedder.embed, [text]))
            parts["embedding"].append(took)
            before = time.thread_time()
            whole.append(timed(partial(app.engine.recall.search, ME, Query(text, chosen)))[0])
            used.append((time.thread_time() - before) * 1000)
            parts["text"].append(
                timed(partial(app.engine.recall.search, ME, Query(text, chosen, mode="text")))[0]
            )
            with app.store.reading(None) as rows:
                parts["vectors"].append(
                    timed(partial(vectors.nearest, rows, ME, chosen, present(vector), 1000))[0]
                )
        whole.sort()
        p50, told = (
            statistics.median(whole),
            {part: statistics.median(took) for part, took in parts.items()},
        )
        print(
            f"{count:>9,} {name:6} {p50:8.2f} {whole[int(0.95 * ROUNDS)]:8.2f} {statistics.median(used):7.2f}   "
            f"{told['embedding']:9.2f} "
            f"{told['text']:9.2f} {told['vectors']:12.2f}   {p50 / told['vectors']:5.1f}",
            flush=True,
        )


def timed(run: Callable[[], T]) -> tuple[float, T]:
    started = time.perf_counter()
    made = run()
    return (time.perf_counter() - started) * 1000, made


def starts(folder: Path, times: int) -> None:
    """Fresh processes on the folder: import, first result, private memory; beside a process that
    loads numpy alone.
    """
    runs = {}
    for mode in ("hybrid", "text"):
        command = [sys.executable, "-c", FIRST, str(folder), "Who fixed the green bicycle?", mode]
        made = [
            subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            for _ in range(times)
        ]
        runs[mode] = [statistics.median(float(run[n]) for run in made) for n in range(5)]
    bare, _ = measure(
        lambda: subprocess.run([sys.executable, "-c", "import numpy, onnxruntime"], check=True),
        times,
    )
    for mode, (imported, first, uss, cpu, later) in runs.items():
        print(
            f"start, {mode:7} import {imported:.2f} s + first result {first:.2f} s = {imported + first:.2f} s "
            f"(bar {BAR_START_S} s; CPU {cpu:.2f} s)   private "
            f"memory {uss:.0f} MB, after 20 more {later:.0f} MB (bar {BAR_MB} MB)"
        )
    print(
        f"start, numpy and onnxruntime alone {bare / 1000:.2f} s, ratio "
        f"{(runs['hybrid'][0] + runs['hybrid'][1]) / bare * 1000:.2f}"
    )


def profiled(app: App) -> None:
    """What a search spends its time on."""
    profile = cProfile.Profile()
    for text in questions(5000)[-50:]:
        profile.runcall(app.engine.recall.search, ME, Query(text))
    pstats.Stats(profile).sort_stats("tottime").print_stats(18)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--only", type=int)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    print(
        f"{'passages':>9} {'filter':6} {'p50 ms':>8} {'p95 ms':>8} {'CPU ms':>7}   {'embedding':>9} {'text only':>9} "
        f"{'vector stage':>12}   {'ratio':>5}   (without embedding; bar {BAR_MS} ms at 100k)"
    )
    for count in [options.only] if options.only else sizes(options.million):
        with fresh("minilm") as app:
            fill(app, count)
            app.embeddings.renew_index(always=True)
            searches(app, count)
            if options.profile:
                profiled(app)
            starts(app.settings.data, 5)


if __name__ == "__main__":
    main()
