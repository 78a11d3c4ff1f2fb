"""Tags for a text, by its words."""

from collections.abc import Sequence

from memolith.analysts.builtin.phrases import WORD, phrases
from memolith.ports.analyst import FoundTag

CONFIDENCE_OF_OWN_TAG = 0.9
"""A tag that the user already uses and the text names."""

MIN_CONFIDENCE_OF_PHRASE = 0.4
MAX_CONFIDENCE_OF_PHRASE = 0.8
HALFWAY_WEIGHT = 3
"""A phrase of this weight is halfway between both confidences."""


def find_tags(text: str, own_tags: Sequence[str], limit: int) -> list[FoundTag]:
    """Suggest the user's own tags that the text names, then what the text speaks of most."""
    words = {word.lower() for word in WORD.findall(text)}
    tags = [
        FoundTag(tag, "You use this tag, and the text names it.", CONFIDENCE_OF_OWN_TAG)
        for tag in own_tags
        if _is_named(tag, words)
    ]
    taken = {found.tag.casefold() for found in tags}
    for phrase, weight in phrases(text).most_common(limit + len(taken)):
        tag = phrase.replace(" ", "-")
        if tag not in taken:
            confidence = round(_confidence_of_phrase(weight), 3)
            tags.append(FoundTag(tag, f"The text speaks of “{phrase}”.", confidence))
    tags.sort(key=lambda found: -found.confidence)
    return tags[:limit]


def _is_named(tag: str, words: set[str]) -> bool:
    words_of_tag = WORD.findall(tag.lower())
    return bool(words_of_tag) and words.issuperset(words_of_tag)


def _confidence_of_phrase(weight: int) -> float:
    span = MAX_CONFIDENCE_OF_PHRASE - MIN_CONFIDENCE_OF_PHRASE
    return MIN_CONFIDENCE_OF_PHRASE + span * weight / (weight + HALFWAY_WEIGHT)
