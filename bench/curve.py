"""What does one tenant cost from 1,000 passages to 1,000,000: import, size, start, search, write,
memory, and maintenance? A file in `bench/results` for each store and size.

`python -m scripts.scale` makes the tables and plots of docs/why/scale.md from these files. A size
that has its file is left out, so a run that was stopped goes on with the next size.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import psutil

from bench.imports import bring_in, parts_of
from bench.material import ME
from bench.sentences import questions, vectors
from bench.stores import cluster
from memolith.bootstrap import App, open_app
from memolith.domain.items import Draft
from memolith.domain.passages import Block, text_digest
from memolith.domain.queries import Filter, Query
from memolith.ports.vector_rows import NewVector
from memolith.retrieval.embedding.minilm import MiniLM
from memolith.settings import Settings
from memolith.storage.sqlite.store import SqliteStore

RESULTS = Path(__file__).parent / "results"
SIZES = (1_000, 10_000, 100_000, 300_000, 1_000_000)
STORES = ("sqlite", "postgres")
REAL_VECTORS = 5_000
"""So many vectors are of the model; the others are these with noise, because a million would take
hours to make."""

NOISE = 0.35
JOBS_PER_WRITE = 500
SMAPS = Path("/proc/self/smaps_rollup")
"""Where Linux tells about the memory of the process."""

ROUNDS = 60
Figures = dict[str, float]


def vector(base: np.ndarray, n: int) -> bytes:
    """A unit vector for the n-th sentence, always the same."""
    row = base[n % len(base)]
    if n >= len(base):
        noise = np.random.default_rng(n).standard_normal(len(row)).astype("f4")
        row = row + NOISE * noise / np.linalg.norm(noise)
        row = row / np.linalg.norm(row)
    return bytes(row.astype("<f4").tobytes())


def timed(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def put_vectors(app: App, base: np.ndarray, tenant: str = ME.tenant) -> None:
    """Store a vector for everything that waits for one, as the worker does."""
    while True:
        with app.store.writing(tenant) as rows:
            jobs = rows.lease_jobs("embed", app.clock.now(), JOBS_PER_WRITE, 60, tenant)
            found = rows.unembedded_of(tenant, {job.stream for job in jobs}, MiniLM.id)
            made = []
            for passages in found.values():
                for ref, text, _ in passages:
                    number = int(text.rsplit(" ", 1)[1])
                    stored = app.stage.row(vector(base, number))
                    made.append(NewVector(ref, text_digest(text), stored))
            rows.put_new_vectors(MiniLM.id, made)
            rows.finish_jobs(jobs)
        if not jobs:
            return


def searched(app: App, chosen: Filter) -> tuple[float, float]:
    """Median and 95th percentile of a hybrid search, in milliseconds."""
    asked = questions(ROUNDS)
    assert app.embedder is not None
    app.embedder.embed(asked)
    for question in asked[:10]:
        app.engine.recall.search(ME, Query(question, chosen))
    queries = [Query(question, chosen) for question in asked]
    taken = sorted(timed(partial(app.engine.recall.search, ME, query)) * 1000 for query in queries)
    return statistics.median(taken), taken[int(0.95 * len(taken))]


def written(app: App) -> float:
    """Median of a durable write, in milliseconds."""
    drafts = [Draft(blocks=(Block(f"A new note about {n}, {n * 7919}."),)) for n in range(ROUNDS)]
    return statistics.median(
        timed(partial(app.engine.writing.remember, ME, draft)) * 1000 for draft in drafts
    )


def opened_anew(settings: Settings) -> Figures:
    """What a new process needs for its first hit, and its memory after some searches."""
    command = [sys.executable, "-m", "bench.curve", "--open", str(settings.data)]
    if settings.database:
        command += ["--database", settings.database]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: Figures = json.loads(ran.stdout)
    return figures


def open_and_search(settings: Settings) -> None:
    started = time.perf_counter()
    with closing(open_app(settings)) as app:
        app.engine.recall.search(ME, Query(questions(1)[0]))
        first = time.perf_counter() - started
        for question in questions(20):
            app.engine.recall.search(ME, Query(question))
        figures = {"open_to_first_result_s": first, **memory()}
    print(json.dumps(figures))


def memory() -> Figures:
    """What this process shares with no other, and how much of it the system cannot take back.

    Pages of the store's own files that are only read count as unshared where no other process
    reads them, but the system drops them when it needs room.
    """
    figures = {"private_memory_mb": psutil.Process().memory_full_info().uss / 1e6}
    if SMAPS.exists():
        found = re.search(r"Private_Dirty:\s+(\d+) kB", SMAPS.read_text("ascii"))
        assert found is not None, "every kernel with this file tells it"
        figures["own_memory_mb"] = int(found[1]) * 1024 / 1e6
    return figures


def maintained(app: App, folder: Path) -> Figures:
    """The seconds of everything that goes through the whole store."""
    figures = {"verify_s": timed(lambda: _no_problem(app.engine.maintenance.verify()))}
    store = app.store
    if isinstance(store, SqliteStore):
        copy = folder / "copy.db"
        figures["backup_s"] = timed(lambda: store.backup(copy))
        copy.unlink()
    item = app.engine.writing.remember(ME, Draft(blocks=(Block("to be erased"),))).item
    figures["erase_s"] = timed(lambda: app.engine.writing.erase(ME, item.id))
    figures["vacuum_s"] = timed(store.compact)
    figures["rebuild_s"] = timed(app.engine.maintenance.rebuild)
    return figures


def _no_problem(problems: list[str]) -> None:
    assert problems == [], problems[:3]


def measured(settings: Settings, size: int, folder: Path) -> Figures:
    """All figures of one store at one size."""
    figures: Figures = {}
    with closing(open_app(settings)) as app:
        parts = parts_of(size)
        figures["import_per_s"] = size / timed(lambda: bring_in(app, parts))
        base = vectors(min(size, REAL_VECTORS))
        figures["vectors_per_s"] = size / timed(lambda: put_vectors(app, base))
        app.embeddings.renew_index(always=True)
        figures["bytes_per_passage"] = sum(app.store.sizes().values()) / size
        figures["hybrid_p50_ms"], figures["hybrid_p95_ms"] = searched(app, Filter())
        narrow = Filter(tags_all=("hundredth",))
        figures["filtered_p50_ms"], figures["filtered_p95_ms"] = searched(app, narrow)
        figures["write_p50_ms"] = written(app)
    figures |= opened_anew(settings)
    with closing(open_app(settings)) as app:
        figures |= maintained(app, folder)
    return figures


@contextmanager
def settings_of(store: str, folder: Path) -> Iterator[Settings]:
    """An empty store."""
    with ExitStack() as opened:
        database = ""
        if store == "postgres":
            database = opened.enter_context(cluster(durable=True))()
        yield Settings(data=folder, embedder="minilm", database=database)


def run(store: str, size: int, results: Path) -> None:
    folder = Path(tempfile.mkdtemp(prefix="memolith-bench-"))
    started = time.perf_counter()
    try:
        with settings_of(store, folder) as settings:
            figures = measured(settings, size, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    result = {
        "store": store,
        "size": size,
        "took_s": round(time.perf_counter() - started, 1),
        "load": round(os.getloadavg()[0], 1),
        "cores": os.cpu_count(),
        "figures": {name: round(value, 3) for name, value in figures.items()},
    }
    file = results / f"curve-{store}-{size}.json"
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    partial.replace(file)
    print(json.dumps(result), flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=10_000, help="the largest size")
    parser.add_argument("--only", choices=STORES)
    parser.add_argument("--again", action="store_true", help="measure also what has its file")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--open", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--database", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.open:
        open_and_search(Settings(data=options.open, embedder="minilm", database=options.database))
        return
    for size in SIZES:
        for store in STORES:
            file = options.results / f"curve-{store}-{size}.json"
            is_wanted = size <= options.most and options.only in (None, store)
            if is_wanted and (options.again or not file.exists()):
                run(store, size, options.results)


if __name__ == "__main__":
    main()
