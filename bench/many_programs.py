"""How do many programs get along on one data folder: 16 processes, half of them writing, beside one
process alone? And how long do an import, an erasure and upkeep keep others from writing?
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from bench.material import ME, fill, texts
from memolith.bootstrap import App, open_app
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.domain.queries import Query
from memolith.settings import Settings
from memolith.storage.sqlite.backup import FILE

PROGRAMS = 16
SECONDS = 10.0
START_LIMIT_S = 120.0
BEFORE = 5_000
IMPORTED = 5_000
PROBE_PAUSE_S = 0.002
BAR_LOCK_MS = 50.0


@dataclass(frozen=True)
class Waits:
    """What one program did: how long each call took, in milliseconds."""

    role: str
    ms: list[float]


def app_on(folder: Path) -> App:
    return open_app(Settings(data=folder, embedder="none"))


def work(role: str, folder: Path, seconds: float, seed: int) -> None:
    """Write or search until the time is over, and print how long each call took."""
    with closing(app_on(folder)) as app:
        source = texts(1_000_000, seed=seed)
        # Begins to make the texts, too, so that both are done when the time begins.
        app.engine.recall.search(ME, Query(next(source)[:20], mode="text"))
        print("ready", flush=True)
        sys.stdin.readline()
        taken = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            text = next(source)
            started = time.perf_counter()
            if role == "write":
                app.engine.writing.remember(ME, Draft(blocks=(Block(text),), tags=("a", "b")))
            else:
                app.engine.recall.search(ME, Query(" ".join(text.split()[:4]), mode="text"))
            taken.append((time.perf_counter() - started) * 1000)
    print(json.dumps(taken))


def patient(attempt: int) -> bool:
    """Look for the lock again in a moment."""
    time.sleep(0.0005)
    return True


def probe(folder: Path) -> None:
    """Take the write lock again and again until told to stop; print the waits for it."""
    db = apsw.Connection(str(folder / FILE))
    db.execute("pragma synchronous=off")
    taken = []
    db.set_busy_handler(patient)
    print("ready", flush=True)
    stop = folder / "stop"
    while not stop.exists():
        started = time.perf_counter()
        db.execute("begin immediate")
        taken.append((time.perf_counter() - started) * 1000)
        db.execute("rollback")
        time.sleep(PROBE_PAUSE_S)
    print(json.dumps(taken))


def child(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bench.many_programs", *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def together(folder: Path, roles: list[str], seconds: float) -> list[Waits]:
    """Run programs at the same time."""
    made = [
        (role, child("--child", role, "--folder", folder, "--seconds", seconds, "--seed", n))
        for n, role in enumerate(roles)
    ]
    for _, one in made:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for _, one in made:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    found = []
    for role, one in made:
        out, _ = one.communicate(timeout=seconds + START_LIMIT_S)
        found.append(Waits(role, json.loads(out)))
    return found


@contextmanager
def probed(folder: Path) -> Iterator[list[float]]:
    """The waits of somebody else for the write lock while the block runs, filled in at its end."""
    waits: list[float] = []
    one = child("--child", "probe", "--folder", folder)
    assert one.stdout is not None
    assert one.stdout.readline() == "ready\n"
    try:
        yield waits
    finally:
        (folder / "stop").touch()
        out, _ = one.communicate(timeout=START_LIMIT_S)
        (folder / "stop").unlink()
        waits.extend(json.loads(out))


def summary(role: str, found: list[Waits], seconds: float) -> dict[str, float]:
    ms = sorted(wait for one in found if one.role == role for wait in one.ms)
    if not ms:
        return {}
    return {
        "per_s": round(len(ms) / seconds, 1),
        "p50_ms": round(ms[len(ms) // 2], 2),
        "p95_ms": round(ms[int(len(ms) * 0.95)], 2),
        "worst_ms": round(ms[-1], 1),
    }


def crowd(folder: Path, programs: int, seconds: float) -> dict[str, object]:
    """Programs at once beside one alone."""
    half = programs // 2
    cases = {
        "one writer": ["write"],
        "one reader": ["read"],
        f"{half} writers, {programs - half} readers": ["write"] * half
        + ["read"] * (programs - half),
    }
    told: dict[str, object] = {}
    print(f"{'':26} {'':8} {'calls/s':>9} {'p50 ms':>8} {'p95 ms':>8} {'worst ms':>9}")
    for name, roles in cases.items():
        found = together(folder, roles, seconds)
        for role in ("write", "read"):
            figures = summary(role, found, seconds)
            if figures:
                told[f"{name}: {role}"] = figures
                print(f"{name:26} {role:8} " + " ".join(f"{v:9.1f}" for v in figures.values()))
    return told


def held(name: str, folder: Path, run: Callable[[], object], told: dict[str, object]) -> None:
    """How long somebody else waits for the lock at worst while something runs."""
    started = time.perf_counter()
    with probed(folder) as waits:
        run()
    took = time.perf_counter() - started
    ordered = sorted(waits)
    figures = {
        "s": round(took, 2),
        "worst_wait_ms": round(ordered[-1], 1),
        "p99_wait_ms": round(ordered[int(len(ordered) * 0.99)], 1),
    }
    told[name] = figures
    print(
        f"{name:44} took {took:7.2f} s; others waited at most {ordered[-1]:8.1f} ms, "
        f"99 % less than {figures['p99_wait_ms']:.1f} ms",
        flush=True,
    )


def lines(count: int, seed: int) -> list[str]:
    return [json.dumps({"content": text}) for text in texts(count, seed=seed)]


def enlarge(app: App, megabytes: int) -> None:
    """Remember texts until the file is so large."""
    file = app.settings.data / FILE
    while file.stat().st_size < megabytes * 1_000_000:
        with app.store.writing(ME.tenant) as rows:
            intake = app.engine.input_rules.intake()
            for text in texts(200, length=3000, seed=random.randrange(10**9)):
                app.engine.writing.remember_in(rows, ME, Draft(blocks=(Block(text),)), intake)
        with closing(apsw.Connection(str(file))) as db:
            db.execute("pragma wal_checkpoint(passive)").fetchall()


def free_pages(file: Path, size: int) -> None:
    """Leave so many bytes of free pages in the file."""
    with closing(apsw.Connection(str(file))) as db:
        db.execute("create table filler (content blob)")
        db.execute("insert into filler values (zeroblob(?))", (min(size, 500_000_000),))
        db.execute("drop table filler")


def locks(folder: Path, megabytes: int) -> dict[str, object]:
    """What keeps others from writing, and for how long."""
    told: dict[str, object] = {}
    with closing(app_on(folder)) as app:
        held("nothing, for comparison", folder, lambda: time.sleep(3), told)
        whole = lines(IMPORTED, 11)
        held(
            f"import of {IMPORTED:,} lines",
            folder,
            lambda: app.engine.maintenance.import_(ME, whole),
            told,
        )
        parts = lines(IMPORTED, 12)
        held(
            f"import of {IMPORTED:,} lines in parts",
            folder,
            lambda: app.engine.maintenance.import_(ME, parts, source="bench", in_parts=True),
            told,
        )
        started = time.perf_counter()
        enlarge(app, megabytes)
        size = (folder / FILE).stat().st_size
        print(f"file of {size / 1e6:,.0f} MB made in {time.perf_counter() - started:.0f} s")
        told["file_bytes"] = size
        item = app.engine.writing.remember(ME, Draft(blocks=(Block("to be erased"),))).item
        held("erasing one item", folder, lambda: app.engine.writing.erase(ME, item.id), told)
        held("upkeep with nothing to do", folder, app.upkeep.run, told)
        free_pages(folder / FILE, size // 2)
        held("upkeep with a third of the file free", folder, app.upkeep.run, told)
        assert (folder / FILE).stat().st_size < size * 1.1, "the free pages were given back"
        assert app.store.check() == []
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=PROGRAMS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--megabytes", type=int, default=200, help="how large the file gets")
    parser.add_argument("--result", type=Path, help="a file for the figures as JSON")
    parser.add_argument("--child", choices=("write", "read", "probe"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child == "probe":
        probe(options.folder)
        return
    if options.child:
        work(options.child, options.folder, options.seconds, options.seed)
        return
    folder = Path(tempfile.mkdtemp(prefix="memolith-bench-"))
    try:
        with closing(app_on(folder)) as app:
            fill(app, BEFORE)
        result = {
            "programs": options.programs,
            "seconds": options.seconds,
            "crowd": crowd(folder, options.programs, options.seconds),
            "locks": locks(folder, options.megabytes),
        }
        if options.result:
            options.result.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
