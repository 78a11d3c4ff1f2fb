"""What is a similarity worth? The curve over thresholds, for `bench.retrieval`."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol

from bench.material import ME
from memolith.bootstrap import App
from memolith.domain.queries import Query


class Indexed(Protocol):
    """A conversation in a memory of its own."""

    app: App
    ids: dict[tuple[str, int], str]

    def index(self, docs: list[dict[str, Any]]) -> None: ...
    def close(self) -> None: ...


def similarities(memory: Indexed, question: str) -> tuple[dict[str, float], bool]:
    """The similarity of every turn that the question finds, and whether one is strong."""
    found = memory.app.engine.recall.search(ME, Query(question, limit=1000, threshold=0.0))
    scores: dict[str, float] = {}
    for hit in found.hits:
        id = memory.ids[hit.item.id, hit.passage.block]
        scores[id] = max(hit.score, scores.get(id, 0.0))
    return scores, any(hit.strength == "strong" for hit in found.hits)


def calibrate(
    make: Callable[[], Indexed], module: ModuleType, data: dict[str, Any], limit: int | None
) -> None:
    """What a similarity is worth: best evidence kept, foreign turns passed, and questions with a
    strong hit.
    """
    talks = data["conversations"]
    best: list[float] = []
    foreign: list[float] = []
    tops: dict[bool, list[float]] = {True: [], False: []}
    strong = {True: 0, False: 0}
    for n, talk in enumerate(talks):
        memory = make()
        memory.index(module.make_docs(talk, "turn"))
        for own, asker in ((True, talk), (False, talks[(n + 1) % len(talks)])):
            for question in asker["questions"][:limit]:
                scores, any_strong = similarities(memory, question["question"])
                tops[own].append(max(scores.values(), default=0.0))
                strong[own] += any_strong
                if own:
                    best.append(max(scores.get(id, 0.0) for id in question["evidence"]))
                else:
                    # A turn that is not found at all does not pass either.
                    foreign += [scores.get(turn["id"], 0.0) for turn in talk["turns"]]
        memory.close()
    print(
        f"{'similarity >=':14} {'best evidence kept':>19} {'foreign turns pass':>19} {'own questions':>14} "
        f"{'foreign questions':>18}"
    )
    for threshold in (0.50, 0.60, 0.65, 0.70, 0.75, 0.79, 0.82, 0.85, 0.90):
        shares = [
            sum(score >= threshold for score in scores) / len(scores)
            for scores in (best, foreign, tops[True], tops[False])
        ]
        print(
            f"{threshold:14.2f} {shares[0]:19.1%} {shares[1]:19.1%} {shares[2]:14.1%} {shares[3]:18.1%}"
        )
    own_share = strong[True] / len(tops[True])
    other_share = strong[False] / len(tops[False])
    print(
        f"strong hits: own questions {own_share:.1%} (bar: at least 80 %), foreign ones {other_share:.1%} (bar: at most 5 %); "
        "bars at 0.70: kept at least 85 %, foreign turns at most 5 %",
        flush=True,
    )
