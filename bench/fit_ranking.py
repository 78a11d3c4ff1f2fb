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
from typing import NamedTuple

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
from memolith.retrieval.ranking.ranker import DIGITS, HybridRanker, reasons_of
from memolith.retrieval.ranking.signals import Signals
from memolith.settings import Settings

Floats = NDArray[np.float64]

BY_HAND_EVERYWHERE = {
    "superseded": -2.0,
    "superseded_now": -3.0,
    "on_date": 3.0,
    "mentions_date": 3.0,
}
BY_HAND = {
    "said": {
        **BY_HAND_EVERYWHERE,
        "phrase": 2.0,
        "entities": 2.0,
        "all_words": 1.0,
        "only_word": 1.0,
    },
    "written": {
        **BY_HAND_EVERYWHERE,
        "phrase": 2.0,
        "entities": 2.0,
        "all_words": 1.0,
        "only_word": 4.0,
    },
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
BY_MEANING = ("meaning", "meaning_over_0.3", "meaning_over_0.5")
TOGETHER = ("meaning_and_words", "meaning_and_coverage")
NEAR_MEANING = (
    "previous_meaning",
    "answered_meaning",
    "next_meaning",
    "session",
    "session_mean",
)
USED = {
    "said": (
        *BY_MEANING,
        *BY_WORDS,
        *TOGETHER,
        *(name for name in AROUND if name != "alone"),
        *NEAR_MEANING,
        "near_words",
    ),
    # Ordinary words that a note shares with a question say no more than its meaning does; only
    # many of them, or those of a language that the model does not know, do.
    "written": (
        "meaning",
        "words_over_0.3",
        "foreign_meaning",
        "foreign_words",
        "foreign_coverage",
        "length",
        "date",
        "time_words",
        "alone",
        "near_words",
        "session",
        "session_mean",
    ),
    # By words alone, a long passage would win for its length.
    "text": (
        *BY_WORDS,
        *(name for name in AROUND if name != "length"),
        "near_words",
        "alone_and_words",
        "alone_and_coverage",
    ),
    "vector": (
        *BY_MEANING,
        "foreign_meaning",
        "alone",
        "length",
        "alone_and_meaning",
        "alone_and_length",
    ),
}
"""The signals that each kind of search adds up; what is said and what is written apart."""

PARTS_OF_MODE = {"hybrid": ("said", "written"), "text": ("text",), "vector": ("vector",)}
FITTED_TO = {"said": ("conversation",), "written": ("notes", "file", "language")}
"""The kinds of collections that weights are fitted to, if not to all."""

ROUGH = {"meaning": 2.0, "words": 1.0, "near_words": 0.5, "session": 0.5}
"""What the best candidates are chosen by that the order is fitted to."""

PENALTY = 1.0
MAX_STEP = 1.5
BEND_QUANTILES = (0.2, 0.6)
"""The worth of the sum may bend where so much of what is right lies below."""

PARTS = {"conversation": 1.0, "notes": 2.0, "file": 0.3, "language": 0.4}
"""How much the kinds of collections count, however many questions they have."""

PARTS_OF_WORTH = {"conversation": 1.0, "notes": 1.0, "file": 0.05, "language": 0.1}
"""The same for what a sum is worth."""

FOREIGN_PART = 0.5
MAX_FOREIGN = 60
"""So many questions of other collections are asked of each."""

POOL = 100
"""The order is fitted to so many of the best candidates of a question, and to all right ones."""

NEXT = 1
"""A message so near to one that answers counts as right where it is learned what a score is worth."""

SAME_EXCHANGE = 2
"""One so near belongs to the same exchange, and counts where the first hit is judged."""

SURE_PARTS = {"conversation": 1.0, "notes": 1.0, "file": 0.1, "language": 0.1}
"""How much the kinds of collections count where it is learned which first hits are right."""

SURE_FOREIGN_PART = 1.0
SURE_FITTED_TO = {"said": tuple(PARTS), "written": FITTED_TO["written"]}
SURE_SIGNALS = {
    "said": ("odds", "lead", "meaning", "words", "lacks_type"),
    # A note that only comes near to a question often has more of its words than one that answers.
    "written": ("odds", "lead", "lacks_type"),
}
SURE_BANDS = (0.3, 0.36, 0.38, 0.39, 0.4, 0.42, 0.45, 0.5, 0.6)
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
    origin: str
    """`own`, `foreign`, `renamed` (foreign with the names of the people here) or `noise`."""
    signals: list[dict[str, float]]
    right: list[bool]
    about: list[bool]
    """Which of them are right or belong to the exchange of one that is."""
    keys: list[str]
    wanted: frozenset[str]
    text: str

    @property
    def foreign(self) -> bool:
        """Whether it is a question of another collection."""
        return self.origin != "own"


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

    def ask(self, question: Probe) -> Answered:
        """The candidates of a question with their signals."""
        self.recorder.found.clear()
        self.app.engine.recall.search(ME, Query(question.text, threshold=1.0, limit=1))
        right = question.right
        answered = Answered(self.material, question.origin, [], [], [], [], right, question.text)
        near = near_evidence(self.material, right)
        for (_, passage, _, _), signals in self.recorder.found.values():
            key = self.keys[passage.item, passage.block]
            answered.keys.append(key)
            answered.right.append(key in right)
            shares_word = signals["coverage"] > 0
            answered.about.append(key in near.turns or (key in near.sessions and shares_word))
            answered.signals.append(weights.bent(signals))
        return answered

    def close(self) -> None:
        """Leave nothing behind."""
        self.app.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Near(NamedTuple):
    """What stands near the evidence of a question."""

    next_to: frozenset[str]
    """The evidence and, in conversations, the messages before and after it."""
    turns: frozenset[str]
    """The evidence and, in conversations, the messages of the same exchange."""
    sessions: frozenset[str]
    """All messages of the same sessions."""


def near_evidence(material: Material, right: frozenset[str]) -> Near:
    """What may be about a question, because it stands near what answers it."""
    turns = set(right)
    next_to = set(right)
    sessions: set[str] = set()
    for group in material.items:
        keys = [key for key, _, _ in group]
        places = [place for place, key in enumerate(keys) if key in right]
        if places and group[0][1].speaker:
            sessions.update(keys)
        for place in places:
            turns.update(keys[max(0, place - SAME_EXCHANGE) : place + SAME_EXCHANGE + 1])
            next_to.update(keys[max(0, place - NEXT) : place + NEXT + 1])
    return Near(frozenset(next_to), frozenset(turns), frozenset(sessions))


class Probe(NamedTuple):
    """A question that is put to a collection."""

    text: str
    right: frozenset[str]
    origin: str
    """As that of `Answered`."""


def questions_for(
    material: Material, materials: Sequence[Material], pick: random.Random
) -> Iterator[Probe]:
    """All questions of a collection, and some that nothing in it answers."""
    for question in material.questions:
        yield Probe(question.text, question.right, "own")
    foreign = list(_foreign_questions(material, materials))
    for question, other in pick.sample(foreign, min(len(foreign), MAX_FOREIGN)):
        yield Probe(question.text, frozenset(), "foreign")
        renamed = _renamed(question.text, other.speakers, material.speakers)
        if renamed != question.text:
            yield Probe(renamed, frozenset(), "renamed")
    for _ in range(3):
        yield Probe(" ".join(pick.sample(NOISE, 3)), frozenset(), "noise")


def _foreign_questions(
    material: Material, materials: Sequence[Material]
) -> Iterator[tuple[Asking, Material]]:
    """The questions of other collections that are of the same kind."""
    others = [other for other in materials if other.kind == material.kind]
    if material.kind == "notes":
        others += [other for other in materials if other.kind == "conversation"]
    for other in others:
        # Worlds of one name are about the same people.
        is_related = not material.name.startswith("locomo") and other.name.startswith(
            material.name[:6]
        )
        if other.name != material.name and not is_related:
            for question in other.questions:
                yield question, other


def answers(materials: Sequence[Material]) -> Iterator[Answered]:
    """Every question in its own collection, and some where nothing answers them."""
    pick = random.Random(11)
    for material in materials:
        stored = Stored(material)
        for question in questions_for(material, materials, pick):
            yield stored.ask(question)
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
    lengths = np.array([len(right) for _, right, _ in lists])
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    signals = np.vstack([one for one, _, _ in lists])
    wanted = np.concatenate([right / right.sum() for _, right, _ in lists])
    counts = np.array([count for _, _, count in lists])
    counts_by_row = np.repeat(counts, lengths)
    found = np.zeros(signals.shape[1])
    for _ in range(40):
        sums = signals @ found
        sums -= np.repeat(np.maximum.reduceat(sums, starts), lengths)
        chances = np.exp(sums)
        chances /= np.repeat(np.add.reduceat(chances, starts), lengths)
        slope = signals.T @ (counts_by_row * (wanted - chances)) - PENALTY * found
        means = np.add.reduceat(signals * chances[:, None], starts, axis=0)
        bend = (signals * (counts_by_row * chances)[:, None]).T @ signals
        bend -= (means * counts[:, None]).T @ means
        bend += PENALTY * np.eye(len(found))
        step = np.linalg.solve(bend, slope)
        found += step * min(1.0, MAX_STEP / np.abs(step).max())
        if np.abs(step).max() < 1e-3:
            break
    return found


def _pool(each: Answered) -> list[int]:
    """The places of the best candidates by a rough sum, and of all right ones."""
    sums = [weights.total_of(signals, ROUGH) for signals in each.signals]
    best = sorted(range(len(sums)), key=lambda place: -sums[place])
    chosen = set(best[:POOL]) | {place for place, right in enumerate(each.right) if right}
    return sorted(chosen)


def fitted(answered: Sequence[Answered], mode: str) -> weights.Combination:
    """The weights of a kind of search: first the order, then what the sum is worth."""
    names = USED[mode]
    if mode in FITTED_TO:
        answered = [each for each in answered if each.material.kind in FITTED_TO[mode]]
    counts = _counts(answered)
    lists = []
    for each in answered:
        right = np.array([1.0 if one else 0.0 for one in each.right])
        if not each.foreign and right.any():
            share = PARTS[each.material.kind] * 1000 / counts[each.material.kind, False]
            pool = _pool(each)
            lists.append((_columns(each, names)[pool], right[pool], share))
    found = fit_order(lists)
    order = {name: float(value) for name, value in zip(names, found, strict=True)}
    order |= BY_HAND[mode]
    return weights.Combination(order, _worth(answered, order))


def _columns(each: Answered, names: Sequence[str]) -> Floats:
    return np.array([[signals.get(name, 0.0) for name in names] for signals in each.signals])


def _next_to_right(each: Answered) -> list[bool]:
    near = near_evidence(each.material, each.wanted).next_to
    return [key in near for key in each.keys]


def _worth(answered: Sequence[Answered], order: Mapping[str, float]) -> dict[str, float]:
    sums = np.array([weights.total_of(one, order) for each in answered for one in each.signals])
    right = np.array([1.0 if one else 0.0 for each in answered for one in _next_to_right(each)])
    first_at, second_at = np.quantile(sums[right > 0], BEND_QUANTILES)
    columns = [sums, np.maximum(0, sums - first_at), np.maximum(0, sums - second_at)]
    dialogue = np.array([one.get("dialogue", 0.0) for each in answered for one in each.signals])
    columns.append(sums * dialogue)
    for name in weights.QUESTION_SIGNALS:
        columns.append(np.array([one.get(name, 0.0) for each in answered for one in each.signals]))
    found = fit(np.column_stack(columns), right, shares(answered))
    slope, first, second, dialogue_slope, *others, bias = [float(value) for value in found]
    worth = {
        "bias": bias,
        "slope": slope,
        "first_bend_at": float(first_at),
        "first_bend": first,
        "second_bend_at": float(second_at),
        "second_bend": second,
        "dialogue_slope": dialogue_slope,
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


def weighed_by(found: Mapping[str, weights.Combination]) -> weights.Weights:
    """The present weights, with those that were found in their place."""
    present = weights.weights()
    return present._replace(
        said=found.get("said", present.said),
        written=found.get("written", present.written),
        text=found.get("text", present.text),
        vector=found.get("vector", present.vector),
    )


def score_of(signals: Mapping[str, float], mode: str, chosen: weights.Weights) -> float:
    """The score that the product gives for the signals of a candidate."""
    return weights.probability(signals, weights.combination_of(signals, mode, chosen))


def judge(answered: Sequence[Answered], mode: str, chosen: weights.Weights) -> dict[str, Figures]:
    """Figures by kind; `best` has the scores of the first hits and whether they are right."""
    figures: dict[str, Figures] = defaultdict(Figures)
    for each in answered:
        one = figures[each.material.kind]
        scores = [score_of(signals, mode, chosen) for signals in each.signals]
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


def calibration(answered: Sequence[Answered], chosen: weights.Weights) -> None:
    """Per band of the score: how many candidates, and the share that is right or about it."""
    bands: dict[int, list[tuple[bool, bool, bool]]] = defaultdict(list)
    for each in answered:
        labels = zip(each.signals, each.right, _next_to_right(each), each.about, strict=True)
        for signals, right, next_to, about in labels:
            band = int(10 * min(score_of(signals, "hybrid", chosen), 0.999))
            bands[band].append((right, next_to, about))
    for band in sorted(bands):
        shares_of_band = np.mean(bands[band], axis=0)
        print(
            f"  {band / 10:.1f} to {(band + 1) / 10:.1f}: {len(bands[band]):7,} "
            "right {:6.1%}, or next to it {:6.1%}, or about it {:6.1%}".format(*shares_of_band)
        )


class Best(NamedTuple):
    """The first hit of a question: what tells whether it is right, and whether it is."""

    of: Answered
    signals: dict[str, float]
    right: bool
    about: bool


def best_hits(answered: Sequence[Answered], chosen: weights.Weights) -> list[Best]:
    """The first hits of all questions that find something above the floor."""
    found = []
    for each in answered:
        scores = [round(score_of(one, "hybrid", chosen), DIGITS) for one in each.signals]
        order = sorted(range(len(scores)), key=lambda place: -scores[place])
        if not order or scores[order[0]] < weights.weights().floor:
            continue
        first = order[0]
        reasons = reasons_of(each.signals[first])
        sure = weights.sure_signals([scores[place] for place in order], reasons)
        found.append(Best(each, sure, each.right[first], each.about[first]))
    return found


def fit_sure(answered: Sequence[Answered], part: str, chosen: weights.Weights) -> dict[str, float]:
    """What tells that the first hit is right, or about the question."""
    asked = [each for each in answered if each.material.kind in SURE_FITTED_TO[part]]
    best = best_hits(asked, chosen)
    counts = _counts(asked)
    names = SURE_SIGNALS[part]
    columns = np.array([[one.signals[name] for name in names] for one in best])
    about = np.array([1.0 if one.about else 0.0 for one in best])
    shares_of = []
    for one in best:
        foreign_part = SURE_FOREIGN_PART if one.of.foreign else 1.0
        kind = one.of.material.kind
        shares_of.append(foreign_part * SURE_PARTS[kind] * 1000 / counts[kind, one.of.foreign])
    found = fit(columns, about, np.array(shares_of))
    return dict(zip((*names, "bias"), map(float, found), strict=True))


def print_sure(
    answered: Sequence[Answered],
    chosen: weights.Weights,
    sure: Mapping[str, Mapping[str, float]],
) -> None:
    """For some bounds of certainty: who gets a strong hit, and how many of these are right."""
    best = best_hits(answered, chosen)
    for kind in PARTS:
        asked = [each for each in answered if each.material.kind == kind]
        part = "said" if kind in FITTED_TO["said"] else "written"
        for bound in SURE_BANDS:
            strong = [
                one
                for one in best
                if one.of.material.kind == kind and _certainty(one, sure[part]) >= bound
            ]
            cells = []
            for origin in ("own", "unanswered", "foreign", "renamed"):
                there = [each for each in asked if _label(each) == origin]
                ids = {id(each) for each in there}
                count = sum(id(one.of) in ids for one in strong)
                if there:
                    cells.append(f"{origin} {count / len(there):.3f}")
            own = [one for one in strong if _label(one.of) == "own"]
            if own:
                cells.append(f"right {np.mean([one.right for one in own]):.3f}")
                cells.append(f"right or about it {np.mean([one.about for one in own]):.3f}")
            print(f"  {kind:13} strong from {bound:.2f}: " + "  ".join(cells))


def _label(each: Answered) -> str:
    """The origin of a question, where those that nothing here answers are not `own`."""
    return "unanswered" if each.origin == "own" and not each.wanted else each.origin


def _certainty(one: Best, sure: Mapping[str, float]) -> float:
    return weights.squashed(sure["bias"] + weights.total_of(one.signals, sure))


def crossed(answered: Sequence[Answered], mode: str) -> None:
    """Print figures for collections that the weights were not fitted to."""
    names = sorted({each.material.name for each in answered})
    parts: dict[str, list[Figures]] = defaultdict(list)
    for fold in range(5):
        held = {name for place, name in enumerate(names) if place % 5 == fold}
        others = [each for each in answered if each.material.name not in held]
        found = {part: fitted(others, part) for part in PARTS_OF_MODE[mode]}
        rest = [each for each in answered if each.material.name in held]
        for kind, one in judge(rest, mode, weighed_by(found)).items():
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


def write(chosen: weights.Weights) -> None:
    """Write the file that ranking reads."""
    bounds = {
        "floor": chosen.floor,
        "likely": chosen.likely,
        **{f"strong_{part}": bound for part, bound in chosen.strong.items()},
        **{f"strong_deep_{part}": bound for part, bound in chosen.strong_deep.items()},
    }
    parts = {"bounds": bounds, "deep": chosen.deep}
    parts |= {f"sure.{part}": values for part, values in chosen.sure.items()}
    parts |= {f"sure_deep.{part}": values for part, values in chosen.sure_deep.items()}
    for part, combination in chosen.combinations().items():
        parts[f"{part}.order"] = combination.order
        parts[f"{part}.worth"] = combination.worth
    lines = ["# Fitted by `python -m bench.fit_ranking` and `python -m bench.fit_deep`."]
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
    for mode in PARTS_OF_MODE:
        crossed(answered, mode)
    found = {part: fitted(answered, part) for part in USED}
    chosen = weighed_by(found)
    print("calibration of hybrid, all candidates")
    calibration(answered, chosen)
    sure = {part: fit_sure(answered, part, chosen) for part in SURE_SIGNALS}
    print("who gets a strong hit, and whether it is right")
    print_sure(answered, chosen, sure)
    if not options.no_write:
        write(chosen._replace(sure=sure))


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
