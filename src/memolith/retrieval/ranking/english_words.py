"""How common a term is in English, whatever a store holds.

A small store cannot tell a telling word from an ordinary one: in five notes every word is rare. So
its counts are seen as if it held some hundred ordinary passages more.
"""

import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "english_words.txt"
"""The commonest terms of English, the commonest first."""

ORDINARY_PASSAGES = 500
"""So many ordinary passages are added to those of the store."""

SHARE_OF_COMMONEST = 2.0
"""By Zipf's law the term at place n stands in this share of passages, divided by n."""

MAX_SHARE = 0.6
MAX_ENDING = 3
MIN_STEM = 3
_LETTERS = re.compile(r"[^\W\d_]+")


@cache
def ordinary_shares() -> Mapping[str, float]:
    """The share of ordinary passages that contain each common term."""
    stems = FILE.read_text(encoding="utf-8").split()
    return {stem: min(MAX_SHARE, SHARE_OF_COMMONEST / place) for place, stem in enumerate(stems, 1)}


def english_share(text: str) -> float:
    """The share of the words of a text that are common English ones, in any form."""
    words = _LETTERS.findall(text.lower())
    if not words:
        return 0.0
    return sum(map(_is_common, words)) / len(words)


def _is_common(word: str) -> bool:
    known = ordinary_shares()
    shortest = max(len(word) - MAX_ENDING, min(len(word), MIN_STEM))
    return any(word[:length] in known for length in range(shortest, len(word) + 1))


def rarity(term: str, frequency: int, passages: int) -> float:
    """How much a term tells: its inverse document frequency in the store and ordinary text."""
    in_ordinary = ORDINARY_PASSAGES * ordinary_shares().get(term, 0.0)
    containing = frequency + in_ordinary
    others = passages + ORDINARY_PASSAGES - containing
    return math.log(1 + (others + 0.5) / (containing + 0.5))
