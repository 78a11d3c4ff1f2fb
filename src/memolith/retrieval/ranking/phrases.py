"""Quoted phrases: which a question has, and how many of them a passage contains."""

import re
from collections.abc import Sequence

_QUOTED = re.compile(r'"([^"]*)"|“([^”]*)”|„([^“”]*)[“”]|«([^»]*)»|「([^」]*)」')


def quoted_phrases(text: str) -> list[str]:
    """Return what stands in double quotes of any kind, in order, each once."""
    found = []
    for match in _QUOTED.finditer(text):
        phrase = match.group(match.lastindex or 0).strip()
        if phrase:
            found.append(phrase)
    return list(dict.fromkeys(found))


def phrase_share(words: Sequence[str], phrases: Sequence[Sequence[str]]) -> float:
    """Return which share of the phrases stands in the words, as consecutive terms.

    Words and phrases are index terms. It is 0 if there are no phrases: nothing was asked for.
    A phrase without terms, such as quoted punctuation, does not count.
    """
    wanted = [tuple(phrase) for phrase in phrases if phrase]
    if not wanted:
        return 0.0
    found = sum(_contains(words, phrase) for phrase in wanted)
    return found / len(wanted)


def _contains(words: Sequence[str], phrase: tuple[str, ...]) -> bool:
    """Whether the terms of the phrase stand one after the other among the words."""
    last_start = len(words) - len(phrase)
    start = -1
    while True:
        try:
            # Comparing whole slices at each place would take ten times as long.
            start = words.index(phrase[0], start + 1, last_start + 1)
        except ValueError:
            return False
        if tuple(words[start : start + len(phrase)]) == phrase:
            return True
