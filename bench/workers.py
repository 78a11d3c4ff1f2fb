"""How much faster is a backlog of texts embedded by two workers than by one? Each worker has one
core to itself, as if it ran on a machine of its own.

The floor is the same with processes that run nothing but the model, in turns with the workers.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from bench import model_alone
from bench.embed import middle
from bench.material import ME
from bench.model_alone import Rate
from bench.sentences import sentences
from memolith.bootstrap import App, open_app
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.engine.validation import Intake, Limits
from memolith.settings import Settings

BACKLOG = 600
BAR = 1.9
LIMIT_S = 1800


def app_on(folder: Path) -> App:
    return open_app(Settings(data=folder, embedder="minilm"))


def work(folder: Path, core: int) -> None:
    """Embed what waits, on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    with closing(app_on(folder)) as app:
        assert app.embedder is not None
        app.embedder.embed(["ready"])
        print("ready", flush=True)
        sys.stdin.readline()
        started = time.process_time()
        done = app.embeddings.embed_waiting()
        print(json.dumps([done, time.process_time() - started]), flush=True)


def rate(workers: int, texts: list[str]) -> Rate:
    """Texts per second of so many workers together, and per second of their CPU time."""
    folder = Path(tempfile.mkdtemp(prefix="memolith-bench-"))
    try:
        with closing(app_on(folder)) as app, app.store.writing(ME.tenant) as rows:
            for text in texts:
                draft = Draft(kind="document", title="t", blocks=(Block(text),))
                app.engine.writing.remember_in(rows, ME, draft, Intake(Limits(), "allow"))
        cores = sorted(os.sched_getaffinity(0))
        made = []
        for n in range(workers):
            command = [sys.executable, "-m", "bench.workers", "--child", str(folder)]
            command += ["--core", str(cores[n % len(cores)])]
            made.append(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
        for one in made:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        started = time.perf_counter()
        for one in made:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        ended = [json.loads(one.communicate(timeout=LIMIT_S)[0]) for one in made]
        took = time.perf_counter() - started
        assert sum(done for done, _ in ended) == len(texts), "every text is embedded once"
        return Rate(len(texts) / took, len(texts) / sum(cpu for _, cpu in ended))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backlog", type=int, default=BACKLOG)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--result", type=Path, help="a file for the figures as JSON")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--core", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        work(options.child, options.core)
        return
    texts = sentences(options.backlog)
    # In turns, so that a busy machine is busy for all.
    rounds = [
        (rate(1, texts), rate(2, texts), model_alone.rate(texts), model_alone.rate(texts, 2))
        for _ in range(options.rounds)
    ]
    one, two, alone, both = (middle(column) for column in zip(*rounds, strict=True))
    for what, some in (
        ("one worker", one),
        ("two workers", two),
        ("the model alone", alone),
        ("the same twice", both),
    ):
        print(f"{what:16} {some.per_s:6.0f} texts/s {some.per_cpu_s:6.0f} texts per CPU second")
    ratio, floor = two.per_s / one.per_s, both.per_s / alone.per_s
    print(
        f"two workers are {ratio:.2f} times as fast as one (bar {BAR}); the model alone {floor:.2f} "
        f"times; {ratio / floor:.2f} of the floor"
    )
    if options.result:
        figures = {
            "backlog": options.backlog,
            "one_per_s": one.per_s,
            "two_per_s": two.per_s,
            "model_alone_per_s": alone.per_s,
            "model_twice_per_s": both.per_s,
        }
        options.result.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
