"""How much faster is a backlog of texts embedded by two workers than by one? Each worker has one
core to itself, as if it ran on a machine of its own.
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

from bench.material import ME
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
        print(app.embeddings.embed_waiting(), flush=True)


def rate(workers: int, texts: list[str]) -> float:
    """Texts per second of so many workers together."""
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
        done = [int(one.communicate(timeout=LIMIT_S)[0]) for one in made]
        took = time.perf_counter() - started
        assert sum(done) == len(texts), "every text is embedded once"
        return len(texts) / took
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
    # In turns, so that a busy machine is busy for both.
    rounds = [(rate(1, texts), rate(2, texts)) for _ in range(options.rounds)]
    one, two = (sorted(column)[len(column) // 2] for column in zip(*rounds, strict=True))
    print(f"one worker {one:.0f} texts/s, two workers {two:.0f}: {two / one:.2f} times (bar {BAR})")
    if options.result:
        figures = {"backlog": options.backlog, "one_per_s": one, "two_per_s": two}
        options.result.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
