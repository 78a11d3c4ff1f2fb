"""How soon does the web page show something, with 100,000 items: each page, and hits while you type?

The floor is the sign-in page of the same server in the same run: it asks nothing of the store.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, sync_playwright
from tests.page.browser import launch
from tests.page.chromium import find_chromium
from tests.page.visitor import sign_in_link
from tests.programs.served import Served, process

import memolith.doors.page
from bench.filled import fill
from bench.sentences import questions, quick_vectors
from memolith.bootstrap import open_app
from memolith.settings import Settings

ROUNDS = 9
BAR_PAINT_MS = 1000.0
BAR_SEARCH_MS = 150.0
BAR_ASSETS_BYTES = 400_000
STATIC = Path(memolith.doors.page.__file__).parent / "static"
PAINTED = """() => {
    const [load] = performance.getEntriesByType("navigation");
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    return { server: load.responseEnd - load.requestStart, paint: paint?.startTime ?? -1 };
}"""
WATCH_RESULTS = """() => {
    window.took = null;
    const results = document.getElementById("results");
    const field = document.getElementById("q");
    field.addEventListener("input", () => { window.typed = performance.now(); });
    new MutationObserver(() => {
        requestAnimationFrame(() => { window.took = performance.now() - window.typed; });
    }).observe(results, { childList: true });
}"""


class Shown(NamedTuple):
    """How long a page took, in milliseconds."""

    server: float
    paint: float


@contextmanager
def store(folder: Path | None, count: int) -> Iterator[Path]:
    """A data folder with so many items and their vectors; a given one is made once and kept."""
    place = folder or Path(tempfile.mkdtemp(prefix="memolith-bench-"))
    try:
        if not (place / "memolith.db").is_file():
            started = time.perf_counter()
            with closing(open_app(Settings(data=place, embedder="none"))) as app:
                fill(app, count, quick_vectors(count))
            print(f"{count:,} items made in {time.perf_counter() - started:.0f} s", flush=True)
        yield place
    finally:
        if folder is None:
            shutil.rmtree(place, ignore_errors=True)


def shown(page: Page, address: str) -> Shown:
    """The median of some visits, the first of which is not counted."""
    visits = []
    for _ in range(ROUNDS + 1):
        page.goto(address, wait_until="load")
        page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint')[0]")
        found = page.evaluate(PAINTED)
        visits.append(Shown(found["server"], found["paint"]))
    counted = visits[1:]
    return Shown(
        statistics.median(visit.server for visit in counted),
        statistics.median(visit.paint for visit in counted),
    )


def typed(page: Page, address: str) -> list[float]:
    """How long hits take from the last letter of a question to the screen, each asked once."""
    page.goto(address)
    page.evaluate(WATCH_RESULTS)
    taken = []
    for question in questions(ROUNDS + 1):
        page.evaluate("() => { window.took = null; document.getElementById('q').value = ''; }")
        page.locator("#q").focus()
        page.keyboard.insert_text(question)
        page.wait_for_function("() => window.took !== null")
        taken.append(float(page.evaluate("() => window.took")))
    return sorted(taken[1:])


def newest(served: Served) -> str:
    """The id of the newest item."""
    return str(served.tool("list_items", {"limit": 1}).json()["items"][0]["id"])


def measure(page: Page, served: Served) -> None:
    page.goto(sign_in_link(served))
    floor = shown(page, f"{served.url}/ui/sign-in")
    print(f"{'page':28} {'server':>9} {'first paint':>12} {'of the floor':>13}")
    print(f"{'floor: sign-in':28} {floor.server:6.1f} ms {floor.paint:9.0f} ms {1:12.1f}x")
    for name, path in (
        ("home", ""),
        ("search, nothing asked", "/search"),
        ("search, a question", "/search?q=who+fixed+the+green+bicycle"),
        ("search, explained", "/search?q=who+fixed+the+green+bicycle&explain=1"),
        ("item", f"/item/{newest(served)}"),
    ):
        found = shown(page, f"{served.url}/ui{path}")
        ratio = found.paint / floor.paint
        print(
            f"{name:28} {found.server:6.1f} ms {found.paint:9.0f} ms {ratio:12.1f}x"
            f"   (bar {BAR_PAINT_MS:.0f} ms)",
            flush=True,
        )
    taken = typed(page, f"{served.url}/ui/search")
    print(
        f"from typing to hits: p50 {statistics.median(taken):.0f} ms, "
        f"slowest {taken[-1]:.0f} ms (bar {BAR_SEARCH_MS:.0f} ms)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="how many items")
    parser.add_argument("--store", type=Path, help="a data folder to make once and use again")
    options = parser.parse_args()
    total = sum(file.stat().st_size for file in STATIC.iterdir())
    print(f"all scripts, styles and pictures: {total:,} bytes (bar {BAR_ASSETS_BYTES:,})")
    chromium = find_chromium()
    with (
        store(options.store, options.count) as folder,
        process(folder) as served,
        sync_playwright() as playwright,
    ):
        # The first search loads the model.
        served.tool("recall", {"query": "green bicycle"})
        browser = launch(playwright, chromium)
        measure(browser.new_page(), served)
        browser.close()


if __name__ == "__main__":
    main()
