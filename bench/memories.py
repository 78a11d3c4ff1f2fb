"""How fast are the LanOnasis tools over 50,000 memories, and do duplicates come out as through
`similar`?
"""

from __future__ import annotations

import argparse
import resource
import time
from functools import partial
from typing import Any

import bench.filled as filled
from bench.material import ME, fresh, measure
from bench.sentences import questions, sentences
from memolith.bootstrap import App
from memolith.domain.items import Draft
from memolith.tools.call import Call

TYPES = "context project knowledge reference personal workflow".split()
TOPICS = [f"topic-{n}" for n in range(20)]
BARS = {"list": 10, "search": 15, "stats": 10}


def marked(n: int) -> dict[str, object]:
    """What the filters of the tools look for; each keeps between a hundredth and nine tenths."""
    tags = ("hundredth",) if n % 100 == 7 else ("tenth",) if n % 10 == 3 else ()
    return {
        "title": f"Note {n:05d}",
        "namespace": TYPES[n % 6],
        "project": f"project-{n % 10}",
        "tags": tags,
        "status": "archived" if n % 10 == 9 else "active",
        "attributes": {"topic_id": TOPICS[n % 20]},
    }


def run(app: App, tool: str, **arguments: Any) -> dict[str, Any]:
    outcome = app.registry.run(tool, arguments, Call(ME, app.engine))
    assert outcome.ok, outcome.body
    return outcome.body


def row(name: str, figures: tuple[float, float], bar: float, note: str = "") -> None:
    ratio = figures[0] / bar
    print(
        f"{name:42} {figures[0]:8.2f} {figures[1]:8.2f}   bar {bar:6.0f}  {ratio:5.2f}  {note}",
        flush=True,
    )


def lists(app: App, count: int) -> None:
    """Pages of every sort, near and far, and under every filter."""
    last = count // 20
    for sort in ("created_at", "updated_at", "title", "access_count", "last_accessed"):
        for page in (1, last // 2, last):
            row(
                f"list, {sort}, page {page}",
                measure(partial(run, app, "list_memories", sort=sort, page=page), 9),
                BARS["list"],
            )
    values: list[tuple[str, Any]] = [
        ("memory_type", "knowledge"),
        ("status", "active"),
        ("project_ref", "project-3"),
        ("topic_id", "topic-3"),
        ("tags", ["tenth"]),
        ("tags", ["hundredth"]),
    ]
    for name, value in values:
        row(
            f"list, {name} = {value}",
            measure(partial(run, app, "list_memories", **{name: value}), 9),
            BARS["list"],
        )


def searches(app: App) -> None:
    """Searches with no filter and with all of them, the embedding of the question apart."""
    assert app.embedder is not None
    every = {
        "memory_types": ["knowledge", "project"],
        "project_ref": "project-3",
        "topic_id": "topic-13",
        "tags": ["tenth"],
        "status": "active",
    }
    asked = iter(questions(200))
    filters: list[tuple[str, dict[str, Any]]] = [
        ("none", {}),
        ("all filters", every),
        ("type", {"memory_types": ["knowledge"]}),
        ("topic", {"topic_id": "topic-3"}),
        ("tag of a tenth", {"tags": ["tenth"]}),
    ]
    for name, chosen in filters:
        took = []
        for _ in range(20):
            app.embedder.embed([text := next(asked)])
            took.append(measure(partial(run, app, "search_memories", query=text, **chosen), 1)[0])
        took.sort()
        row(f"search, {name}", (took[10], took[18]), BARS["search"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50_000)
    options = parser.parse_args()
    filled.marked = marked
    with fresh("minilm") as app:
        for topic in TOPICS:
            app.engine.writing.remember(ME, Draft("topic", topic, id=topic))
        app.upkeep.run()
        filled.fill(app, options.count)
        app.embeddings.renew_index(always=True)
        print(f"{'ms':42} {'median':>8} {'p95':>8}   {'':10}  {'ratio':>5}")
        lists(app, options.count)
        searches(app)
        row("get_stats", measure(lambda: run(app, "get_stats"), 15), BARS["stats"])
        text = sentences(1)[0]
        run(app, "create_memory", title="Note 00000", content=text)
        before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
        told: list[float] = []
        call = Call(ME, app.engine, progress=lambda done, total, _: told.append(done))
        body = app.registry.run("intelligence_detect_duplicates", {"user_id": "local"}, call).body
        took, more = (
            time.perf_counter() - started,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before,
        )
        row(
            "detect_duplicates, s",
            (took, took),
            60,
            f"{body['total_pairs']} pairs, {len(told)} notifications, "
            f"{more / 1024:.0f} MB more at the peak",
        )


if __name__ == "__main__":
    main()
