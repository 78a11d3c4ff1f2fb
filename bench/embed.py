"""How long does the model take for a query, and how many texts a second does it embed in bulk and
one by one? How much faster could bulk be at most on this machine?

The floor runs nothing but the model, on texts that are cut into tokens already: two processes with
batches, and one process text by text, in turns with what is measured.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Sequence

from bench import model_alone
from bench.material import measure
from bench.model_alone import Rate
from bench.sentences import questions, sentences
from memolith.retrieval.embedding.minilm import MiniLM

BULK = 600
ROUNDS = 3
BAR = 2.5


def rate(model: MiniLM, texts: list[str], at_once: int) -> Rate:
    """Texts per second, given so many at a time."""
    wall = time.perf_counter()
    cpu = time.process_time()
    for start in range(0, len(texts), at_once):
        model.embed(texts[start : start + at_once])
    return Rate(len(texts) / (time.perf_counter() - wall), len(texts) / (time.process_time() - cpu))


def middle(rates: Sequence[Rate]) -> Rate:
    """The median of each figure."""
    return Rate(*(statistics.median(figures) for figures in zip(*rates, strict=True)))


def compare(model: MiniLM, name: str, texts: list[str]) -> None:
    """Bulk and one by one, and the same of the model alone."""
    step = len(texts) // (2 * ROUNDS)
    parts = [texts[n * step : (n + 1) * step] for n in range(2 * ROUNDS)]
    found: dict[str, list[Rate]] = defaultdict(list)
    every_core = len(model_alone.cores())
    # In turns, so that a busy machine is busy for all; never the same text twice, for the model
    # keeps the last.
    for n in range(ROUNDS):
        some = parts[2 * n]
        found["bulk"].append(rate(model, some, step))
        found["one by one"].append(rate(model, parts[2 * n + 1], 1))
        found["alone, batches, 2 processes"].append(model_alone.rate(some, processes=2))
        found["alone, batches, 1 process"].append(model_alone.rate(some))
        found["alone, one by one, 1 thread"].append(model_alone.rate(some, in_batches=False))
        found[f"alone, one by one, {every_core} threads"].append(
            model_alone.rate(some, threads=every_core, in_batches=False)
        )
    rates = {what: middle(some) for what, some in found.items()}
    for what, one in rates.items():
        print(f"{name:10} {what:30} {one.per_s:7.0f} a second {one.per_cpu_s:7.0f} a CPU second")
    ratio = rates["bulk"].per_s / rates["one by one"].per_s
    two, single = rates["alone, batches, 2 processes"], rates["alone, one by one, 1 thread"]
    floor = two.per_s / single.per_s
    cpu_floor = 2 * two.per_cpu_s / single.per_cpu_s
    print(
        f"{name:10} bulk is {ratio:.2f} times one by one (bar {BAR}); the model alone {floor:.2f} "
        f"times, {cpu_floor:.2f} by CPU time; {ratio / floor:.2f} of the floor",
        flush=True,
    )


def mixed(count: int) -> list[str]:
    """Texts of 20 to 120 words, as notes and chunks are."""
    source = iter(sentences(count * 6))
    return [" ".join(next(source) for _ in range(1 + n % 6)) for n in range(count)]


def main() -> None:
    model = MiniLM()
    started = time.perf_counter()
    model.wait(60)
    print(f"model loaded in {time.perf_counter() - started:.2f} s")
    asked = iter(questions(400))
    for _ in range(10):
        model.embed([next(asked)])
    p50, p95 = measure(lambda: model.embed([next(asked)]), 100)
    print(f"query           p50 {p50:6.2f} ms   p95 {p95:6.2f} ms   (a question of about 12 words)")
    compare(model, "sentences", sentences(2 * BULK * ROUNDS))
    compare(model, "notes", mixed(BULK * ROUNDS // 2))


if __name__ == "__main__":
    main()
