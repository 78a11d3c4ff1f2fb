"""TREC iKAT: conversations with an assistant that knows personal statements of the user."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from training.sources.pair import Pair
from training.sources.repository import Repository
from training.sources.text import Bm25, tidy

FILES = (
    "2023/data/2023_train_topics.json",
    "2023/data/2023_test_topics.json",
    "2024/data/2024_test_topics.json",
    "2025/data/2025_test_topics.json",
)
NEGATIVES = 4
MIN_RESPONSE_CHARS = 40


def build(repository: Repository) -> Iterator[Pair]:
    """The question in full -> the statements used, and -> the answer of the assistant.

    The web pages that the answers rest on are not used: they may not be passed on.
    """
    for path in FILES:
        for topic in json.loads(repository.text(path)):
            yield from _topic_pairs(topic)


def _topic_pairs(topic: dict[str, Any]) -> Iterator[Pair]:
    statements = _statements(topic["ptkb"])
    turns = topic.get("turns") or topic.get("responses") or []
    responses = [f"Assistant: {tidy(turn['response'])}" for turn in turns]
    search_statements = Bm25(list(statements.values()))
    search_responses = Bm25(responses)
    names = list(statements)
    for number, turn in enumerate(turns):
        question = tidy(turn["resolved_utterance"])
        used = [statements[name] for name in _used(turn, statements) if name in statements]
        if used:
            wrong = search_statements.lookalikes(question, used, NEGATIVES)
            others = [statements[name] for name in names if statements[name] not in used]
            # Few statements share a word with the question, so any other one will do.
            step = number % max(1, len(others))
            others = others[step:] + others[:step]
            wrong = list(dict.fromkeys([*wrong, *others]))[:NEGATIVES]
            yield Pair(question, tuple(used), tuple(wrong))
        if len(responses[number]) < MIN_RESPONSE_CHARS:
            continue
        asked = tidy(turn.get("utterance") or turn.get("user_utterance") or "")
        skip = {number - 1, number, number + 1}
        far = search_responses.best(question, NEGATIVES, skip=skip)
        yield Pair(
            question,
            (responses[number],),
            tuple(responses[other] for other in far),
            (f"User: {asked}",),
        )


def _statements(ptkb: dict[str, str] | list[str]) -> dict[str, str]:
    if isinstance(ptkb, list):
        return {tidy(text): tidy(text) for text in ptkb}
    return {str(name): tidy(text) for name, text in ptkb.items()}


def _used(turn: dict[str, Any], statements: dict[str, str]) -> list[str]:
    """The names of the statements that the answer rests on."""
    used = turn.get("ptkb_provenance") or turn.get("relevant_ptkbs") or []
    names = []
    for name in used:
        if isinstance(name, int) and str(name) not in statements:
            continue
        names.append(tidy(str(name)))
    return names
