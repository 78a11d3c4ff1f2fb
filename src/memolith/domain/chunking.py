"""How a text is cut into passages."""

import re
from collections.abc import Iterator

CHUNKER = 1
"""The version of the way texts are cut. It stands in the events, and changes with the way."""
TARGET_TOKENS = 200
CHARACTERS_PER_TOKEN = 6
"""The most letters or digits that count as one token."""
MAX_TAIL_CHARACTERS = 120
"""How much of the passage before it the model sees of a passage."""

_SENTENCE = re.compile(
    r"[^.!?。！？\n]*(?:[.!?。！？]+[\"')\]”’]*(?:\s+|(?<=[。！？])|$)|[.!?]+|\n+|$)"
)
_WORD_OR_BLANK = re.compile(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]|\s+")
_TOKEN = re.compile(r"[A-Za-z0-9]{1,6}|[^\sA-Za-z0-9]")


def weigh(text: str) -> int:
    """About how many tokens the model will see; rather too many than too few."""
    return len(_TOKEN.findall(text))


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


def chunk(text: str) -> list[str]:
    """Cut a text into pieces, at sentence ends where there are any; joined they are the text."""
    if _fits(text):
        return [text]
    pieces: list[str] = []
    current = ""
    weight = 0
    for sentence in _sentences(text):
        size = weigh(sentence)
        if weight and weight + size > TARGET_TOKENS:
            pieces.append(current)
            current = ""
            weight = 0
        current += sentence
        weight += size
    if current:
        pieces.append(current)
    return pieces


def _fits(text: str) -> bool:
    """Whether a text is short enough for one passage; weighing it takes longer than its length."""
    return len(text) <= TARGET_TOKENS or weigh(text) <= TARGET_TOKENS


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a text; one that is too long by itself comes in pieces."""
    for sentence in _SENTENCE.findall(text):
        if _fits(sentence):
            yield sentence
        else:
            yield from _cut(sentence)


def _cut(sentence: str) -> Iterator[str]:
    """Pieces of a long sentence, cut between words, or inside a word that never ends."""
    max_characters = CHARACTERS_PER_TOKEN * TARGET_TOKENS
    start = 0
    weight = 0
    for match in _WORD_OR_BLANK.finditer(sentence):
        size = weigh(match.group())
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
