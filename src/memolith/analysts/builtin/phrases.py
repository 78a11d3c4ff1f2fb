"""The phrases of a text that say what it is about."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from memolith.analysts.builtin.word_lists import plain_words
from memolith.engine.statements import sentences

WORD = re.compile(r"[^\W\d_][\w+#-]*[\w+#]")
MIN_WORD_CHARS = 3
MIN_SENTENCE_CHARS = 11
MAX_EXCERPT_CHARS = 200

WORD_WEIGHT = 1
CAPITALISED_WORD_WEIGHT = 2
PAIR_WEIGHT = 2


def phrases(text: str) -> Counter[str]:
    """Count the words that mean something, and pairs of them that come again or are a name."""
    ignored = plain_words()
    weights: Counter[str] = Counter()
    repeated = _repeated_pairs(text)
    for word, next_word in pairwise([*WORD.findall(text), ""]):
        if word.lower() in ignored or len(word) < MIN_WORD_CHARS:
            continue
        weights[word.lower()] += CAPITALISED_WORD_WEIGHT if word[0].isupper() else WORD_WEIGHT
        if not next_word or next_word.lower() in ignored:
            continue
        pair = f"{word} {next_word}"
        is_name = word[0].isupper() and next_word[0].isupper()
        if is_name or pair in repeated:
            weights[pair.lower()] += PAIR_WEIGHT
    return weights


def _repeated_pairs(text: str) -> set[str]:
    """The pairs of words with one blank between them that stand in a text more than once."""
    counts: Counter[str] = Counter()
    for first, second in pairwise(WORD.finditer(text)):
        if text[first.end() : second.start()] == " ":
            counts[f"{first[0]} {second[0]}"] += 1
    return {pair for pair, count in counts.items() if count > 1}


def phrases_of_all(texts: Iterable[str]) -> Counter[str]:
    """Count the phrases of several texts together."""
    weights: Counter[str] = Counter()
    for text in texts:
        weights.update(phrases(text))
    return weights


def weight_of(sentence: str, weights: Counter[str]) -> int:
    """How much a sentence says, by the weights of its phrases."""
    return sum(weights[phrase] for phrase in set(phrases(sentence)))


def whole_sentences(text: str) -> list[str]:
    """Return the sentences of a text without the very short ones, or else its beginning."""
    stripped = [sentence.strip() for sentence in sentences(text)]
    long_enough = [sentence for sentence in stripped if len(sentence) >= MIN_SENTENCE_CHARS]
    return long_enough or [text[:MAX_EXCERPT_CHARS]]
