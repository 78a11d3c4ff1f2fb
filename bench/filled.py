"""A data folder with many sentences and their real vectors, some marked for filters of 1, 20 and 95
per cent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.material import ME
from bench.sentences import sentences, vectors
from memolith.bootstrap import App
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.engine.validation import Intake, Limits
from memolith.retrieval.embedding.minilm import MiniLM
from memolith.retrieval.vectors.encoding import quantised

FILTERS = {
    "none": Filter(),
    "1 %": Filter(tags_all=("hundredth",)),
    "20 %": Filter(namespaces=("fifth",)),
    "95 %": Filter(kinds=("memory",)),
}


def marked(n: int) -> dict[str, Any]:
    """The marks of the n-th sentence."""
    return {
        "tags": ("hundredth",) if n % 100 == 7 else (),
        "namespace": "fifth" if n % 5 == 1 else "other",
        "kind": "concept" if n % 20 == 3 else "memory",
    }


def passing(name: str, count: int) -> np.ndarray:
    """Which sentences a filter keeps."""
    tests: dict[str, Callable[[int], bool]] = {
        "none": lambda n: True,
        "1 %": lambda n: n % 100 == 7,
        "20 %": lambda n: n % 5 == 1,
        "95 %": lambda n: n % 20 != 3,
    }
    keeps = tests[name]
    return np.array([n for n in range(count) if keeps(n)])


def fill(app: App, count: int, rows: np.ndarray | None = None) -> dict[str, int]:
    """Remember the sentences with their vectors, or others; returns the number of each item."""
    rows = vectors(count) if rows is None else rows
    texts = sentences(count)
    numbers: dict[str, int] = {}
    for start in range(0, count, 5000):
        with app.store.writing(ME.tenant) as store:
            for n in range(start, min(start + 5000, count)):
                draft = Draft(blocks=(Block(texts[n]),), **marked(n))
                item = app.engine.writing.remember_in(
                    store, ME, draft, Intake(Limits(), "allow")
                ).item
                numbers[item.id] = n
    with app.store.writing(ME.tenant) as store:
        while jobs := store.lease_jobs("embed", app.clock.now(), 5000, 60):
            for job in jobs:
                for ref, text, _ in store.unembedded(job.tenant, job.stream, MiniLM.id):
                    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
                    store.put_vector(
                        ref, MiniLM.id, digest, quantised(rows[numbers[job.stream]].tobytes())
                    )
                store.finish_job(job)
    return numbers


def sizes(options_million: bool) -> Iterator[int]:
    """The sizes to measure."""
    yield from (10_000, 100_000)
    if options_million:
        yield 1_000_000
