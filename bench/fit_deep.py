"""Fits what the judge of deep search changes: the score of what it has read, and `strength`.

Questions of `bench.fit_ranking` are asked with the present weights of the score; the judge then
reads the best hits, as in a search with `depth="deep"`. Run it after `bench.fit_ranking`.
"""

from __future__ import annotations

import argparse
import pickle
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.fit_ranking import (
    FITTED_TO,
    FOREIGN_PART,
    PARTS_OF_WORTH,
    SURE_FITTED_TO,
    SURE_PARTS,
    Material,
    Probe,
    Stored,
    fit,
    from_sets,
    from_worlds,
    near_evidence,
    questions_for,
    write,
)
from bench.material import ME
from memolith.domain.chunking import embedded
from memolith.domain.queries import Query
from memolith.engine.search import MAX_JUDGED
from memolith.ports.ranker import READ_TOGETHER
from memolith.retrieval.ranking import weights
from memolith.retrieval.ranking.ranker import HybridRanker

MOST_OF_EACH = 40
"""So many questions of each origin are asked of a collection: the judge is slow."""

SURE_SIGNALS = {
    "said": ("odds", "lead", "meaning", "words", "lacks_type", "verdict"),
    "written": ("odds", "lead", "lacks_type", "verdict"),
}
BANDS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)
FOLDS = 5


class Read(NamedTuple):
    """A hit that the judge has read."""

    score: float
    """Before it was read."""
    verdict: float
    reasons: dict[str, float]
    right: bool
    next_to: bool
    about: bool


@dataclass
class Judged:
    """The best hits of one question."""

    collection: str
    kind: str
    origin: str
    hits: list[Read]

    @property
    def part(self) -> str:
        """Which of the weights it is fitted with."""
        return "said" if self.kind in FITTED_TO["said"] else "written"


class First(NamedTuple):
    """The first hit after the judge: what tells whether it is right, and whether it is."""

    of: Judged
    signals: dict[str, float]
    right: bool
    about: bool


def judged(materials: Sequence[Material]) -> Iterator[Judged]:
    """The questions of each collection, with what the judge says of their best hits."""
    pick = random.Random(11)
    for material in materials:
        by_origin: dict[str, list[Probe]] = defaultdict(list)
        for probe in questions_for(material, materials, pick):
            origin = probe.origin
            if origin == "own" and not probe.right:
                origin = "unanswered"
            by_origin[origin].append(probe._replace(origin=origin))
        stored = Stored(material)
        for probes in by_origin.values():
            for probe in pick.sample(probes, min(len(probes), MOST_OF_EACH)):
                yield judge_hits(stored, probe)
        stored.close()
        print(f"  asked {material.name}", flush=True)


def judge_hits(stored: Stored, probe: Probe) -> Judged:
    """The best hits of a question, read by the judge."""
    recall = stored.app.engine.recall
    judge = recall.judge()
    assert judge is not None
    query = Query(probe.text, threshold=0.0, limit=MAX_JUDGED)
    hits = recall.search(ME, query).hits
    texts = [embedded(hit.item.title, hit.passage.speaker, hit.passage.text) for hit in hits]
    verdicts = judge.judge(probe.text, texts) if texts else []
    near = near_evidence(stored.material, probe.right)
    read = []
    for hit, verdict in zip(hits, verdicts, strict=True):
        key = stored.keys[hit.item.id, hit.passage.block]
        has_word = hit.reasons.get("words", 0.0) > 0
        read.append(
            Read(
                hit.score,
                verdict,
                dict(hit.reasons),
                right=key in probe.right,
                next_to=key in near.next_to,
                about=key in near.turns or (key in near.sessions and has_word),
            )
        )
    return Judged(stored.material.name, stored.material.kind, probe.origin, read)


def share_of(one: Judged, counts: Mapping[tuple[str, bool], int], foreign_part: float) -> float:
    """How much a question counts beside others of its kind."""
    foreign = one.origin != "own"
    return (foreign_part if foreign else 1.0) * 1000 / counts[one.kind, foreign]


def counts_of(questions: Sequence[Judged]) -> Counter[tuple[str, bool]]:
    """How many questions of each kind there are, own and others apart."""
    return Counter((each.kind, each.origin != "own") for each in questions)


def fit_score(questions: Sequence[Judged]) -> dict[str, float]:
    """What the score and the verdict on a hit are worth together."""
    counts = counts_of(questions)
    rows, right, shares = [], [], []
    for each in questions:
        share = PARTS_OF_WORTH[each.kind] * share_of(each, counts, FOREIGN_PART)
        for hit in each.hits:
            rows.append((weights.unsquashed(hit.score), hit.verdict))
            right.append(1.0 if hit.next_to else 0.0)
            shares.append(share)
    score, verdict, bias = map(float, fit(np.array(rows), np.array(right), np.array(shares)))
    return {"bias": bias, "score": score, "verdict": verdict}


def first_hits(questions: Sequence[Judged], deep: Mapping[str, float]) -> list[First]:
    """The first hits of all questions, in the order that they have after the judge."""
    found = []
    floor = weights.weights().floor
    for each in questions:
        scores = [weights.deepened(hit.score, hit.verdict, deep) for hit in each.hits]
        order = sorted(range(len(scores)), key=lambda place: -scores[place])
        if not order or scores[order[0]] < floor:
            continue
        best = each.hits[order[0]]
        reasons = {**best.reasons, READ_TOGETHER: best.verdict}
        signals = weights.sure_signals([scores[place] for place in order], reasons)
        found.append(First(each, signals, best.right, best.about))
    return found


def fit_sure(questions: Sequence[Judged], part: str, deep: Mapping[str, float]) -> dict[str, float]:
    """What tells that the first hit is right, or about the question."""
    asked = [each for each in questions if each.kind in SURE_FITTED_TO[part]]
    counts = counts_of(asked)
    names = SURE_SIGNALS[part]
    first = first_hits(asked, deep)
    columns = np.array([[each.signals[name] for name in names] for each in first])
    about = np.array([1.0 if each.about else 0.0 for each in first])
    shares = [SURE_PARTS[each.of.kind] * share_of(each.of, counts, 1.0) for each in first]
    found = fit(columns, about, np.array(shares))
    return dict(zip((*names, "bias"), map(float, found), strict=True))


def print_order(questions: Sequence[Judged], deep: Mapping[str, float]) -> None:
    """How often the first hit is right, before the judge and after."""
    for kind in PARTS_OF_WORTH:
        own = [each for each in questions if each.kind == kind and each.origin == "own"]
        before = np.mean([bool(each.hits) and each.hits[0].right for each in own])
        after = sum(first.right for first in first_hits(own, deep)) / len(own)
        print(f"  {kind:13} {len(own):5} questions, right first {before:.3f} -> {after:.3f}")


def crossed_certainty(questions: Sequence[Judged]) -> list[tuple[First, float]]:
    """The first hits with their certainty, by weights that their collection had no part in."""
    names = sorted({each.collection for each in questions})
    found = []
    for fold in range(FOLDS):
        held = {name for place, name in enumerate(names) if place % FOLDS == fold}
        others = [each for each in questions if each.collection not in held]
        rest = [each for each in questions if each.collection in held]
        deep = fit_score(others)
        sure = {part: fit_sure(others, part, deep) for part in SURE_SIGNALS}
        for first in first_hits(rest, deep):
            total = weights.total_of(first.signals, sure[first.of.part])
            found.append((first, weights.squashed(sure[first.of.part]["bias"] + total)))
    return found


def print_sure(questions: Sequence[Judged], firsts: Sequence[tuple[First, float]]) -> None:
    """For some bounds of certainty: who gets a strong hit, and how many of these are right."""
    origins = ("own", "unanswered", "foreign", "renamed")
    asked = Counter((each.kind, each.origin) for each in questions)
    for kind in PARTS_OF_WORTH:
        for bound in BANDS:
            strong = [
                first for first, certain in firsts if first.of.kind == kind and certain >= bound
            ]
            counts = Counter(first.of.origin for first in strong)
            cells = [
                f"{origin} {counts[origin] / asked[kind, origin]:.3f}"
                for origin in origins
                if asked[kind, origin]
            ]
            own = [first for first in strong if first.of.origin == "own"]
            if own:
                cells.append(f"right {np.mean([first.right for first in own]):.3f}")
                cells.append(f"right or about it {np.mean([first.about for first in own]):.3f}")
            print(f"  {kind:13} strong from {bound:.2f}: " + "  ".join(cells))


def print_present(questions: Sequence[Judged]) -> None:
    """Who gets a strong hit without the judge, of the same questions."""
    ranker = HybridRanker()
    present = weights.weights()
    counts: Counter[tuple[str, str]] = Counter()
    right: Counter[str] = Counter()
    for each in questions:
        if not each.hits:
            continue
        best = each.hits[0]
        scores = [hit.score for hit in each.hits]
        certain = weights.certainty(scores, best.reasons, present.sure[each.part])
        if best.score >= ranker.floor and certain >= present.strong[each.part]:
            counts[each.kind, each.origin] += 1
            right[each.kind] += each.origin == "own" and best.right
    asked = Counter((each.kind, each.origin) for each in questions)
    for (kind, origin), count in sorted(asked.items()):
        told = f"  {kind:13} {origin:10} {counts[kind, origin] / count:.3f} of {count}"
        if origin == "own" and counts[kind, origin]:
            told += f", right {right[kind] / counts[kind, origin]:.3f}"
        print(told)


def kept(path: Path | None) -> list[Judged]:
    """The questions with their verdicts, which a file may keep: asking takes minutes."""
    if path is not None and path.exists():
        return list(pickle.loads(path.read_bytes()))
    questions = list(judged([*from_worlds(), *from_sets()]))
    if path is not None:
        path.write_bytes(pickle.dumps(questions))
    return questions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="read the verdicts from this file, or write them")
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    questions = kept(options.keep)
    deep = fit_score(questions)
    print("right first, before the judge and after")
    print_order(questions, deep)
    print("strong without the judge")
    print_present(questions)
    print("strong in a deep search, each collection left out of the fit in turn")
    print_sure(questions, crossed_certainty(questions))
    sure = {part: fit_sure(questions, part, deep) for part in SURE_SIGNALS}
    if not options.no_write:
        write(weights.weights()._replace(deep=deep, sure_deep=sure))


if __name__ == "__main__":
    main()
