"""QAMR: many short questions about single sentences of Wikipedia and Wikinews."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from training.sources.pair import Pair
from training.sources.repository import Repository
from training.sources.text import Bm25, detokenised, shared_words

FILES = ("data/filtered/dev.tsv", "data/filtered/test.tsv")
SENTENCES = "data/wiki-sentences.tsv"
MAX_PER_SENTENCE = 8
MIN_SHARED = 2
NEGATIVES = 2
QUESTION_COLUMN = 5


def build(repository: Repository) -> Iterator[Pair]:
    """Question -> sentence, when they share two words; negatives are similar sentences."""
    text_of = {}
    for line in repository.text(SENTENCES).splitlines():
        name, _, text = line.partition("\t")
        text_of[name] = detokenised(text)
    search = Bm25(list(text_of.values()))
    given: Counter[str] = Counter()
    asked: set[tuple[str, str]] = set()
    for path in FILES:
        for line in repository.text(path).splitlines():
            columns = line.split("\t")
            sentence = text_of.get(columns[0])
            question = detokenised(columns[QUESTION_COLUMN])
            if sentence is None or (columns[0], question) in asked:
                continue
            if given[columns[0]] >= MAX_PER_SENTENCE:
                continue
            if shared_words(question, sentence) < MIN_SHARED:
                continue
            given[columns[0]] += 1
            asked.add((columns[0], question))
            wrong = search.lookalikes(question, [sentence], NEGATIVES)
            yield Pair(question, (sentence,), tuple(wrong))
