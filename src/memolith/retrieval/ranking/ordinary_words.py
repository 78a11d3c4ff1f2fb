"""Ordinary English words, which are no names unless they are written like one."""

import re
from functools import cache, lru_cache
from pathlib import Path

_FILE = Path(__file__).with_name("ordinary_words.txt")
_ENDINGS = (
    ("ies", "y"),
    ("ied", "y"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("oes", "o"),
    ("s", ""),
    ("ed", ""),
    ("ed", "e"),
    ("ing", ""),
    ("ing", "e"),
    ("ly", ""),
)
"""Endings, and what the word without it ends in."""
_DOUBLED = re.compile(r"([bdgklmnprtz])\1$")
MIN_BASE = 3


@lru_cache(20_000)
def is_ordinary(word: str) -> bool:
    """Whether a word in lower case is an ordinary English word, or a form of one."""
    words = _words()
    if word in words:
        return True
    for ending, replacement in _ENDINGS:
        if word.endswith(ending):
            base = word[: -len(ending)] + replacement
            # "planned" has the base "plan".
            if len(base) >= MIN_BASE and (base in words or _DOUBLED.sub(r"\1", base) in words):
                return True
    return False


@cache
def _words() -> frozenset[str]:
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))
