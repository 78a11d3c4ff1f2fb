"""How a name sounds: a key that spellings of the same name share."""

import re
from functools import lru_cache
from typing import NamedTuple

MAX_SHORT_CONSONANTS = 2
"""Names with no more consonants are told apart by their vowel: Jon, Joan and Jane."""

_VOWELS = "aeiouy"
_SILENT = (
    (re.compile(r"^(?:wr)"), "r"),
    (re.compile(r"^(?:kn|gn|pn)"), "n"),
    (re.compile(r"^ps"), "s"),
    (re.compile(r"mb$"), "m"),
    (re.compile(r"gh(?=[^aeiouy]|$)"), ""),
)
"""Letters that are not heard."""
_SPELLINGS = (
    (re.compile(r"tch"), "ĉ"),
    (re.compile(r"sch|sh"), "ŝ"),
    (re.compile(r"ch(?=[rlnst]|$)"), "k"),
    (re.compile(r"ch"), "ĉ"),
    (re.compile(r"ph|v"), "f"),
    (re.compile(r"th|d(?=t)"), "t"),
    (re.compile(r"ck|q(?=u)|q|x"), "k"),
    (re.compile(r"(?<=k)u(?=[aeiy])"), "w"),
    (re.compile(r"sc(?=[eiy])|c(?=[eiy])|z"), "s"),
    (re.compile(r"c"), "k"),
    (re.compile(r"dg(?=[eiy])|g(?=[eiy])"), "j"),
    (re.compile(r"(?<=[aeiouy])h(?![aeiouy])|(?<=[^aeiouy])h"), ""),
)
"""Spellings of one sound, in the order in which they are looked for."""
_DOUBLE = re.compile(r"([^aeiouy])\1+")
_VOWEL_GROUP = re.compile(f"[{_VOWELS}]+")
_VOWEL_CLASSES = {"a": "a", "e": "e", "i": "i", "y": "i", "o": "o", "u": "o"}
_VOWEL_GROUPS = {
    "au": "a",
    "eo": "e",
    "ai": "a-",
    "ay": "a-",
    "ei": "a-",
    "ey": "a-",
    "ea": "e-",
    "ee": "e-",
    "ie": "e-",
    "oa": "o-",
    "oe": "o-",
    "oo": "u-",
    "ue": "u-",
}
_ENDINGS = {"a": "a", "o": "o", "u": "o", "i": "i", "y": "i", "e": "i"}
_SILENT_E = re.compile(f"[^{_VOWELS}]e$")
_LONG_BY_E = re.compile(f"^[^{_VOWELS}]*([{_VOWELS}])[^{_VOWELS}]e$")


class Sound(NamedTuple):
    """The sound of a name, as far as spellings of it agree."""

    consonants: str
    first_vowel: str
    """The class of the first vowel."""
    ending: str
    """The class of the vowel at the end, if it is heard."""
    vowel: str
    """The exact vowel of a short name."""
    starts_with: str
    """The first consonant, or the class of the vowel that it starts with."""


@lru_cache(20_000)
def sound_of(word: str) -> Sound:
    """Return the sound of a name in lower-case Latin letters without accents."""
    letters = word
    for pattern, replacement in (*_SILENT, *_SPELLINGS):
        letters = pattern.sub(replacement, letters)
    is_long = bool(_LONG_BY_E.search(letters))
    letters = _DOUBLE.sub(r"\1", letters)
    if _SILENT_E.search(letters) and len(_VOWEL_GROUP.findall(letters)) > 1:
        letters = letters[:-1]
    groups = _VOWEL_GROUP.findall(letters)
    first_group = groups[0] if groups else ""
    first_vowel = _VOWEL_CLASSES.get(first_group[:1], "")
    consonants = _VOWEL_GROUP.sub("", letters)
    vowel = ""
    if len(consonants) <= MAX_SHORT_CONSONANTS:
        vowel = first_vowel
        if len(first_group) > 1:
            vowel = _VOWEL_GROUPS.get(first_group, first_group)
        if is_long:
            vowel = f"{first_vowel}-"
    ending = _ENDINGS.get(letters[-1:], "")
    starts_with = letters[:1]
    if starts_with in _VOWEL_CLASSES:
        starts_with = first_vowel
    return Sound(consonants, first_vowel, ending, vowel, starts_with)
