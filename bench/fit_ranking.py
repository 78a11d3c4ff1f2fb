"""Fits the weights of the score to labelled questions, and writes them where ranking reads them.

The questions come from the worlds in `bench/notes/worlds`, and from the retrieval sets where these
are at hand (see `bench.retrieval`). Every question is asked in a store of its own collection, and
some of other collections, which nothing there answers. The signals are those of the product: a
ranker that records them stands in for the usual one.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.retrieval import ME, data_folder, load_eval
from bench.worlds import load_worlds
from memolith.bootstrap import App, open_app
from memolith.domain.items import Draft
from memolith.domain.passages import Block, PassageRef
from memolith.domain.queries import Query
from memolith.ports.ranker import Asked, Evidence, Ranked, Surroundings
from memolith.retrieval.ranking import weights
from memolith.retrieval.ranking.ranker import HybridRanker
from memolith.retrieval.ranking.signals import Signals
from memolith.settings import Settings

Floats = NDArray[np.float64]

BY_HAND_EVERYWHERE = {
    "superseded": -2.0,
    "superseded_now": -3.0,
    "on_date": 1.5,
}
BY_HAND = {
    "hybrid": {**BY_HAND_EVERYWHERE, "phrase": 2.0, "entities": 2.0, "all_words": 3.0},
    "text": {**BY_HAND_EVERYWHERE, "phrase": 2.0, "entities": 2.0, "all_words": 3.0},
    "vector": BY_HAND_EVERYWHERE,
}
"""Weights of signals that the questions say too little about."""

AROUND = (
    "alone",
    "answers",
    "previous_words",
    "answered_words",
    "next_words",
    "speaker",
    "other_speaker",
    "date",
    "time_words",
    "is_question",
    "length",
)
BY_WORDS = ("words", "words_over_0.3", "coverage")
BY_MEANING = ("meaning", "meaning_over_0.3", "meaning_over_0.5", "foreign_meaning")
TOGETHER = ("meaning_and_words", "meaning_and_coverage")
NEAR_MEANING = (
    "previous_meaning",
    "answered_meaning",
    "next_meaning",
    "session",
    "session_mean",
)
USED = {
    "hybrid": (*BY_MEANING, *BY_WORDS, *TOGETHER, *AROUND, *NEAR_MEANING),
    # By words alone, a long passage would win for its length.
    "text": (*BY_WORDS, *(name for name in AROUND if name != "length")),
    "vector": (*BY_MEANING, "alone", "length"),
}
"""The signals that each kind of search adds up."""

PENALTY = 1.0
MAX_STEP = 1.5
BEND_QUANTILES = (0.2, 0.6)
"""The worth of the sum may bend where so much of what is right lies below."""

PARTS = {"conversation": 1.0, "notes": 2.0, "file": 0.3, "language": 0.4}
"""How much the kinds of collections count, however many questions they have."""

PARTS_OF_WORTH = {"conversation": 1.0, "notes": 1.0, "file": 0.05, "language": 0.1}
"""The same for what a sum is worth."""

FOREIGN_PART = 0.5
NOISE = "zor plim vakt quor blen dasp frim gulv hest jorp".split()


@dataclass
class Asking:
    """A question, and what answers it in its collection."""

    text: str
    right: frozenset[str]


@dataclass
class Material:
    """Passages that are kept together, and questions about them."""

    name: str
    kind: str
    items: list[list[tuple[str, Block, str]]]
    """Each item with its blocks: the id, the block and the title."""
    questions: list[Asking]
    speakers: list[str] = field(default_factory=list)


@dataclass
class Answered:
    """The candidates of one question: their signals and which of them are right."""

    material: Material
    foreign: bool
    signals: list[dict[str, float]]
    right: list[bool]
    keys: list[str]
    wanted: frozenset[str]
    text: str


class Recorder(HybridRanker):
    """Records the signals of all candidates."""

    def __init__(self) -> None:
        self.found: dict[PassageRef, tuple[Evidence, dict[str, float]]] = {}

    def rank(
        self,
        asked: Asked,
        mode: str,
        candidates: Collection[PassageRef],
        known: Surroundings,
    ) -> list[Ranked]:
        signals = Signals(asked, known)
        for ref in candidates:
            self.found[ref] = (known.evidence[ref], signals.of(ref))
        return super().rank(asked, mode, candidates, known)


def from_worlds() -> Iterator[Material]:
    """The worlds that come with the project."""
    for world in load_worlds():
        groups: dict[str, list[tuple[str, Block, str]]] = defaultdict(list)
        speakers = {}
        for item in world.items:
            at = item.at.isoformat().replace("+00:00", "Z")
            at = at if at.endswith("Z") else f"{at}Z"
            session = item.session if world.kind == "conversation" else item.id
            groups[str(session)].append(
                (item.id, Block(item.text, speaker=item.speaker, at=at), item.title or "")
            )
            if item.speaker:
                speakers[item.speaker] = True
        questions = [Asking(each.text, frozenset(each.right)) for each in world.questions]
        kind = world.kind if world.language == "en" else "language"
        yield Material(world.name, kind, list(groups.values()), questions, list(speakers))


def from_sets() -> Iterator[Material]:
    """The retrieval sets, where they are at hand."""
    folder = data_folder()
    if folder is None:
        return
    iso = load_eval(folder).iso
    for name, kind, most in (
        ("locomo_dev", "conversation", None),
        ("xquad_en", "file", 300),
        ("xquad_zh", "language", 100),
    ):
        data = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for number, conversation in enumerate(data["conversations"]):
            groups: dict[object, list[tuple[str, Block, str]]] = defaultdict(list)
            for turn in conversation["turns"]:
                at = iso(turn.get("date") or "")
                block = Block(
                    turn["text"],
                    speaker=turn.get("speaker") or None,
                    at=f"{at}:00Z" if at else None,
                )
                groups[turn.get("session", turn["id"])].append((str(turn["id"]), block, ""))
            questions = [
                Asking(each["question"], frozenset(map(str, each["evidence"])))
                for each in conversation["questions"]
                if each["evidence"]
            ]
            pick = random.Random(3)
            if most and len(questions) > most:
                questions = pick.sample(questions, most)
            yield Material(
                f"{name}-{number}",
                kind,
                list(groups.values()),
                questions,
                list(conversation.get("speakers") or ()),
            )


class Stored:
    """A collection in a store of its own."""

    def __init__(self, material: Material) -> None:
        self.material = material
        self.folder = Path(tempfile.mkdtemp(prefix="memolith-fit-"))
        self.app: App = open_app(Settings(data=self.folder, secrets="allow"))
        self.recorder = Recorder()
        self.app.engine.recall.ranker = self.recorder
        self.keys: dict[tuple[str, int], str] = {}
        for group in material.items:
            kind = "conversation" if group[0][1].speaker else "memory"
            blocks = tuple(block for _, block, _ in group)
            draft = Draft(kind=kind, title=group[0][2], blocks=blocks)
            item = self.app.engine.writing.remember(ME, draft).item
            self.keys |= {(item.id, place): key for place, (key, _, _) in enumerate(group)}
        self.app.upkeep.run()

    def ask(self, text: str, right: frozenset[str], foreign: bool) -> Answered:
        """The candidates of a question with their signals."""
        self.recorder.found.clear()
        self.app.engine.recall.search(ME, Query(text, threshold=1.0, limit=1))
        answered = Answered(self.material, foreign, [], [], [], right, text)
        for (_, passage, _, _), signals in self.recorder.found.values():
            key = self.keys[passage.item, passage.block]
            answered.keys.append(key)
            answered.right.append(key in right)
            answered.signals.append(weights.bent(signals))
        return answered

    def close(self) -> None:
        """Leave nothing behind."""
        self.app.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def answers(materials: Sequence[Material]) -> Iterator[Answered]:
    """Every question in its own collection, and some where nothing answers them."""
    pick = random.Random(11)
    for number, material in enumerate(materials):
        stored = Stored(material)
        for question in material.questions:
            yield stored.ask(question.text, question.right, foreign=False)
        same_kind = [other for other in materials if other.kind == material.kind]
        if material.kind == "notes":
            same_kind += [other for other in materials if other.kind == "conversation"]
        foreign = [
            (question, other)
            for other in same_kind
            if other.name != material.name and not other.name.startswith(material.name[:6])
            for question in other.questions
        ]
        if material.name.startswith("locomo"):
            other = materials[(number + 1) % len(materials)]
            foreign = [
                (question, one)
                for one in same_kind
                if one.name != material.name
                for question in one.questions
            ]
        for question, other in pick.sample(foreign, min(len(foreign), 60)):
            yield stored.ask(question.text, frozenset(), foreign=True)
            renamed = _renamed(question.text, other.speakers, material.speakers)
            if renamed != question.text:
                yield stored.ask(renamed, frozenset(), foreign=True)
        for _ in range(3):
            yield stored.ask(" ".join(pick.sample(NOISE, 3)), frozenset(), foreign=True)
        stored.close()
        print(f"  asked {material.name}", flush=True)


def _renamed(text: str, theirs: Sequence[str], ours: Sequence[str]) -> str:
    for their, our in zip(theirs, ours, strict=False):
        text = re.sub(rf"\b{re.escape(their)}\b", our, text)
    return text


def _counts(answered: Sequence[Answered]) -> dict[tuple[str, bool], int]:
    """How many questions of each kind there are, own and foreign ones apart."""
    counts: dict[tuple[str, bool], int] = defaultdict(int)
    for each in answered:
        counts[each.material.kind, each.foreign] += 1
    return counts


def shares(answered: Sequence[Answered]) -> Floats:
    """How much each candidate counts: foreign questions less."""
    counts = _counts(answered)
    made = []
    for each in answered:
        part = FOREIGN_PART if each.foreign else 1.0
        part *= PARTS_OF_WORTH[each.material.kind]
        part *= 1000 / counts[each.material.kind, each.foreign]
        made += [part] * len(each.signals)
    return np.array(made)


def fit(columns: Floats, right: Floats, counts: Floats) -> Floats:
    """Logistic regression by Newton's method; the bias comes last."""
    design = np.column_stack((columns, np.ones(len(columns))))
    penalty = np.full(design.shape[1], PENALTY)
    penalty[-1] = 0.0
    found = np.zeros(design.shape[1])
    for _ in range(40):
        chance = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        slope = design.T @ (counts * (right - chance)) - penalty * found
        bend = (design * (counts * chance * (1 - chance))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        found += step * min(1.0, MAX_STEP / np.abs(step).max())
        if np.abs(step).max() < 1e-6:
            break
    return found


def fit_order(lists: Sequence[tuple[Floats, Floats, float]]) -> Floats:
    """The weights that put what is right first in its list: a conditional logit.

    A list has the signals of its candidates, which of them are right, and how much it counts.
    """
    size = lists[0][0].shape[1]
    found = np.zeros(size)
    for _ in range(40):
        slope = -PENALTY * found
        bend = PENALTY * np.eye(size)
        for signals, right, count in lists:
            sums = signals @ found
            chances = np.exp(sums - sums.max())
            chances /= chances.sum()
            slope += count * (signals.T @ (right / right.sum() - chances))
            weighted = signals * chances[:, None]
            mean = weighted.sum(axis=0)
            bend += count * (signals.T @ weighted - np.outer(mean, mean))
        step = np.linalg.solve(bend, slope)
        found += step * min(1.0, MAX_STEP / np.abs(step).max())
        if np.abs(step).max() < 1e-3:
            break
    return found


def fitted(answered: Sequence[Answered], mode: str) -> weights.Combination:
    """The weights of a kind of search: first the order, then what the sum is worth."""
    names = USED[mode]
    counts = _counts(answered)
    lists = []
    for each in answered:
        right = np.array([1.0 if one else 0.0 for one in each.right])
        if not each.foreign and right.any():
            share = PARTS[each.material.kind] * 1000 / counts[each.material.kind, False]
            lists.append((_columns(each, names), right, share))
    found = fit_order(lists)
    order = {name: float(value) for name, value in zip(names, found, strict=True)}
    order |= BY_HAND[mode]
    return weights.Combination(order, _worth(answered, order))


def _columns(each: Answered, names: Sequence[str]) -> Floats:
    return np.array([[signals.get(name, 0.0) for name in names] for signals in each.signals])


def _worth(answered: Sequence[Answered], order: Mapping[str, float]) -> dict[str, float]:
    sums = np.array([weights.total_of(one, order) for each in answered for one in each.signals])
    right = np.array([1.0 if one else 0.0 for each in answered for one in each.right])
    first_at, second_at = np.quantile(sums[right > 0], BEND_QUANTILES)
    columns = [sums, np.maximum(0, sums - first_at), np.maximum(0, sums - second_at)]
    alone = np.array([one.get("alone", 0.0) for each in answered for one in each.signals])
    columns.append(sums * alone)
    for name in weights.QUESTION_SIGNALS:
        columns.append(np.array([one.get(name, 0.0) for each in answered for one in each.signals]))
    found = fit(np.column_stack(columns), right, shares(answered))
    slope, first, second, alone_slope, *others, bias = [float(value) for value in found]
    worth = {
        "bias": bias,
        "slope": slope,
        "first_bend_at": float(first_at),
        "first_bend": first,
        "second_bend_at": float(second_at),
        "second_bend": second,
        "alone_slope": alone_slope,
    }
    return worth | dict(zip(weights.QUESTION_SIGNALS, others, strict=True))


@dataclass
class Figures:
    """What the weights are worth for one kind of collection."""

    questions: int = 0
    first: float = 0.0
    five: float = 0.0
    ten: float = 0.0
    best: list[float] = field(default_factory=list)
    foreign_best: list[float] = field(default_factory=list)


def judge(answered: Sequence[Answered], chosen: weights.Combination) -> dict[str, Figures]:
    """Figures by kind; `best` has the scores of the first hits and whether they are right."""
    figures: dict[str, Figures] = defaultdict(Figures)
    for each in answered:
        one = figures[each.material.kind]
        scores = [weights.probability(signals, chosen) for signals in each.signals]
        order = sorted(range(len(scores)), key=lambda place: -scores[place])
        if each.foreign or not each.wanted:
            one.foreign_best.append(scores[order[0]] if order else 0.0)
            continue
        one.questions += 1
        ranked = list(dict.fromkeys(each.keys[place] for place in order))
        one.first += bool(ranked) and ranked[0] in each.wanted
        one.five += len(each.wanted & set(ranked[:5])) / len(each.wanted)
        one.ten += len(each.wanted & set(ranked[:10])) / len(each.wanted)
        one.best.append(scores[order[0]] if order else 0.0)
    return figures


def calibration(answered: Sequence[Answered], chosen: weights.Combination) -> None:
    """Per band of the score: how many candidates, and the share that is right."""
    bands: dict[int, list[bool]] = defaultdict(list)
    for each in answered:
        for signals, right in zip(each.signals, each.right, strict=True):
            bands[int(10 * min(weights.probability(signals, chosen), 0.999))].append(right)
    for band in sorted(bands):
        of_band = bands[band]
        print(
            f"  {band / 10:.1f} to {(band + 1) / 10:.1f}: {len(of_band):7,} "
            f"{sum(of_band) / len(of_band):6.1%} right"
        )


def crossed(answered: Sequence[Answered], mode: str) -> None:
    """Print figures for collections that the weights were not fitted to."""
    names = sorted({each.material.name for each in answered})
    parts: dict[str, list[Figures]] = defaultdict(list)
    for fold in range(5):
        held = {name for place, name in enumerate(names) if place % 5 == fold}
        chosen = fitted([each for each in answered if each.material.name not in held], mode)
        rest = [each for each in answered if each.material.name in held]
        for kind, one in judge(rest, chosen).items():
            parts[kind].append(one)
    for kind, some in parts.items():
        count = sum(one.questions for one in some)
        best = np.array([score for one in some for score in one.best])
        foreign = np.array([score for one in some for score in one.foreign_best])
        bar = float(np.quantile(foreign, 0.95))
        print(
            f"{mode:7} {kind:13} {count:5} questions  first {sum(o.first for o in some) / count:.3f} "
            f"r@5 {sum(o.five for o in some) / count:.3f} r@10 {sum(o.ten for o in some) / count:.3f}"
            f"  at 5 % foreign (score {bar:.2f}) {np.mean(best >= bar):.3f} of the answerable"
        )


def write(
    found: Mapping[str, weights.Combination],
    deep: Mapping[str, float],
    bounds: Mapping[str, float],
) -> None:
    """Write the file that ranking reads."""
    lines = ["# Fitted by `python -m bench.fit_ranking`."]
    parts = {"bounds": bounds, "deep": deep}
    for mode, chosen in found.items():
        parts[f"{mode}.order"] = chosen.order
        parts[f"{mode}.worth"] = chosen.worth
    for name, values in parts.items():
        lines += ["", f"[{name}]"]
        lines += [f'"{key}" = {value:.4f}' for key, value in values.items()]
    weights.FILE.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="read the signals from this file, or write them")
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    answered = _kept(options.keep)
    found = {}
    for mode in USED:
        crossed(answered, mode)
        found[mode] = fitted(answered, mode)
    print("calibration of hybrid, all candidates")
    calibration(answered, found["hybrid"])
    present = weights.weights()
    bounds = {"floor": present.floor, "likely": present.likely, "strong": present.strong}
    if not options.no_write:
        write(found, present.deep, bounds)


def _kept(path: Path | None) -> list[Answered]:
    # Asking takes minutes; trying other signals or penalties need not ask again.
    import pickle

    if path is not None and path.exists():
        return list(pickle.loads(path.read_bytes()))
    answered = list(answers([*from_worlds(), *from_sets()]))
    if path is not None:
        path.write_bytes(pickle.dumps(answered))
    return answered


if __name__ == "__main__":
    main()
