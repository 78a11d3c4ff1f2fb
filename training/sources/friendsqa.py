"""FriendsQA: questions about scenes of a series, answered by single utterances."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from training.sources.pair import Pair
from training.sources.repository import Repository
from training.sources.text import Bm25, detokenised

FILES = ("dat/friendsqa_dev.json", "dat/friendsqa_tst.json")
MAX_ANSWERS = 3
NEGATIVES = 5
MIN_TURN_WORDS = 6


def build(repository: Repository) -> Iterator[Pair]:
    """Question -> the utterances with an answer; negatives are others of the same scene."""
    for path in FILES:
        for scene in json.loads(repository.text(path))["data"]:
            for paragraph in scene["paragraphs"]:
                yield from _scene_pairs(paragraph)


def _scene_pairs(paragraph: dict[str, Any]) -> Iterator[Pair]:
    turns = [_turn(utterance) for utterance in paragraph["utterances:"]]
    search = Bm25(turns)
    # Short scenes share few words with a question; what says something will do as well.
    spoken = [number for number, turn in enumerate(turns) if len(turn.split()) > MIN_TURN_WORDS]
    for asked in paragraph["qas"]:
        numbers = {answer["utterance_id"] for answer in asked["answers"]}
        right = sorted(number for number in numbers if 0 <= number < len(turns))[:MAX_ANSWERS]
        if not right:
            continue
        question = detokenised(asked["question"])
        near = {number + step for number in right for step in (-1, 0, 1)}
        wrong = search.best(question, NEGATIVES, skip=near)
        wrong += [n for n in spoken if n not in near and n not in wrong][: NEGATIVES - len(wrong)]
        yield Pair(
            question,
            tuple(turns[number] for number in right),
            tuple(turns[number] for number in wrong),
            tuple(turns[number - 1] if number else "" for number in right),
        )


def _turn(utterance: dict[str, Any]) -> str:
    said = detokenised(utterance["utterance"])
    speakers = " and ".join(utterance["speakers"]) or "Narration"
    speakers = speakers.replace("#NOTE#", "Narration")
    return f"{speakers}: {said}"
