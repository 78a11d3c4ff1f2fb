"""StrategyQA: yes-or-no questions with the short facts that decide them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from training.sources.pair import Pair
from training.sources.repository import Repository
from training.sources.text import Bm25, tidy

FILES = ("data/strategyqa/train.json", "data/strategyqa/dev.json")
NEGATIVES = 3


def build(repository: Repository) -> Iterator[Pair]:
    """Question -> its facts; negatives are similar facts of other questions."""
    examples = [one for path in FILES for one in json.loads(repository.text(path))]
    facts = list(dict.fromkeys(tidy(fact) for one in examples for fact in one["facts"]))
    search = Bm25(facts)
    for example in examples:
        right = [tidy(fact) for fact in example["facts"] if len(fact) > 15]
        question = tidy(example["question"])
        if right:
            yield Pair(question, tuple(right), tuple(search.lookalikes(question, right, NEGATIVES)))
