"""How a text is cut into passages."""

import re
from collections.abc import Iterator

# Passages have about so many model tokens; the version changes with the way they are cut.
CHUNKER, TARGET = 1, 200


_SENTENCE = re.compile(
    r"[^.!?。！？\n]*(?:[.!?。！？]+[\"')\]”’]*(?:\s+|(?<=[。！？])|$)|[.!?]+|\n+|$)"
)


_TOKEN = re.compile(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]|\s+")


_PIECE = re.compile(r"[A-Za-z0-9]{1,6}|[^\sA-Za-z0-9]")


def weigh(text: str) -> int:
    """About how many tokens the model will see; counted rather too high than too low."""
    return len(_PIECE.findall(text))


def embedded(title: str, speaker: str | None, text: str, before: str = "") -> str:
    """What the model gets to see of a passage: title or speaker, the end of the passage before it, and its text."""
    tail = before[-120:].split(" ", 1)[-1].strip() if before else ""
    body = f"{tail} {text}".strip()
    if speaker:
        return f"{speaker}: {body}"
    return f"{title}. {body}" if title and not body.startswith(title) else body or title


def chunk(text: str) -> list[str]:
    """The pieces of the text, which joined are the text, cut at sentence ends where there are any."""
    if len(text) <= TARGET or weigh(text) <= TARGET:
        return [text]
    pieces, current, weight = list[str](), "", 0
    for sentence in (
        piece
        for whole in _SENTENCE.findall(text)
        for piece in (_cut(whole) if len(whole) > TARGET and weigh(whole) > TARGET else (whole,))
    ):
        size = weigh(sentence)
        if weight and weight + size > TARGET:
            pieces.append(current)
            current, weight = "", 0
        current, weight = current + sentence, weight + size
    return [*pieces, current] if current else pieces


def _cut(sentence: str) -> Iterator[str]:
    """Pieces of a sentence that is too long by itself, cut between words, or inside one that never ends."""
    start, weight, limit = 0, 0, 6 * TARGET
    for match in _TOKEN.finditer(sentence):
        weight += weigh(match.group())
        if weight > TARGET and match.start() > start:
            yield sentence[start : match.start()]
            start, weight = match.start(), weigh(match.group())
        while match.end() - start > limit:
            yield sentence[start : start + limit]
            start, weight = start + limit, 1 + (match.end() - start - limit) // 6
    if start < len(sentence):
        yield sentence[start:]
