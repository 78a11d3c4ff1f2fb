"""Texts made of other texts, sentence by sentence."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from memolith.analysts.builtin.phrases import phrases_of_all, weight_of, whole_sentences
from memolith.engine.statements import NEAR_COPY, shared_share, shingles

SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
MIN_LISTED_SENTENCES = 2
MAX_SUMMARY_SENTENCES = 3
SAME_SENTENCE = NEAR_COPY / 2
"""Two sentences with this overlap say the same."""
MAX_COMPARED = 50
"""With how many of the sentences that have the same three words a sentence is compared."""


def structure(text: str) -> str:
    """Return the first sentence and the others as a list; a text of several lines stays."""
    lead, *others = SENTENCE_END.split(text.strip())
    if len(others) < MIN_LISTED_SENTENCES or "\n" in text.strip():
        return text
    return "\n".join([lead, "", *(f"- {sentence}" for sentence in others)])


def context(texts: Sequence[str]) -> str:
    """Return what the texts after the first say, each thing once."""
    return merge_in_order(texts[1:])


def merge(texts: Sequence[str]) -> str:
    """Return what the texts say, each thing once, the longest text first."""
    return merge_in_order(_longest_first(texts))


def merge_in_order(texts: Sequence[str]) -> str:
    """Return the first text and what the others say beyond it."""
    return "\n".join([texts[0], *_added_sentences(texts)])


def summarize(texts: Sequence[str]) -> str:
    """Return the sentences that say most."""
    ordered = _longest_first(texts)
    weights = phrases_of_all(texts)
    sentences = [*whole_sentences(ordered[0]), *_added_sentences(ordered)]
    sentences.sort(key=lambda sentence: -weight_of(sentence, weights))
    return "\n".join(sentences[:MAX_SUMMARY_SENTENCES])


def _longest_first(texts: Sequence[str]) -> list[str]:
    return sorted(texts, key=len, reverse=True)


def _added_sentences(texts: Sequence[str]) -> list[str]:
    """The sentences of the later texts that nothing before them says."""
    first, *others = texts
    said = _Said(whole_sentences(first))
    added = []
    for text in others:
        for sentence in whole_sentences(text):
            sequences = shingles(sentence)
            if not said.has(sequences):
                said.add(sequences)
                added.append(sentence)
    return added


class _Said:
    """Sentences by their word sequences: each is compared with those that share one only."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self._sentences: list[set[tuple[str, ...]]] = []
        self._with_sequence: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for sentence in sentences:
            self.add(shingles(sentence))

    def add(self, sequences: set[tuple[str, ...]]) -> None:
        number = len(self._sentences)
        self._sentences.append(sequences)
        for sequence in sequences:
            numbers = self._with_sequence[sequence]
            if len(numbers) < MAX_COMPARED:
                numbers.append(number)

    def has(self, sequences: set[tuple[str, ...]]) -> bool:
        """Whether a sentence with these word sequences says what was said."""
        tried: set[int] = set()
        for sequence in sequences:
            for number in self._with_sequence.get(sequence, ()):
                if number in tried:
                    continue
                tried.add(number)
                if shared_share(sequences, self._sentences[number]) >= SAME_SENTENCE:
                    return True
        return False
