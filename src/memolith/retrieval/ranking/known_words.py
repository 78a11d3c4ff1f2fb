"""Whether a question has a word that anybody knows: the store, English, or the model."""

import re
from functools import cache

from memolith.ports.ranker import Asked
from memolith.retrieval.ranking.ordinary_words import is_ordinary

_WORD = re.compile(r"\w+")


def has_known_word(asked: Asked) -> bool:
    """Whether one of its words is known; also if it has no words at all.

    The model puts letters that mean nothing somewhere, too, and always near something.
    """
    frequencies = asked.statistics.frequencies
    if any(frequencies.get(term) for term in asked.terms):
        return True
    words = _WORD.findall(asked.text.lower())
    if not words or any(is_ordinary(word) for word in words):
        return True
    return not _vocabulary().isdisjoint(words)


@cache
def _vocabulary() -> frozenset[str]:
    """The whole words that the model has learned."""
    # Only a question of rare words needs it, and a program that searches by words never loads it.
    from memolith.retrieval.embedding.minilm import MODEL_FOLDER, VOCAB_FILE

    tokens = (MODEL_FOLDER / VOCAB_FILE).read_text(encoding="utf-8").splitlines()
    return frozenset(token for token in tokens if not token.startswith(("##", "[")))
