"""Names of entities in a sentence: by lists, by their shape and by the words around them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from memolith.analysts.builtin.word_lists import listed_names, name_patterns

# How often each way was right on the first half of the labelled sentences
# (python -m bench.entities counts).
CONFIDENCE_OF_FAMILIAR_NAME = 0.97
CONFIDENCE_OF_LISTED_NAME = 0.98
CONFIDENCE_OF_OTHER_SPELLING = 0.89
CONFIDENCE_OF_ORDINARY_WORD = 0.8
CONFIDENCE_OF_FIRST_WORD = 0.5
"""An ordinary word at the beginning of a sentence, where every word is capitalised."""

MAX_WORDS_PER_NAME = 4
CONJUNCTION = re.compile(r"\s*(?:,|,? and|,? or|&)(?: the)?\s*")
TOKEN = re.compile(r"\.?[^\W_](?:[\w.+#/&-]*[\w+#])?")


class Familiar(NamedTuple):
    """An entity that the user already has."""

    type: str
    name: str


class Mention(NamedTuple):
    """A name at a place of a sentence."""

    start: int
    end: int
    type: str
    name: str
    confidence: float


def find_mentions(sentence: str, familiar: Mapping[str, Familiar]) -> list[Mention]:
    """Return the names in a sentence, in order.

    `familiar` has the entities that the user already has, by their folded name. Where several names
    overlap, the longest stays, and of equally long ones the surest.
    """
    found = [*_mentions_by_pattern(sentence), *_mentions_by_name(sentence, familiar)]
    found.sort(key=lambda mention: (mention.start - mention.end, -mention.confidence))
    kept: list[Mention] = []
    taken: set[int] = set()
    for mention in found:
        places = range(mention.start, mention.end)
        if taken.isdisjoint(places):
            kept.append(mention)
            taken.update(places)
    return sorted(kept)


def _mentions_by_pattern(sentence: str) -> Iterator[Mention]:
    for pattern in name_patterns():
        for match in pattern.regex.finditer(sentence):
            start, end = match.span(1)
            yield Mention(start, end, pattern.type, match[1], pattern.confidence)


def _mentions_by_name(sentence: str, familiar: Mapping[str, Familiar]) -> Iterator[Mention]:
    words = list(TOKEN.finditer(sentence))
    for first in range(len(words)):
        for last in range(first, min(first + MAX_WORDS_PER_NAME, len(words))):
            start = words[first].start()
            end = words[last].end()
            text = sentence[start:end]
            entity = familiar.get(text.casefold())
            if entity is not None:
                yield Mention(start, end, entity.type, entity.name, CONFIDENCE_OF_FAMILIAR_NAME)
                continue
            mention = _listed_mention(text, start, is_first_word=first == 0)
            if mention is not None:
                yield mention


def _listed_mention(text: str, start: int, *, is_first_word: bool) -> Mention | None:
    """The mention of a listed name, in the singular or the plural."""
    names = listed_names()
    folded = text.casefold()
    listed = names.get(folded) or names.get(folded.removesuffix("s"))
    if listed is None:
        return None
    is_exact = text.removesuffix("s") == listed.spelling.removesuffix("s")
    must_be_exact = (
        listed.is_ordinary_word
        or listed.type in ("Person", "Organization")
        or listed.spelling.isupper()
    )
    if must_be_exact and not is_exact:
        return None
    if listed.is_ordinary_word and is_first_word:
        confidence = CONFIDENCE_OF_FIRST_WORD
    elif listed.is_ordinary_word:
        confidence = CONFIDENCE_OF_ORDINARY_WORD
    elif is_exact:
        confidence = CONFIDENCE_OF_LISTED_NAME
    else:
        confidence = CONFIDENCE_OF_OTHER_SPELLING
    # A concept has no spelling of its own: it is kept as the text has it.
    name = text if listed.type == "Concept" else listed.spelling
    return Mention(start, start + len(text), listed.type, name, confidence)


def enumerations(sentence: str, mentions: Sequence[Mention]) -> list[list[Mention]]:
    """Group names of one type that are listed together: "Kafka, Redis and Django"."""
    rows: list[list[Mention]] = []
    for mention in mentions:
        if rows:
            previous = rows[-1][-1]
            between = sentence[previous.end : mention.start]
            if previous.type == mention.type and CONJUNCTION.fullmatch(between):
                rows[-1].append(mention)
                continue
        rows.append([mention])
    return rows
