"""How well a model finds: by meaning alone, with late interaction, and with the judge on top."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

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


class Collection(NamedTuple):
    """Passages, and questions with the places of what answers them."""

    passages: list[int]
    questions: list[tuple[int, int, set[int]]]
    """The question without names of speakers, as it was asked, and what answers it."""


class Figures(NamedTuple):
    """Shares of what was to be found."""

    first: float
    ten: float
    reciprocal: float

    def __str__(self) -> str:
        return f"r@1 {self.first:.3f} r@10 {self.ten:.3f} mrr {self.reciprocal:.3f}"


def collections(path: Path, texts: Texts) -> list[Collection]:
    """The conversations of a file, in the form of LoCoMo or XQuAD here."""
    found = []
    for conversation in json.loads(path.read_text(encoding="utf-8"))["conversations"]:
        turns = conversation["turns"]
        places = {str(turn["id"]): place for place, turn in enumerate(turns)}
        said = []
        for turn in turns:
            speaker = turn.get("speaker")
            said.append(f"{speaker}: {turn['text']}" if speaker else turn["text"])
        questions = []
        for question in conversation["questions"]:
            right = {places[str(id)] for id in question["evidence"] if str(id) in places}
            if right and question.get("category") != 5:
                asked = question["question"]
                without = _without(asked, conversation.get("speakers") or [])
                questions.append((texts.number(without), texts.number(asked), right))
        found.append(Collection([texts.number(text) for text in said], questions))
    texts.tokenise()
    return found


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

    def scores(cosines: torch.Tensor, best: list[list[int]], one: Collection) -> torch.Tensor:
        made = []
        with torch.autocast(DEVICE, torch.bfloat16):
            ids, mask = texts.batch(one.passages, 192)
            _, told = model(ids, mask)
            told_mask = inner_mask(mask)
            for (without, _, _), places in zip(one.questions, best, strict=True):
                asked_ids, asked_mask = texts.batch([without], 64)
                _, asked = model(asked_ids, asked_mask)
                at = torch.tensor(places, device=DEVICE)
                made.append(
                    late_interaction(
                        asked, inner_mask(asked_mask), told[at][None], told_mask[at][None]
                    )[0]
                )
        return (1 - share) * cosines + share * torch.stack(made).float()

    return _figures(model, texts, sets, scores)


@torch.no_grad()
def with_judge(
    model: BiEncoder, judge: Judge, texts: Texts, sets: Sequence[Collection], share: float
) -> Figures:
    """With the judge over the best."""
    judge.eval()

    def scores(cosines: torch.Tensor, best: list[list[int]], one: Collection) -> torch.Tensor:
        made = []
        with torch.autocast(DEVICE, torch.bfloat16):
            for (_, asked, _), places in zip(one.questions, best, strict=True):
                pairs = [(asked, one.passages[place]) for place in places]
                made.append(judge(*texts.pair_batch(pairs, 64, 224)).float())
        return cosines + share * torch.stack(made)

    return _figures(model, texts, sets, scores)


@torch.no_grad()
def _figures(model: BiEncoder, texts: Texts, sets: Sequence[Collection], scores: Scores) -> Figures:
    firsts = tens = reciprocals = 0.0
    count = 0
    for one in sets:
        passages = encode(model, texts, one.passages)
        questions = encode(model, texts, [without for without, _, _ in one.questions])
        cosines, best = (questions @ passages.T).topk(min(DEPTH, len(one.passages)), dim=1)
        totals = scores(cosines, best.tolist(), one)
        order = totals.argsort(dim=1, descending=True)
        ranked = best.gather(1, order).tolist()
        for (_, _, right), places in zip(one.questions, ranked, strict=True):
            count += 1
            firsts += places[0] in right
            tens += len(right & set(places[:10])) / len(right)
            reciprocals += next((1 / n for n, at in enumerate(places, 1) if at in right), 0.0)
    return Figures(firsts / count, tens / count, reciprocals / count)
