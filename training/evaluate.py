"""How well a model finds: by meaning alone, with late interaction, and with the judge on top."""

import json
import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from training.encoder import (
    DEVICE,
    BiEncoder,
    Judge,
    Texts,
    encode,
    inner_mask,
    late_interaction,
)

DEPTH = 50
"""So many of the best are put in order anew."""

QUESTION_TOKENS = 64
PASSAGE_TOKENS = 192
PAIR_TOKENS = 224

WITHOUT_ANSWER = 5
"""The category of the questions that nothing answers."""


class Question(NamedTuple):
    """A question of an evaluation set, as the numbers of its texts."""

    without_names: int
    """Without the names of speakers, as the model of the product is asked."""
    asked: int
    right: set[int]
    """The places of the passages that answer it."""


class Collection(NamedTuple):
    """Passages that are searched together, and the questions about them."""

    passages: list[int]
    questions: list[Question]


class Figures(NamedTuple):
    """Shares of what was to be found."""

    first: float
    ten: float
    reciprocal: float

    def __str__(self) -> str:
        return f"r@1 {self.first:.3f} r@10 {self.ten:.3f} mrr {self.reciprocal:.3f}"


def collections(path: Path, texts: Texts) -> list[Collection]:
    """The conversations of a file, in the form that `bench.retrieval` reads."""
    stored = json.loads(path.read_text(encoding="utf-8"))["conversations"]
    found = [_collection(conversation, texts) for conversation in stored]
    texts.tokenise()
    return found


def collections_of_notes(folder: Path, texts: Texts) -> list[Collection]:
    """The sets of `bench.notes`, without the questions that nothing answers."""
    found = []
    for path in sorted(folder.glob("*.toml")):
        stored = tomllib.loads(path.read_text(encoding="utf-8"))
        places = {note["id"]: place for place, note in enumerate(stored["notes"])}
        passages = [texts.number(note["text"]) for note in stored["notes"]]
        questions = []
        for question in stored["questions"]:
            if question.get("right"):
                asked = texts.number(question["ask"])
                questions.append(Question(asked, asked, {places[question["right"]]}))
        found.append(Collection(passages, questions))
    texts.tokenise()
    return found


def _collection(conversation: dict[str, Any], texts: Texts) -> Collection:
    turns = conversation["turns"]
    places = {str(turn["id"]): place for place, turn in enumerate(turns)}
    passages = [texts.number(_spoken(turn)) for turn in turns]
    speakers = conversation.get("speakers") or []
    questions = []
    for question in conversation["questions"]:
        right = {places[str(id)] for id in question["evidence"] if str(id) in places}
        if right and question.get("category") != WITHOUT_ANSWER:
            asked = question["question"]
            without_names = texts.number(_without(asked, speakers))
            questions.append(Question(without_names, texts.number(asked), right))
    return Collection(passages, questions)


def _spoken(turn: dict[str, Any]) -> str:
    speaker = turn.get("speaker")
    text = str(turn["text"])
    return f"{speaker}: {text}" if speaker else text


def _without(question: str, names: Sequence[str]) -> str:
    for name in names:
        for word in name.split():
            question = re.sub(rf"\b{re.escape(word)}('s)?\b", " ", question)
    return " ".join(question.split()) or "?"


Scores = Callable[[torch.Tensor, list[list[int]], Collection], torch.Tensor]


def by_meaning(model: BiEncoder, texts: Texts, sets: Sequence[Collection]) -> Figures:
    """The model alone."""
    return _figures(model, texts, sets, lambda cosines, _, __: cosines)


@torch.no_grad()
def with_tokens(
    model: BiEncoder, texts: Texts, sets: Sequence[Collection], share: float
) -> Figures:
    """With late interaction over the best."""

    def scores(
        cosines: torch.Tensor, best: list[list[int]], collection: Collection
    ) -> torch.Tensor:
        matches = []
        with torch.autocast(DEVICE, torch.bfloat16):
            passage_ids, passage_mask = texts.batch(collection.passages, PASSAGE_TOKENS)
            _, passages = model(passage_ids, passage_mask)
            inner = inner_mask(passage_mask)
            for question, places in zip(collection.questions, best, strict=True):
                ids, mask = texts.batch([question.without_names], QUESTION_TOKENS)
                _, tokens = model(ids, mask)
                rows = torch.tensor(places, device=DEVICE)
                match = late_interaction(
                    tokens, inner_mask(mask), passages[rows][None], inner[rows][None]
                )
                matches.append(match[0])
        return (1 - share) * cosines + share * torch.stack(matches).float()

    return _figures(model, texts, sets, scores)


@torch.no_grad()
def with_judge(
    model: BiEncoder, judge: Judge, texts: Texts, sets: Sequence[Collection], share: float
) -> Figures:
    """With the judge over the best."""
    judge.eval()

    def scores(
        cosines: torch.Tensor, best: list[list[int]], collection: Collection
    ) -> torch.Tensor:
        verdicts = []
        with torch.autocast(DEVICE, torch.bfloat16):
            for question, places in zip(collection.questions, best, strict=True):
                pairs = [(question.asked, collection.passages[place]) for place in places]
                verdicts.append(judge(*texts.pair_batch(pairs, QUESTION_TOKENS, PAIR_TOKENS)))
        return cosines + share * torch.stack(verdicts).float()

    return _figures(model, texts, sets, scores)


@torch.no_grad()
def _figures(model: BiEncoder, texts: Texts, sets: Sequence[Collection], scores: Scores) -> Figures:
    rankings: list[tuple[set[int], list[int]]] = []
    for collection in sets:
        passages = encode(model, texts, collection.passages)
        questions = encode(model, texts, [each.without_names for each in collection.questions])
        depth = min(DEPTH, len(collection.passages))
        cosines, best = (questions @ passages.T).topk(depth, dim=1)
        totals = scores(cosines, best.tolist(), collection)
        ranked = best.gather(1, totals.argsort(dim=1, descending=True)).tolist()
        for question, places in zip(collection.questions, ranked, strict=True):
            rankings.append((question.right, places))
    return figures(rankings)


def figures(rankings: Sequence[tuple[set[int], list[int]]]) -> Figures:
    """The figures of some lists, each with what is right in it."""
    firsts = 0
    tens = 0.0
    reciprocals = 0.0
    for right, places in rankings:
        firsts += places[0] in right
        tens += len(right & set(places[:10])) / len(right)
        reciprocals += _reciprocal(right, places)
    count = len(rankings)
    return Figures(firsts / count, tens / count, reciprocals / count)


def _reciprocal(right: set[int], places: Sequence[int]) -> float:
    """One divided by the rank of the first that is right."""
    for rank, place in enumerate(places, 1):
        if place in right:
            return 1 / rank
    return 0.0
