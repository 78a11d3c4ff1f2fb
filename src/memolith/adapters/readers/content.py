"""What readers find in a file, and what they share: pieces with their place, sections, the summary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from memolith.engine.events import chunk

Blocks = list[tuple[str, str]]
LONGEST_PLACE, LONGEST_SUMMARY, SENTENCES, BEST = 200, 600, 4000, 50
_WORD = re.compile(r"[^\W\d_]{4,}|[\u3400-\u9fff]{2}")
_SENTENCE = re.compile(r"[^.!?。！？\n]{8,400}(?:[.!?](?=\s|$)|[。！？]|\n|$)")


class Content(NamedTuple):
    """Texts, each with its place before it, how many tables and figures there are, and what the reader noticed."""

    blocks: Blocks
    tables: int = 0
    figures: int = 0
    sheets: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    summary: str = ""


def pieces(place: str, text: str, head: str = "") -> Blocks:
    """The text in pieces that each fit one passage, all with the same place and head."""
    # What no store can keep is no text.
    clean = text.replace("\0", "").encode("utf-8", "replace").decode().strip()
    return [(place[:LONGEST_PLACE], f"{head}{piece}".strip()) for piece in chunk(clean) if piece.strip()]


def sections(lines: Iterable[tuple[int, str]]) -> Blocks:
    """Lines of text (level 0) under the path of the headings (level 1 to 9) above them."""
    found, path, body = Blocks(), list[tuple[int, str]](), list[str]()
    for level, text in [*lines, (1, "")]:
        if level:
            place = " > ".join(title for _, title in path)
            found += pieces(place, "\n".join(body), place and place + "\n")
            path, body = [*(one for one in path if one[0] < level), (level, " ".join(text.split()))], []
        else:
            body.append(text)
    return found


def summarise(blocks: Blocks) -> str:
    """The few sentences that hold most of the words of the whole, in their order; early ones count more."""
    sentences = [" ".join(found.split()) for _, text in blocks for found in _SENTENCE.findall(text)][:SENTENCES]
    words = [set(_WORD.findall(sentence.lower())) for sentence in sentences]
    counts, chosen, told = Counter(word for found in words for word in found), list[int](), set[str]()
    scores = [sum(counts[word] for word in found) / (len(found) + 5) * (1 + 1 / (1 + n))
              for n, found in enumerate(words)]
    for n in sorted(range(len(scores)), key=lambda n: -scores[n])[:BEST]:
        room = LONGEST_SUMMARY - sum(len(sentences[one]) for one in chosen)
        if len(words[n] - told) * 2 >= len(words[n]) and len(sentences[n]) <= room:
            chosen.append(n)
            told |= words[n]
    return " ".join(sentences[n] for n in sorted(chosen)) or " ".join(text for _, text in blocks)[:LONGEST_SUMMARY]
