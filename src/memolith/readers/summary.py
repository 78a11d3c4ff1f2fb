"""A summary made of sentences of the text itself."""

import re
from collections import Counter
from collections.abc import Sequence

from memolith.readers.content import Piece

MAX_SUMMARY_CHARACTERS = 600
MAX_SENTENCES_WEIGHED = 4000
MAX_SENTENCES_TRIED = 50
SHORT_SENTENCE_PENALTY = 5
"""Added to the number of words, so that a sentence of few words does not win by their average."""

_WORD = re.compile(r"[^\W\d_]{4,}|[\u3400-\u9fff]{2}")
MAX_SENTENCE_CHARACTERS = 400
# From the beginning of a sentence only: a pattern that may begin anywhere scans the rest of a long
# one from each of its letters.
_SENTENCE = re.compile(
    r"(?:^|(?<=[.!?。！？\n]))[^.!?。！？\n]{8,}+(?:[.!?](?=\s|$)|[。！？]|\n|$)"
)


def summarize(pieces: Sequence[Piece]) -> str:
    """The few sentences that hold most of the frequent words, in their order."""
    sentences = _sentences(pieces)
    words = [set(_WORD.findall(sentence.lower())) for sentence in sentences]
    scores = _scores(words)
    best_first = sorted(range(len(sentences)), key=lambda index: -scores[index])
    chosen: list[int] = []
    covered: set[str] = set()
    room = MAX_SUMMARY_CHARACTERS
    for index in best_first[:MAX_SENTENCES_TRIED]:
        new_words = words[index] - covered
        mostly_new = len(new_words) * 2 >= len(words[index])
        if mostly_new and len(sentences[index]) <= room:
            chosen.append(index)
            covered |= words[index]
            room -= len(sentences[index])
    if chosen:
        return " ".join(sentences[index] for index in sorted(chosen))
    return " ".join(piece.text for piece in pieces)[:MAX_SUMMARY_CHARACTERS]


def _sentences(pieces: Sequence[Piece]) -> list[str]:
    sentences: list[str] = []
    for piece in pieces:
        for sentence in _SENTENCE.findall(piece.text):
            sentences.append(" ".join(sentence[-MAX_SENTENCE_CHARACTERS:].split()))
        if len(sentences) >= MAX_SENTENCES_WEIGHED:
            break
    return sentences[:MAX_SENTENCES_WEIGHED]


def _scores(words: list[set[str]]) -> list[float]:
    """How frequent the words of each sentence are in the whole; early sentences count more."""
    frequency = Counter(word for sentence in words for word in sentence)
    scores = []
    for index, sentence in enumerate(words):
        total = sum(frequency[word] for word in sentence)
        average = total / (len(sentence) + SHORT_SENTENCE_PENALTY)
        scores.append(average * (1 + 1 / (1 + index)))
    return scores
