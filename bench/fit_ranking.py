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

BY_HAND = {
    "hybrid": {"phrase": 2.0, "entities": 2.0, "superseded": -1.0, "superseded_now": -2.0},
    "text": {"phrase": 2.0, "entities": 2.0, "superseded": -1.0, "superseded_now": -2.0},
    "vector": {"superseded": -1.0, "superseded_now": -2.0},
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
    "question_length",
)
BY_WORDS = ("words", "words_over_0.3", "coverage", "rarest", "known")
BY_MEANING = ("meaning", "meaning_over_0.3", "meaning_over_0.5")
TOGETHER = ("meaning_and_words", "meaning_and_coverage")
NEAR_MEANING = ("previous_meaning", "answered_meaning", "next_meaning")
USED = {
    "hybrid": (*BY_MEANING, *BY_WORDS, *TOGETHER, *AROUND, *NEAR_MEANING),
    "text": (*BY_WORDS, *AROUND),
    "vector": (*BY_MEANING, "alone", "length", "question_length"),
}
"""The signals that each kind of search adds up."""

PENALTY = 1.0
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
        answered = Answered(self.material, foreign, [], [], [], right)
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


def matrix(answered: Sequence[Answered], names: Sequence[str], hand: Mapping[str, float]) -> Floats:
    """A row for each candidate; the last column is what the weights by hand give."""
    rows = []
    for each in answered:
        for signals in each.signals:
            row = [signals.get(name, 0.0) for name in names]
            row.append(sum(weight * signals.get(name, 0.0) for name, weight in hand.items()))
            rows.append(row)
    return np.array(rows)


def shares(answered: Sequence[Answered]) -> Floats:
    """How much each candidate counts: every kind of collection the same, foreign questions less."""
    counts: dict[tuple[str, bool], int] = defaultdict(int)
    for each in answered:
        counts[each.material.kind, each.foreign] += 1
    parts = {"conversation": 1.0, "notes": 0.8, "file": 0.3, "language": 0.3}
    made = []
    for each in answered:
        part = parts[each.material.kind] * (0.5 if each.foreign else 1.0)
        part *= 1000 / counts[each.material.kind, each.foreign]
        made += [part] * len(each.signals)
    return np.array(made)


def fit(columns: Floats, right: Floats, counts: Floats) -> Floats:
    """Logistic regression by Newton's method, with a small penalty; the bias comes last."""
    offset = columns[:, -1]
    design = np.column_stack((columns[:, :-1], np.ones(len(columns))))
    penalty = np.full(design.shape[1], PENALTY)
    penalty[-1] = 0.0
    found = np.zeros(design.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(design @ found + offset, -30, 30)))
        slope = design.T @ (counts * (right - chance)) - penalty * found
        bend = (design * (counts * chance * (1 - chance))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        found += step
        if np.abs(step).max() < 1e-6:
            break
    return found


def fitted(answered: Sequence[Answered], mode: str) -> dict[str, float]:
    """The weights of a kind of search."""
    names = USED[mode]
    hand = BY_HAND[mode]
    right = np.array([1.0 if one else 0.0 for each in answered for one in each.right])
    found = fit(matrix(answered, names, hand), right, shares(answered))
    made = {"bias": float(found[-1])}
    made |= {name: float(value) for name, value in zip(names, found[:-1], strict=True)}
    return made | dict(hand)


@dataclass
class Figures:
    """What the weights are worth for one kind of collection."""

    questions: int = 0
    first: float = 0.0
    five: float = 0.0
    ten: float = 0.0
    best: list[float] = field(default_factory=list)
    foreign_best: list[float] = field(default_factory=list)


def judge(answered: Sequence[Answered], chosen: Mapping[str, float]) -> dict[str, Figures]:
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


def calibration(answered: Sequence[Answered], chosen: Mapping[str, float]) -> None:
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


def write(found: Mapping[str, Mapping[str, float]], bounds: Mapping[str, float]) -> None:
    """Write the file that ranking reads."""
    lines = ["# Fitted by `python -m bench.fit_ranking`.", "", "[bounds]"]
    lines += [f"{name} = {value:.4g}" for name, value in bounds.items()]
    for mode, chosen in found.items():
        lines += ["", f"[{mode}]"]
        lines += [f'"{name}" = {value:.4g}' for name, value in chosen.items()]
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
        write({**found, "deep": present.deep}, bounds)


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
