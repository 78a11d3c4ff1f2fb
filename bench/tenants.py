"""How long does it take to move a tenant between two databases while it writes: how long are its
writes refused, are vectors made again, and how slow are the first writes with and without
statistics?
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.curve import REAL_VECTORS, put_vectors
from bench.imports import bring_in, parts_of
from bench.sentences import questions, sentences, vectors
from bench.stores import cluster
from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.domain.queries import Query
from memolith.errors import TenantMoving
from memolith.settings import Settings
from memolith.storage.postgres.store import PostgresStore

TENANT = "roaming"
SIZE = 10_000
MILLION = 1_000_000
RETRY_S = 0.02
FIRST_CALLS = 50


class Client(threading.Thread):
    """Writes until it is stopped, repeats what is refused, and notes the longest time without."""

    def __init__(self, app: App) -> None:
        super().__init__(daemon=True)
        self.app = app
        self.stopping = threading.Event()
        self.written = 0
        self.refused = 0
        self.longest_gap_s = 0.0
        self.worst_write_s = 0.0

    def run(self) -> None:
        source = itertools.cycle(sentences(100_000))
        last = time.perf_counter()
        while not self.stopping.is_set():
            text = next(source)
            started = time.perf_counter()
            try:
                self.app.engine.writing.remember(
                    Caller(TENANT), Draft(blocks=(Block(f"Later: {text} {self.written}"),))
                )
            except TenantMoving:
                self.refused += 1
                time.sleep(RETRY_S)
                continue
            now = time.perf_counter()
            self.longest_gap_s = max(self.longest_gap_s, now - last)
            self.worst_write_s = max(self.worst_write_s, now - started)
            last = now
            self.written += 1


def first_calls(app: App) -> dict[str, float]:
    """The first writes and searches in a database, the slowest of each in milliseconds."""
    worst = {"write": 0.0, "search": 0.0}
    for n, question in enumerate(questions(FIRST_CALLS)):
        started = time.perf_counter()
        app.engine.writing.remember(Caller(TENANT), Draft(blocks=(Block(f"{question} {n}"),)))
        worst["write"] = max(worst["write"], time.perf_counter() - started)
        started = time.perf_counter()
        app.engine.recall.search(Caller(TENANT), Query(question, mode="text"))
        worst["search"] = max(worst["search"], time.perf_counter() - started)
    return {name: round(value * 1000, 1) for name, value in worst.items()}


def counted(app: App) -> dict[str, int]:
    with app.store.reading(TENANT) as rows:
        return {
            "events": rows.last_seq(TENANT),
            "vectors": sum(rows.models().values()),
            "waiting": rows.count_waiting(TENANT, "embed", 10**9),
        }


def move(app: App, target: str) -> dict[str, Any]:
    """Move the tenant while a client writes."""
    store = app.store
    assert isinstance(store, PostgresStore)
    before = counted(app)
    client = Client(app)
    client.start()
    started = time.perf_counter()
    # Nothing may embed again: what the client writes meanwhile waits.
    store.move(TENANT, target, lambda _: None)
    took = time.perf_counter() - started
    client.stopping.set()
    client.join()
    after = counted(app)
    assert after["events"] == before["events"] + client.written, "nothing is lost"
    assert after["vectors"] >= before["vectors"], "no vector is lost"
    return {
        "s": round(took, 1),
        "events_per_s": round(before["events"] / took),
        "written_meanwhile": client.written,
        "refused": client.refused,
        "longest_gap_s": round(client.longest_gap_s, 2),
        "worst_write_s": round(client.worst_write_s, 2),
        "vectors_moved": before["vectors"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--million", action="store_true", help="one million passages")
    parser.add_argument("--result", type=Path, help="a file for the figures as JSON")
    options = parser.parse_args()
    size = MILLION if options.million else options.size
    folder = Path(tempfile.mkdtemp(prefix="memolith-bench-"))
    with ExitStack() as opened:
        opened.callback(shutil.rmtree, folder, ignore_errors=True)
        here = opened.enter_context(cluster(durable=True))()
        there = opened.enter_context(cluster(durable=True))()
        app = open_app(Settings(data=folder, embedder="minilm", database=here))
        opened.callback(app.close)
        started = time.perf_counter()
        bring_in(app, parts_of(size), Caller(TENANT))
        put_vectors(app, vectors(min(size, REAL_VECTORS)), TENANT)
        print(f"{size:,} passages loaded in {time.perf_counter() - started:.0f} s", flush=True)
        result: dict[str, Any] = {"size": size, "at_home": first_calls(app)}
        for name, target in (("there", there), ("back", here)):
            result[name] = move(app, target)
            result[f"first_calls_{name}"] = first_calls(app)
            print(name, json.dumps(result[name]), json.dumps(result[f"first_calls_{name}"]))
    print("worst first calls at home:", result["at_home"])
    if options.result:
        options.result.write_text(json.dumps(result, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
