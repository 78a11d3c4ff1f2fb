"""How long does the model take for a query, and how many texts a second does it embed in bulk and
one by one?
"""

from __future__ import annotations

import time

from bench.material import measure
from bench.sentences import questions, sentences
from memolith.retrieval.embedding.minilm import MiniLM

BULK = 600
ROUNDS = 3
BAR = 2.5


def rate(model: MiniLM, texts: list[str], at_once: int) -> float:
    """Texts per second of wall time, given so many at a time."""
    started = time.perf_counter()
    for start in range(0, len(texts), at_once):
        model.embed(texts[start : start + at_once])
    return len(texts) / (time.perf_counter() - started)


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
    print(f"{'texts':16} {'bulk/s':>8} {'one by one/s':>13} {'ratio':>6}   (bar {BAR})")
    for name, texts in (
        ("sentences", sentences(2 * BULK * ROUNDS)),
        ("notes", mixed(BULK * ROUNDS // 2)),
    ):
        step = len(texts) // (2 * ROUNDS)
        parts = [texts[n * step : (n + 1) * step] for n in range(2 * ROUNDS)]
        # In turns, so that a busy machine is busy for both; never the same text twice, for the
        # model keeps the last.
        bulk, single = zip(
            *(
                (rate(model, parts[2 * n], step), rate(model, parts[2 * n + 1], 1))
                for n in range(ROUNDS)
            ),
            strict=True,
        )
        best, floor = sorted(bulk)[ROUNDS // 2], sorted(single)[ROUNDS // 2]
        print(f"{name:16} {best:8.0f} {floor:13.0f} {best / floor:6.2f}", flush=True)


if __name__ == "__main__":
    main()
