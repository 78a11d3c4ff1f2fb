"""What a sentence says about two entities, by the words between their names."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, product

from memolith.analysts.builtin.mentions import Mention, enumerations
from memolith.analysts.builtin.word_lists import RelationPhrase, relation_phrases
from memolith.ports.analyst import FoundRelation

CONFIDENCE_OF_STATEMENT = 0.9
"""How often a stated relation was right, where both names were."""

SOURCE_TYPES = {
    "WorksAt": frozenset({"Person"}),
    "Created": frozenset({"Person", "Organization"}),
}
"""The types of entity that a relation can start from; any type, where none are listed."""

TARGET_TYPES = {
    "WorksAt": frozenset({"Organization"}),
    "Uses": frozenset({"Technology", "Concept", "File"}),
    "Created": frozenset({"Organization", "Technology", "Concept", "File"}),
}
"""The types of entity that a relation can lead to; any type, where none are listed."""

MAX_ENUMERATED = 50
"""How many names of one enumeration a relation holds for: it holds for each with each."""

MAX_WORDS_BETWEEN_CHARS = 300
"""Names that are farther apart are not read as one statement."""

NEGATION = re.compile(r"\b(?:not|never|no longer|without|instead)\b|n't\b", re.I)


def find_relations(sentence: str, mentions: Sequence[Mention]) -> list[FoundRelation]:
    """Return what the words between names say.

    It holds for every name of the enumeration before the words and every name of the one after.
    """
    found: list[FoundRelation] = []
    subjects: list[Mention] = []
    previous: RelationPhrase | None = None
    for left, right in pairwise(enumerations(sentence, mentions)):
        between = sentence[left[-1].end : right[0].start]
        if not _keeps_subject(previous, between):
            subjects = left
        previous = _phrase(between)
        if previous is not None and not NEGATION.search(between):
            found += _relations(sentence, previous, subjects, right)
    return found


def _keeps_subject(previous: RelationPhrase | None, between: str) -> bool:
    """Whether the subject of the last relation is also that of the next one.

    It is after "Maria works at Nokia …" and before "and": "Maria uses Kafka and maintains Redis".
    """
    if previous is None:
        return False
    return previous.type == "WorksAt" or between.lstrip().startswith("and ")


def _phrase(between: str) -> RelationPhrase | None:
    if len(between) > MAX_WORDS_BETWEEN_CHARS:
        return None
    for phrase in relation_phrases():
        if phrase.regex.fullmatch(between):
            return phrase
    return None


def _relations(
    sentence: str, phrase: RelationPhrase, left: Sequence[Mention], right: Sequence[Mention]
) -> Iterator[FoundRelation]:
    for first, second in product(left[:MAX_ENUMERATED], right[:MAX_ENUMERATED]):
        source, target = (second, first) if phrase.is_reversed else (first, second)
        if _fits(phrase.type, source, target):
            confidence = CONFIDENCE_OF_STATEMENT * min(source.confidence, target.confidence)
            yield FoundRelation(
                phrase.type, source.name, target.name, sentence, round(confidence, 3)
            )


def _fits(type: str, source: Mention, target: Mention) -> bool:
    source_types = SOURCE_TYPES.get(type)
    if source_types is not None and source.type not in source_types:
        return False
    target_types = TARGET_TYPES.get(type)
    return target_types is None or target.type in target_types
