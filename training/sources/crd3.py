"""Critical Role: summaries of long role-play sessions, each part beside the turns it sums up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from training.sources.pair import Pair
from training.sources.repository import Repository
from training.sources.text import Bm25, part_of_turn, same_text, sentences, tidy, word_set

FOLDER = "data/aligned data/c=2"
SUFFIX = "_2_0.json"
MIN_SCORE = 0.2
MIN_SHARED = 3
MIN_TURN_WORDS = 8
NEGATIVES = 2


def build(repository: Repository) -> Iterator[Pair]:
    """A sentence of the summary -> the one or two turns of its part that share the most words."""
    for path in repository.paths(FOLDER, SUFFIX):
        yield from _session_pairs(json.loads(repository.text(path)))


def _session_pairs(chunks: list[dict[str, Any]]) -> Iterator[Pair]:
    turns = sorted({(turn["NUMBER"], _turn(turn)) for chunk in chunks for turn in chunk["TURNS"]})
    text_of = dict(turns)
    search = Bm25(list(text_of.values()))
    numbers = list(text_of)
    for chunk in chunks:
        if chunk["ALIGNMENT"]["ALIGNMENT SCORE"] < MIN_SCORE:
            continue
        inside = [turn["NUMBER"] for turn in chunk["TURNS"]]
        for sentence in sentences(tidy(chunk["CHUNK"])):
            right = _right_turns(sentence, inside, text_of, search)
            if not right:
                continue
            far = [numbers[found] for found in search.best(sentence, 20)]
            far = [n for n in far if not inside[0] - 3 <= n <= inside[-1] + 3]
            words = word_set(sentence)
            yield Pair(
                sentence,
                tuple(part_of_turn(text_of[number], words) for number in right),
                tuple(part_of_turn(text_of[number], words) for number in far[:NEGATIVES]),
                tuple(text_of.get(number - 1, "") for number in right),
            )


def _right_turns(
    sentence: str, inside: list[int], text_of: dict[int, str], search: Bm25
) -> list[int]:
    words = word_set(sentence)
    worth = {}
    for number in inside:
        shared = words & word_set(text_of[number])
        if len(shared) >= MIN_SHARED and len(text_of[number].split()) >= MIN_TURN_WORDS:
            worth[number] = search.overlap(text_of[number], words)
    ranked = sorted(worth, key=lambda number: (-worth[number], number))
    # A summary that repeats the words of a turn teaches nothing about meaning.
    if not ranked or same_text(sentence, text_of[ranked[0]]):
        return []
    second = [number for number in ranked[1:2] if worth[number] >= 0.8 * worth[ranked[0]]]
    return [ranked[0], *second]


def _turn(turn: dict[str, Any]) -> str:
    names = " and ".join(name.capitalize() for name in turn["NAMES"])
    return f"{names}: {tidy(' '.join(turn['UTTERANCES']))}"
