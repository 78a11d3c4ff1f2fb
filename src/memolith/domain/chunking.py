"""How a text is cut into passages."""

import re
from collections.abc import Iterator
from functools import cached_property

from memolith.domain.ahead import kept_ahead

CHUNKER = 2
"""The version of the way texts are cut. It stands in the events, and changes with the way.

A text that was cut in an earlier way stays cut like that: its log always gives the same rows.
"""
FIRST_CHUNKER = 1
"""The version that counts each letter of another script as a token, and so cuts to shreds."""
TARGET_TOKENS = 200
CHARACTERS_PER_TOKEN = 6
"""The most letters or digits that count as one token."""
MAX_CHARACTERS = CHARACTERS_PER_TOKEN * TARGET_TOKENS
"""The longest piece of a long sentence, with its blanks."""
MAX_TAIL_CHARACTERS = 120
"""How much of the passage before it the model sees of a passage."""


class _Way:
    """One way to cut texts."""

    def __init__(self, sentence: str, letter: str) -> None:
        self.letter = letter
        self.sentence = re.compile(sentence)
        self.token = re.compile(rf"{letter}{{1,{CHARACTERS_PER_TOKEN}}}|\S")
        """What counts as one token."""

    @cached_property
    def word_or_blank(self) -> re.Pattern[str]:
        """Between these a long sentence is cut."""
        return re.compile(rf"{self.letter}+|\S|\s+")

    @cached_property
    def full_piece(self) -> re.Pattern[str]:
        """As many whole words and signs as go into one passage, with the blanks after them."""
        tokens = rf"(?:(?>{self.token.pattern})\s*+){{1,{TARGET_TOKENS}}}"
        between_words = rf"(?:(?<!{self.letter})|(?!{self.letter}))"
        return re.compile(rf"\s*+{tokens}{between_words}")

    def weigh(self, text: str) -> int:
        return len(self.token.findall(text))

    def fits(self, text: str) -> bool:
        """Whether a text is short enough for a passage; weighing takes longer than the length."""
        return len(text) <= TARGET_TOKENS or self.weigh(text) <= TARGET_TOKENS


_FIRST_WAY = _Way(
    r"[^.!?。！？\n]*(?:[.!?。！？]+[\"')\]”’]*(?:\s+|(?<=[。！？])|$)|[.!?]+|\n+|$)",
    "[A-Za-z0-9]",
)
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ecd\u102b-\u103e\u17b4-\u17d3"
    "\u200c\u200d"
)
"""Marks that stand inside words, for a set in a regular expression."""
_PRESENT_WAY = _Way(
    r"[^.!?。！？।؟۔\n]*"
    r"(?:[.!?。！？।؟۔]+[\"')\]”’»]*(?:\s+|(?<=[。！？])|$)|[.!?।؟۔]+|\n+|$)",
    rf"(?:[^\W_{_CJK}]|[{_MARKS}])",
)
_WAYS = {FIRST_CHUNKER: _FIRST_WAY, CHUNKER: _PRESENT_WAY}


def weigh(text: str) -> int:
    """About how many tokens a model will see; rather too many than too few."""
    return _FIRST_WAY.weigh(text)


def passage_size(text: str) -> int:
    """Return how much of a passage a text takes, of `TARGET_TOKENS`."""
    if text.isascii():
        # The same, in half the time.
        return _FIRST_WAY.weigh(text)
    return _PRESENT_WAY.weigh(text)


def embedded(title: str, speaker: str | None, text: str, before: str = "") -> str:
    """What the model sees of a passage.

    That is its title or speaker, the end of the passage before it, and its text.
    """
    tail = ""
    if before:
        # From the first whole word on.
        tail = before[-MAX_TAIL_CHARACTERS:].split(" ", 1)[-1].strip()
    body = f"{tail} {text}".strip()
    if speaker:
        return f"{speaker}: {body}"
    if title and not body.startswith(title):
        return f"{title}. {body}"
    return body or title


@kept_ahead
def chunk(text: str, version: int = CHUNKER) -> list[str]:
    """Cut a text into pieces, at sentence ends where there are any; joined they are the text.

    A version that is not known here comes from a newer program; its texts are cut as at present.
    """
    if len(text) <= TARGET_TOKENS:
        return [text]
    way = _WAYS.get(version, _PRESENT_WAY)
    if text.isascii():
        # All ways cut English alike, and this one takes half the time.
        way = _FIRST_WAY
    if way.fits(text):
        return [text]
    pieces: list[str] = []
    current = ""
    weight = 0
    for sentence in _sentences(text, way):
        size = way.weigh(sentence)
        if weight and weight + size > TARGET_TOKENS:
            pieces.append(current)
            current = ""
            weight = 0
        current += sentence
        weight += size
    if current:
        pieces.append(current)
    return pieces


def _sentences(text: str, way: _Way) -> Iterator[str]:
    """The sentences of a text; one that is too long by itself comes in pieces."""
    for sentence in way.sentence.findall(text):
        if way.fits(sentence):
            yield sentence
        else:
            yield from _cut(sentence, way)


def _cut(sentence: str, way: _Way) -> Iterator[str]:
    """Pieces of a long sentence, cut between words, or inside a word that never ends."""
    start = 0
    while (piece := way.full_piece.match(sentence, start)) and len(piece[0]) <= MAX_CHARACTERS:
        yield piece[0]
        start = piece.end()
    yield from _cut_word_by_word(sentence[start:], way)


def _cut_word_by_word(sentence: str, way: _Way) -> Iterator[str]:
    """The same for sentences of very long words or blanks, where the length decides as well."""
    start = 0
    weight = 0
    for match in way.word_or_blank.finditer(sentence):
        size = way.weigh(match.group())
        weight += size
        if weight > TARGET_TOKENS and match.start() > start:
            yield sentence[start : match.start()]
            start = match.start()
            weight = size
        while match.end() - start > MAX_CHARACTERS:
            yield sentence[start : start + MAX_CHARACTERS]
            start += MAX_CHARACTERS
            weight = 1 + (match.end() - start) // CHARACTERS_PER_TOKEN
    if start < len(sentence):
        yield sentence[start:]
