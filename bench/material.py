"""Texts and folders for the benches: made up, repeatable, with the word frequencies of real
language.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.engine.validation import Intake, Limits
from memolith.settings import Settings

ME = Caller()
SYLLABLES = "ba co du fe gi ho ju ka le mi no pu ra se ti vo wa xe yu zo bra cle dri flo gru pla sta tri".split()


def words(count: int = 30_000) -> list[str]:
    """Made-up words, the commonest first."""
    pick = random.Random(7)
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(pick.choices(SYLLABLES, k=pick.randint(2, 4)))] = None
    return list(found)


def texts(count: int, length: int = 60, seed: int = 1) -> Iterator[str]:
    """Texts whose words follow Zipf's law."""
    vocabulary = words()
    weights = [1 / (n + 10) for n in range(len(vocabulary))]
    pick = random.Random(seed)
    pool = pick.choices(vocabulary, weights, k=400_000)
    for _ in range(count):
        start = pick.randrange(len(pool) - length)
        yield " ".join(pool[start : start + length])


def fill(app: App, count: int, special: float = 0.01) -> None:
    """Remember so many texts in large transactions; one in a hundred has the tag `special`."""
    pick = random.Random(3)
    batch = 5000
    source = texts(count)
    for start in range(0, count, batch):
        with app.store.writing(ME.tenant) as rows:
            for _, text in zip(range(min(batch, count - start)), source, strict=False):
                tags = ("special",) if pick.random() < special else ()
                app.engine.writing.remember_in(
                    rows, ME, Draft(blocks=(Block(text),), tags=tags), Intake(Limits(), "redact")
                )


@contextmanager
def fresh(embedder: str = "none") -> Iterator[App]:
    """An app on a folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="memolith-bench-"))
    app = open_app(Settings(data=folder, embedder=embedder))
    try:
        yield app
    finally:
        app.close()
        shutil.rmtree(folder, ignore_errors=True)


def measure(run: Callable[[], object], times: int) -> tuple[float, float]:
    """Median and 95th percentile in milliseconds."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        run()
        taken.append((time.perf_counter() - started) * 1000)
    taken.sort()
    return taken[times // 2], taken[int(times * 0.95)]
