"""How fast are files read and taken in, next to pypdf and openpyxl, and what do small ones cost?"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.material import ME, fresh
from bench.sample_files import write_pdf, write_small_files, write_workbook
from memolith.bootstrap import App
from memolith.ports.sandbox import Bounds

BOUNDS = Bounds(wall_s=60, cpu_s=60, memory_mb=1024, output_kb=131_072)
KILOBYTES_PER_MEGABYTE = 1024
PDF_PAGES = 500
WORKBOOK_ROWS = 50_000
MAX_READ_S = 5.0
SMALL_FILES = 1000

READ_WITH_PYPDF = """
import sys, pypdf
print(sum(len(page.extract_text()) for page in pypdf.PdfReader(sys.argv[1]).pages))
"""
READ_WITH_OPENPYXL = """
import sys, openpyxl
book = openpyxl.load_workbook(sys.argv[1], read_only=True)
print(sum(len(row) for sheet in book for row in sheet.values))
"""


class Rival(NamedTuple):
    """Another library that reads the same kind of file."""

    name: str
    code: str

    def read_s(self, path: Path) -> float | None:
        """How long it takes in a process of its own; None if it is not installed."""
        started = time.perf_counter()
        ran = subprocess.run([sys.executable, "-c", self.code, str(path)], capture_output=True)
        if ran.returncode:
            return None
        return time.perf_counter() - started


def timed_s(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def compare(app: App, title: str, path: Path, rival: Rival) -> None:
    """Read a file in the sandbox, take it in whole, and let another library read it."""
    # Once before, so that the readers are loaded.
    app.sandbox.read(path, BOUNDS)
    read_s = timed_s(lambda: app.sandbox.read(path, BOUNDS))
    ingest_s = timed_s(lambda: app.engine.documents.ingest(ME, path, path.name))
    rival_s = rival.read_s(path)
    beside = f"{rival.name} is not installed"
    if rival_s is not None:
        beside = f"{rival.name} {rival_s:.2f} s ({rival_s / read_s:.1f} times as long)"
    verdict = "ok" if read_s < MAX_READ_S else "MISSED"
    print(
        f"{title:24} read {read_s:6.2f} s   taken in {ingest_s:6.2f} s   {beside}   "
        f"bar {MAX_READ_S:g} s: {verdict}",
        flush=True,
    )


def measure_small_files(app: App, folder: Path, count: int) -> None:
    paths = write_small_files(folder, count)

    def ingest_all() -> None:
        for path in paths:
            app.engine.documents.ingest(ME, path, path.name)

    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    new_s = timed_s(ingest_all)
    known_s = timed_s(ingest_all)
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    print(
        f"{count:,} small files: {count / new_s:,.0f} a second, "
        f"known ones {count / known_s:,.0f} a second; "
        f"the process grew by {grown_kb / KILOBYTES_PER_MEGABYTE:.0f} MB"
    )


def main() -> None:
    """The two large files, then the many small ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=SMALL_FILES)
    arguments = parser.parse_args()
    with TemporaryDirectory() as name, fresh() as app:
        folder = Path(name)
        pdf = write_pdf(folder / "pages.pdf", PDF_PAGES)
        compare(app, "PDF of 500 pages", pdf, Rival("pypdf", READ_WITH_PYPDF))
        workbook = write_workbook(folder / "cells.xlsx", WORKBOOK_ROWS)
        compare(app, "500,000 cells", workbook, Rival("openpyxl", READ_WITH_OPENPYXL))
        (folder / "small").mkdir()
        measure_small_files(app, folder / "small", arguments.files)


if __name__ == "__main__":
    main()
