"""QMSum: queries about meetings with the turns of the transcript that they are about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from training.sources.pair import Pair
from training.sources.repository import Repository
from training.sources.text import Bm25, detokenised, part_of_turn, tidy, word_set

FOLDERS = ("data/ALL/train", "data/ALL/val")
MAX_TURNS = 3
NEGATIVES = 3
FAR_TURNS = 8
"""A negative stands at least so many turns away from the relevant part."""
MIN_WORDS = 6
MAX_SPAN_TURNS = 120
"""A part of a meeting longer than this says too little about which turn is meant."""


def build(repository: Repository) -> Iterator[Pair]:
    """Query or topic -> up to three turns of its part of the meeting."""
    for folder in FOLDERS:
        for path in repository.paths(folder, ".json"):
            yield from _meeting_pairs(json.loads(repository.text(path)))


def _meeting_pairs(meeting: dict[str, Any]) -> Iterator[Pair]:
    turns = [_turn(turn) for turn in meeting["meeting_transcripts"]]
    search = Bm25(turns)
    for topic in meeting["topic_list"]:
        yield from _query_pairs(turns, search, tidy(topic["topic"]), "", topic)
    for query in meeting["specific_query_list"]:
        question = tidy(query["query"])
        yield from _query_pairs(turns, search, question, query["answer"], query)


def _query_pairs(
    turns: list[str], search: Bm25, question: str, answer: str, query: dict[str, Any]
) -> Iterator[Pair]:
    span = _numbers(query["relevant_text_span"], len(turns))
    if not span or len(span) > MAX_SPAN_TURNS:
        return
    words = word_set(f"{question} {answer}")
    worth = {number: search.overlap(turns[number], words) for number in span}
    spoken = [n for n in span if len(turns[n].split()) > MIN_WORDS and worth[n] > 0]
    right = sorted(spoken, key=lambda number: (-worth[number], number))[:MAX_TURNS]
    if not right:
        return
    near = range(min(span) - FAR_TURNS, max(span) + FAR_TURNS + 1)
    far = [number for number in search.best(question, 40) if number not in near]
    far = [number for number in far if len(turns[number].split()) > MIN_WORDS]
    yield Pair(
        question,
        tuple(part_of_turn(turns[number], words) for number in right),
        tuple(turns[number] for number in far[:NEGATIVES]),
        tuple(turns[number - 1] if number else "" for number in right),
    )


def _numbers(spans: list[list[str]], count: int) -> list[int]:
    numbers: set[int] = set()
    for first, last in spans:
        numbers.update(range(int(float(first)), int(float(last)) + 1))
    return sorted(number for number in numbers if 0 <= number < count)


def _turn(turn: dict[str, str]) -> str:
    said = turn["content"].replace("{vocalsound}", " ").replace("{disfmarker}", " ")
    said = said.replace("{pause}", " ").replace("{gap}", " ").replace("{nonvocalsound}", " ")
    return f"{turn['speaker']}: {detokenised(said)}"
