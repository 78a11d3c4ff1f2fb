"""The command `bench`: how quick memolith is on your machine and with your own memories.

Each figure comes with its floor: what the machine itself needs for the least of the same kind. What
is written goes into a copy, and your store stays as it is.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.domain.queries import Query
from memolith.doors.cli.command import Command, Options, always
from memolith.doors.cli.human import human_duration
from memolith.doors.cli.output import progress
from memolith.errors import InvalidInput
from memolith.private_files import make_private_folder, open_private

ME = Caller()
WORDS_PER_QUERY = 8
FLOOR_BYTES = 4096
STARTS = 5
LIMITS_S = {"write": 0.25, "search": 0.5, "start": 3.0}
"""What takes longer in half of the cases is told as a problem."""


class Measure(NamedTuple):
    """The times of one kind of work, and those of the least that the machine can do."""

    name: str
    times_s: list[float]
    floor_s: list[float]
    floor_is: str


def bench(app: App, options: Options) -> object:
    if app.settings.database:
        raise InvalidInput("`bench` measures a data folder, not PostgreSQL.", field="database")
    if not 1 <= options.count <= 10_000:
        raise InvalidInput("Measure 1 to 10,000 times.", field="count")
    queries = own_queries(app, options.count)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        make_private_folder(str(copy))
        app.store.backup(copy / "memolith.db", progress("copying"))
        measures = [
            measured_writes(app, copy, options.count),
            measured_searches(app, queries),
            measured_starts(app.settings.data),
        ]
    total = app.engine.reading.list_items(ME, limit=1).total
    warnings = []
    for measure in measures:
        limit_s = LIMITS_S[measure.name]
        if statistics.median(measure.times_s) > limit_s:
            warnings.append(
                f"{measure.name} takes more than {human_duration(limit_s)}; `memolith doctor` and "
                "`memolith upkeep` may help."
            )
    return {
        "data": str(app.settings.data),
        "items": total,
        "measures": [row_of(measure, options) for measure in measures],
        "warnings": warnings,
    }


def own_queries(app: App, count: int) -> list[str]:
    """Questions in the words of what is stored."""
    page = app.engine.reading.list_items(ME, limit=min(count, 1000))
    beginnings = app.engine.reading.beginnings(ME, [item.id for item in page.items], 200)
    texts = [" ".join(text.split()[:WORDS_PER_QUERY]) for text in beginnings.values()]
    texts = [text for text in texts if text]
    if not texts:
        raise InvalidInput(
            "There is nothing to search for yet; try `memolith demo --no-serve` first.",
            field="data",
        )
    return [texts[number % len(texts)] for number in range(count)]


def measured_writes(app: App, copy: Path, count: int) -> Measure:
    with closing(App(app.settings.model_copy(update={"data": copy}))) as target:
        assert target.engine

        def write(number: int) -> None:
            text = f"A note of the measurement, number {number}."
            target.engine.writing.remember(ME, Draft(blocks=(Block(text),)))

        times_s = timed(write, count, "writing")
    floor_s = timed(lambda number: synced_write(copy / "floor"), count, "writing")
    return Measure("write", times_s, floor_s, f"{FLOOR_BYTES} bytes to the disk and flushed")


def synced_write(file: Path) -> None:
    with open(file, "ab", opener=open_private) as stream:
        stream.write(b"\0" * FLOOR_BYTES)
        stream.flush()
        os.fsync(stream.fileno())


def measured_searches(app: App, queries: list[str]) -> Measure:
    # The first search loads the model, which `start` counts.
    app.engine.recall.search(ME, Query(queries[0]))
    times_s = timed(
        lambda number: app.engine.recall.search(ME, Query(queries[number])),
        len(queries),
        "searching",
    )
    with closing(sqlite3.connect(":memory:")) as bare:
        floor_s = timed(
            lambda number: bare.execute("select 1").fetchall(), len(queries), "searching"
        )
    return Measure("search", times_s, floor_s, "a statement in an empty database")


def measured_starts(data: Path) -> Measure:
    """A whole program from its start to the end of a search in the store."""
    command = [
        sys.executable,
        "-m",
        "memolith",
        "recall",
        "memolith",
        "--json",
        "--data",
        str(data),
    ]
    times_s = timed(lambda number: run_quietly(command), STARTS, "starting")
    bare = [sys.executable, "-c", ""]
    floor_s = timed(lambda number: run_quietly(bare), STARTS, "starting")
    return Measure("start", times_s, floor_s, "Python that does nothing")


def run_quietly(command: list[str]) -> None:
    subprocess.run(command, capture_output=True, check=True)


def timed(work: Callable[[int], object], count: int, label: str) -> list[float]:
    advance = progress(label)
    times_s = []
    for number in range(count):
        began_s = time.perf_counter()
        work(number)
        times_s.append(time.perf_counter() - began_s)
        advance(number + 1, count)
    return times_s


def row_of(measure: Measure, options: Options) -> dict[str, object]:
    median_s = statistics.median(measure.times_s)
    slow_s = percentile_95(measure.times_s)
    floor_s = statistics.median(measure.floor_s)
    if options.json:
        return {
            "what": measure.name,
            "times": len(measure.times_s),
            "median_s": median_s,
            "p95_s": slow_s,
            "floor_s": floor_s,
            "floor_is": measure.floor_is,
            "limit_s": LIMITS_S[measure.name],
        }
    return {
        "what": measure.name,
        "times": len(measure.times_s),
        "median": human_duration(median_s),
        "95 %": human_duration(slow_s),
        "floor": human_duration(floor_s),
        "the floor is": measure.floor_is,
    }


def percentile_95(times_s: list[float]) -> float:
    """The time that 95 of 100 do not exceed."""
    ordered = sorted(times_s)
    return ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)]


def add_bench_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--count", type=int, default=50, help="how many writes and searches to measure (50)"
    )


COMMANDS = (Command("bench", bench, add_bench_options, reads_only=always),)
