"""How fast are the Sekha tools over 10,000 conversations, and over one of 20,000 messages?

A message is an English sentence of about 150 common words, with the vector that the model makes of
it, and a few words that follow Zipf's law, as those of real talk do. A question holds some of each;
the hard ones hold common words only.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tests.checked import body_of

from bench import material
from bench.material import ME, fresh, measure
from bench.memories import row
from bench.sentences import questions, sentences, vectors
from memolith.bootstrap import App
from memolith.retrieval.embedding.minilm import MiniLM
from memolith.retrieval.vectors.encoding import quantised
from memolith.tools.call import Call

TURNS, RARE = 10, 8
FOLDERS = [f"/projects/team-{n}" for n in range(9)] + ["/private"]
BARS = {"store": 5, "search": 15}


def run(app: App, tool: str, **arguments: Any) -> dict[str, Any]:
    outcome = app.registry.run(tool, arguments, Call(ME, app.engine))
    assert outcome.ok, outcome.body
    return dict(body_of(outcome)["data"])


def messages(texts: list[str]) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def store(app: App, count: int, texts: list[str]) -> None:
    """Ten messages each, in ten folders, of every importance."""
    taken = []
    for n in range(count):
        started = time.perf_counter()
        run(
            app,
            "memory_store",
            label=f"Talk {n % 500}",
            folder=FOLDERS[n % 10],
            importance_score=1 + n % 10,
            messages=messages(texts[n * TURNS : (n + 1) * TURNS]),
        )
        taken.append((time.perf_counter() - started) * 1000)
    taken.sort()
    row(f"store, {TURNS} messages", (taken[count // 2], taken[int(count * 0.95)]), BARS["store"])


def asked(texts: list[str], count: int) -> list[str]:
    """Questions about messages: what a sentence is about, and a few of the words that came with it."""
    pick = random.Random(5)
    return [
        f"{question[:-1]} {' '.join(pick.sample(pick.choice(texts).split()[-RARE:], 3))}?"
        for question in questions(count)
    ]


def embed(app: App, texts: list[str]) -> None:
    """Give every message the vector that the model made of its text."""
    rows, numbers = vectors(len(texts)), {text: n for n, text in enumerate(texts)}
    with app.store.writing(ME.tenant) as writer:
        while jobs := writer.lease_jobs("embed", app.clock.now(), 1000, 600):
            for job in jobs:
                for (ref, seen, _), passage in zip(
                    writer.unembedded(job.tenant, job.stream, MiniLM.id),
                    writer.passages(job.tenant, job.stream),
                    strict=True,
                ):
                    digest = hashlib.blake2b(seen.encode(), digest_size=16).digest()
                    writer.put_vector(
                        ref, MiniLM.id, digest, quantised(rows[numbers[passage.text]].tobytes())
                    )
                writer.finish_job(job)
    app.embeddings.renew_index(always=True)


def searches(app: App, texts: list[str], long: str) -> None:
    """Searches with no filter and with each kind of it, the embedding of the question apart."""
    assert app.embedder is not None
    natural = iter(asked(texts, 400))
    for name, chosen in (
        ("none", {}),
        ("none, hard", {}),
        ("folder of a tenth", {"folder": "/private"}),
        ("folder of nine tenths", {"folder": "/projects"}),
        ("label", {"label": "Talk 7"}),
        ("role", {"role": "user"}),
        ("importance", {"importance_min": 9}),
        ("the long one", {"conversation_id": long}),
    ):
        taken, source = [], iter(questions(60)) if name.endswith("hard") else natural
        for _ in range(30):
            app.embedder.embed([text := next(source)])
            taken.append(
                measure(partial(run, app, "memory_search", query=text, filters=chosen), 1)[0]
            )
        taken.sort()
        row(f"search, {name}", (taken[15], taken[28]), BARS["search"])


def steps(app: App, long: str) -> Iterator[tuple[str, Callable[[], object]]]:
    yield (
        "search, page at 500",
        lambda: run(app, "memory_search", query="the green bicycle", offset=500),
    )
    yield "stats", lambda: run(app, "memory_stats")
    yield "stats of a folder", lambda: run(app, "memory_stats", folder="/projects")
    yield (
        "prune, everything",
        lambda: run(app, "memory_prune", threshold_days=0, importance_threshold=10),
    )
    yield (
        "get_context of the long one",
        lambda: run(app, "memory_get_context", conversation_id=long),
    )
    yield "export of the long one", lambda: run(app, "memory_export", conversation_id=long)
    yield (
        "export of it as markdown",
        lambda: run(app, "memory_export", conversation_id=long, format="markdown"),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--long", type=int, default=20_000)
    options = parser.parse_args()
    count = max(options.count * TURNS, options.long)
    texts = [
        f"{one} {rare}"
        for one, rare in zip(sentences(count), material.texts(count, RARE), strict=True)
    ]
    with fresh("minilm") as app:
        print(f"{'ms':42} {'median':>8} {'p95':>8}   {'':10}  {'ratio':>5}")
        store(app, options.count, texts)
        started = time.perf_counter()
        long = run(app, "memory_store", label="Long", messages=messages(texts[: options.long]))[
            "id"
        ]
        print(
            f"store of {options.long:,} messages at once: {time.perf_counter() - started:.1f} s",
            flush=True,
        )
        embed(app, texts)
        searches(app, texts, long)
        for name, step in steps(app, long):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            median, p95 = measure(step, 5)
            more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            print(
                f"{name:42} {median:8.1f} {p95:8.1f}   {more:.0f} MB more at the peak", flush=True
            )


if __name__ == "__main__":
    main()
