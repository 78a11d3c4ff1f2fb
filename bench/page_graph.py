"""How fluently does the page of the graph move with 5,000 nodes and 10,000 links in a headless
Chromium without a graphics card?
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, expect, sync_playwright
from tests.page.browser import launch
from tests.page.chromium import find_chromium
from tests.page.visitor import visit
from tests.programs.served import Served, thread

from bench.material import ME
from memolith.domain.attributes import Json
from memolith.domain.fold import fold

NODES = 5_000
LINKS = 10_000
KINDS = ("concept", "entity", "memory")
TYPES = ("relates_to", "includes", "mentions")
MEASURED_MS = 4_000
PATIENCE_MS = 120_000
WANTED_FRAMES_PER_S = 30

MEASURE = """
async ([wish, duration]) => {
  const canvas = document.getElementById("canvas");
  const box = canvas.getBoundingClientRect();
  const middle = { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  const told = { bubbles: true, pointerId: 1, isPrimary: true, button: 0 };
  const point = (type, x, y) =>
    canvas.dispatchEvent(new PointerEvent(type, { ...told, clientX: x, clientY: y }));
  canvas.setPointerCapture = () => undefined;
  const act = {
    pan: (angle) => point(
      "pointermove", middle.x + 200 * Math.cos(angle), middle.y + 120 * Math.sin(angle)
    ),
    zoom: (angle) => canvas.dispatchEvent(new WheelEvent("wheel", {
      deltaY: 60 * Math.sin(angle), clientX: middle.x, clientY: middle.y, cancelable: true,
    })),
  }[wish];
  point("pointerdown", middle.x + 200, middle.y);
  const frames = [];
  const began = performance.now();
  let last = began;
  while (last - began < duration) {
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last);
    last = now;
    act((now - began) / 300);
  }
  point("pointerup", middle.x, middle.y);
  return frames;
}
"""


class Frames(NamedTuple):
    """How many frames were drawn in a second, and how long the slow ones took."""

    per_s: float
    median_ms: float
    slowest_twentieth_ms: float


def fill(served: Served, nodes: int = NODES, links: int = LINKS) -> None:
    """A graph in which few nodes have many links and most have few, as in real ones."""
    pick = random.Random(11)
    ends: list[int] = [0]
    pairs: dict[tuple[int, int], None] = {}
    for node in range(1, nodes):
        pairs[node, pick.choice(ends)] = None
        ends += [node, next(reversed(pairs))[1]]
    while len(pairs) < links:
        pair = (pick.randrange(nodes), pick.choice(ends))
        if pair[0] != pair[1]:
            pairs[pair] = None
    clock = served.app.clock
    with served.app.store.writing(ME.tenant) as rows:
        for node in range(nodes):
            data: dict[str, Json] = {
                "kind": KINDS[node % len(KINDS)],
                "title": f"Node {node} of the graph",
                "status": "active",
                "owner": ME.user,
                "audience": "org",
                "attributes": {},
                "blocks": [{"text": f"What node {node} is about."}],
            }
            event = rows.next_event(f"n{node}", 1, "remembered", data, ME.user, clock.now())
            rows.append(event, fold(None, event))
        for number, (source, target) in enumerate(pairs):
            link: dict[str, Json] = {
                "source": f"n{source}",
                "target": f"n{target}",
                "type": TYPES[number % len(TYPES)],
                "strength": 1.0,
                "attributes": {},
            }
            event = rows.next_event(f"l{number}", 1, "linked", link, ME.user, clock.now())
            rows.append(event, fold(None, event))


def open_graph(page: Page, served: Served) -> None:
    """Open the page and wait until everything is drawn in its place."""
    visit(page, served, "/ui/graph?limit=5000")
    status = page.locator("#graph-status")
    expect(status).to_contain_text("Drawn: 5,000 items", timeout=PATIENCE_MS)
    expect(page.locator("body[data-graph-state=done]")).to_be_visible(timeout=PATIENCE_MS)


def measure(page: Page, action: str, duration_ms: int = MEASURED_MS) -> Frames:
    """Frames while the picture is moved, or its scale changed, at every frame."""
    frames = sorted(page.evaluate(MEASURE, [action, duration_ms]))
    return Frames(
        per_s=1000 * len(frames) / sum(frames),
        median_ms=frames[len(frames) // 2],
        slowest_twentieth_ms=frames[len(frames) * 19 // 20],
    )


def main() -> None:
    chromium = find_chromium()
    with tempfile.TemporaryDirectory() as folder, thread(Path(folder) / "data") as served:
        fill(served)
        with sync_playwright() as playwright, launch(playwright, chromium) as browser:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            open_graph(page, served)
            for action in ("pan", "zoom"):
                frames = measure(page, action)
                print(
                    f"{action}: {frames.per_s:.0f} frames a second (wanted: "
                    f"{WANTED_FRAMES_PER_S}), median {frames.median_ms:.0f} ms, "
                    f"slowest twentieth from {frames.slowest_twentieth_ms:.0f} ms"
                )


if __name__ == "__main__":
    main()
