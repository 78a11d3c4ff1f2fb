"""PolicyQA: what users ask about the privacy policies of web sites."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from training.sources.pair import Pair
from training.sources.repository import Repository
from training.sources.text import Bm25, same_text, tidy

FILES = ("data/dev.json", "data/test.json")
WINDOW_CHARS = 640
MAX_SEGMENTS = 3
NEGATIVES = 2


def build(repository: Repository) -> Iterator[Pair]:
    """Question -> the segments of one site that answer it; negatives are its other segments."""
    for path in FILES:
        for site in json.loads(repository.text(path))["data"]:
            yield from _site_pairs(site)


def _site_pairs(site: dict[str, Any]) -> Iterator[Pair]:
    answered: dict[str, list[str]] = defaultdict(list)
    segments_of: dict[str, set[int]] = defaultdict(set)
    starts = [_window(paragraph["context"], 0) for paragraph in site["paragraphs"]]
    for number, paragraph in enumerate(site["paragraphs"]):
        for asked in paragraph["qas"]:
            question = tidy(asked["question"])
            window = _window(paragraph["context"], asked["answers"][0]["answer_start"])
            segments_of[question].add(number)
            if window not in answered[question]:
                answered[question].append(window)
    search = Bm25(starts)
    for question, right in answered.items():
        found = search.best(question, NEGATIVES * 3, skip=segments_of[question])
        wrong = [starts[number] for number in found]
        wrong = [text for text in wrong if not any(same_text(text, other) for other in right)]
        for first in range(0, len(right), MAX_SEGMENTS):
            group = right[first : first + MAX_SEGMENTS]
            yield Pair(question, tuple(group), tuple(wrong[:NEGATIVES]))


def _window(context: str, start: int) -> str:
    """The part of a segment that begins shortly before the answer, cut between words."""
    if len(context) <= WINDOW_CHARS:
        return tidy(context)
    first = max(0, min(start - WINDOW_CHARS // 4, len(context) - WINDOW_CHARS))
    if first:
        first = context.find(" ", first) + 1
    last = context.rfind(" ", first, first + WINDOW_CHARS)
    return tidy(context[first : last if last > first else None])
