"""How a text is cut into passages."""

import re
from collections.abc import Iterator
from typing import NamedTuple

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
MAX_TAIL_CHARACTERS = 120
"""How much of the passage before it the model sees of a passage."""


class _Way(NamedTuple):
    """One way to cut texts."""

    sentence: re.Pattern[str]
    token: re.Pattern[str]
    """What counts as one token."""
    word_or_blank: re.Pattern[str]
    """Between these a long sentence is cut."""

    def weigh(self, text: str) -> int:
        return len(self.token.findall(text))

    def fits(self, text: str) -> bool:
        """Whether a text is short enough for a passage; weighing takes longer than the length."""
        return len(text) <= TARGET_TOKENS or self.weigh(text) <= TARGET_TOKENS


_FIRST_WAY = _Way(
    re.compile(r"[^.!?。！？\n]*(?:[.!?。！？]+[\"')\]”’]*(?:\s+|(?<=[。！？])|$)|[.!?]+|\n+|$)"),
    re.compile(r"[A-Za-z0-9]{1,6}|[^\sA-Za-z0-9]"),
    re.compile(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]|\s+"),
)
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ecd\u102b-\u103e\u17b4-\u17d3"
    "\u200c\u200d"
)
"""Marks that stand inside words, for a set in a regular expression."""
_LETTER = rf"(?:[^\W_{_CJK}]|[{_MARKS}])"
_PRESENT_WAY = _Way(
    re.compile(
        r"[^.!?。！？।؟۔\n]*"
        r"(?:[.!?。！？।؟۔]+[\"')\]”’»]*(?:\s+|(?<=[。！？])|$)|[.!?।؟۔]+|\n+|$)"
    ),
    re.compile(rf"{_LETTER}{{1,{CHARACTERS_PER_TOKEN}}}|\S"),
    re.compile(rf"{_LETTER}+|\S|\s+"),
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
    max_characters = CHARACTERS_PER_TOKEN * TARGET_TOKENS
    start = 0
    weight = 0
    for match in way.word_or_blank.finditer(sentence):
        size = way.weigh(match.group())
        weight += size
        if weight > TARGET_TOKENS and match.start() > start:
            yield sentence[start : match.start()]
            start = match.start()
            weight = size
        while match.end() - start > max_characters:
            yield sentence[start : start + max_characters]
            start += max_characters
            weight = 1 + (match.end() - start) // CHARACTERS_PER_TOKEN
    if start < len(sentence):
        yield sentence[start:]
